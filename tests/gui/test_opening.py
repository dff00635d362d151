"""Programs of the system that Redwell starts get the system's libraries."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from desktop.opening import open_outside


@pytest.mark.parametrize("outer", ["", "/opt/theirs/lib"])
def test_a_program_that_is_started_sees_none_of_redwells_libraries(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, outer: str
) -> None:
    seen: list[tuple[str, str | None]] = []

    def opens(url: QUrl) -> bool:
        seen.append((url.toLocalFile(), os.environ.get("LD_LIBRARY_PATH")))
        return False

    monkeypatch.setattr(QDesktopServices, "openUrl", opens)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/redwell/lib/bundled")
    monkeypatch.setenv("REDWELL_OUTER_LD_LIBRARY_PATH", outer)  # set by the launcher of the package
    assert not open_outside(str(tmp_path / "a.csv"))
    assert seen == [(str(tmp_path / "a.csv"), outer or None)]
    assert os.environ["LD_LIBRARY_PATH"] == "/opt/redwell/lib/bundled"
