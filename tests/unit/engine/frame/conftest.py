from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripted_redwell import ScriptedModels

import engine.frame.running


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[ScriptedModels]:
    """Scripted models for every run of a pipeline; the list holds those of each run so far."""
    made: list[ScriptedModels] = []

    def new() -> Any:
        made.append(ScriptedModels())
        return made[-1]

    monkeypatch.setattr(engine.frame.running, "new_models", new)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("engine.frame.running._FOLDERS", {})
    return made


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Three records in a folder."""
    folder = tmp_path / "records"
    folder.mkdir()
    for name, text in {"a.txt": "Sgt. Varrick struck.", "b.txt": "Officer Szabados.", "c.txt": "Nothing."}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder
