"""The note of `redwell doctor` about files that others on this machine may read."""

import os
from pathlib import Path

import pytest

from engine.worker.health import check_private, is_helpful

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX")


def test_files_that_others_may_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, settings, here = (tmp_path / name for name in ("cache", "config", "here"))
    for folder in (cache, settings / "Redwell", here):
        folder.mkdir(parents=True)
        folder.chmod(0o700)
    monkeypatch.setenv("REDWELL_CACHE", str(cache))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(settings))
    monkeypatch.chdir(here)
    for path in (cache / "servers.json", settings / "Redwell" / "Redwell.conf", here / "a case.redwell"):
        path.touch()
        path.chmod(0o600)
    (check,) = check_private()
    assert check.ok
    (here / "a case.redwell").chmod(0o640)
    cache.chmod(0o755)
    (check,) = check_private()
    assert not check.ok
    assert is_helpful(check)  # a note: a case may be shared on purpose
    assert str(cache) in check.detail
    assert f"chmod go= {cache} '{here / 'a case.redwell'}'" in check.advice
    assert "servers.json" not in check.detail + check.advice


def test_cases_with_odd_names_and_links_to_nothing_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gone.redwell").symlink_to(tmp_path / "nowhere")
    case = tmp_path / "file [2].redwell"
    case.touch(0o600)
    case.with_name(f"{case.name}-wal").touch(0o600)
    case.with_name(f"{case.name}-wal").chmod(0o644)
    (check,) = check_private()
    assert not check.ok
    assert check.detail.endswith(f"can read {case}-wal")
