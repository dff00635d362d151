from __future__ import annotations

from pathlib import Path

import pytest

import engine.frame.running
from engine import read_folder
from engine.errors import EnvironmentMissing, UsageError


@pytest.mark.parametrize("notes", [("only old ones",), "only old ones"])
def test_a_question_becomes_operators_over_the_folder(
    tmp_path: Path, models: object, notes: str | tuple[str, ...]
) -> None:
    (tmp_path / "a.txt").write_text("A blue Ford, plate KX 4471, stood there.", encoding="utf-8")
    pipeline = read_folder(tmp_path).ask("Which plates are mentioned?", notes=notes)
    assert [node.name for node in pipeline.plan.operators][0] == "cut"
    assert "plate_number" in pipeline.schema()
    assert "only old ones" in pipeline.to_yaml()
    assert pipeline.run(case=tmp_path / "c.redwell").rows[0]["plate_number"] == "Sgt. Varrick"


def test_without_a_model_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoModels:
        def stand_in(self, name: str, *, is_chosen: bool) -> str:
            raise EnvironmentMissing("the model is not installed")

    monkeypatch.setattr(engine.frame.running, "new_models", NoModels)
    with pytest.warns(UserWarning, match="read without a model: the model is not installed"):
        pipeline = read_folder(tmp_path).ask("Is a weapon mentioned?")
    assert set(pipeline.schema()) >= {"answer", "sentence"}
    with pytest.raises(UsageError, match="there is no question"):
        read_folder(tmp_path).ask(" ")
