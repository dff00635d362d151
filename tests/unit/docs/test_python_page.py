"""The code of docs/python.md runs from top to bottom, and names every method there is."""

from __future__ import annotations

import re
from pathlib import Path

from scripted_redwell import ScriptedModels

import engine
import engine.frame.running
from engine.frame.pipeline import Pipeline

PAGE = (Path(__file__).parents[3] / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "records").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "records" / f"{name}.txt").write_text(f"Report {name} on Sgt. Varrick.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine.frame.running, "new_models", ScriptedModels)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "docs/python.md", "exec"), names)
    assert len(names["rows"]) == 3  # type: ignore[arg-type]
    assert (tmp_path / "officers.csv").read_text(encoding="utf-8").count("Varrick") == 3
    assert "c.txt" not in capsys.readouterr().out


def test_the_page_names_every_method_and_reader() -> None:
    methods = {name for name in vars(Pipeline) if not name.startswith("_")}
    fields = {"plan", "directory", "data", "case_file", "warnings"}
    missing = [name for name in methods - fields if f".{name}" not in PAGE]
    assert not missing
    assert not [name for name in engine.__all__ if name.startswith(("read_", "from_")) and name not in PAGE]
