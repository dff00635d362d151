from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from scripted_redwell import ScriptedModels
from typer.testing import CliRunner

from engine.cli.main import app
from engine.errors import EnvironmentMissing
from engine.worker.exit_codes import INTERRUPTED


def header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def test_a_question_and_a_folder_give_a_table(redwell: Any, pipeline: Path, tmp_path: Path) -> None:
    result = redwell(
        "ask", "Which plates are mentioned?", tmp_path / "records", "--yes", "-o", "o.csv", "--save", "q.yaml"
    )
    assert result.exit_code == 0, result.output
    assert "plate number" in result.stderr
    assert "Next: look at every row" in result.stdout
    assert "redwell desktop records.redwell" in result.stdout
    assert "redwell export records.redwell --out FILE" in result.stdout
    assert redwell("export", "records.redwell", "--out", "again.csv").exit_code == 0
    assert header(Path("o.csv"))[:2] == ["filename", "plate_number"]
    assert "Which plates are mentioned?" in Path("q.yaml").read_text(encoding="utf-8")
    assert Path("records.redwell").is_file()
    assert redwell("check", "q.yaml").exit_code == 0


def test_folders_with_a_dot_in_their_names_have_cases_of_their_own(redwell: Any, pipeline: Path) -> None:
    for name in ("2024.01", "2024.02"):
        shutil.copytree("records", name)
        redwell("ask", "Which officers are named?", name, "--yes")
        assert Path(f"{name}.redwell").is_file()


@pytest.mark.parametrize("name", ["case:starred=1", "documents=a"])
def test_a_folder_is_read_whatever_its_name_could_mean(redwell: Any, pipeline: Path, name: str) -> None:
    shutil.copytree("records", name)
    result = redwell("ask", "Which officers are named?", name, "--yes", "--case", "c.redwell")
    assert result.exit_code == 0, result.output


def test_it_asks_once_and_no_runs_nothing(redwell: Any, pipeline: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["ask", "Which plates?", str(tmp_path / "records"), "-o", "o.csv"], input="n\n")
    assert result.exit_code == 0
    assert "Nothing was run." in result.stderr
    assert not Path("o.csv").exists()


def test_an_answer_in_words_changes_the_proposal(redwell: Any, pipeline: Path, tmp_path: Path) -> None:
    answers = "  \nonly old ones\ny\n"  # blanks are no answer
    result = CliRunner().invoke(app, ["ask", "Which plates?", str(tmp_path / "records"), "-o", "o.csv"], input=answers)
    assert result.exit_code == 0, result.output
    assert "The model is also told: only old ones" in result.stderr
    assert Path("o.csv").exists()


def test_without_documents_it_says_what_to_give(redwell: Any, pipeline: Path) -> None:
    result = redwell("ask", "Which plates?")
    assert result.exit_code == 2
    assert "there are no documents to ask" in result.stderr
    assert redwell("ask", "Which plates?", "nowhere").exit_code == 2
    saved = redwell("ask", "Which plates?", "--save", "only.yaml")
    assert saved.exit_code == 0
    assert Path("only.yaml").is_file()


def test_what_could_not_be_run_is_refused_before_a_model_is_asked(
    redwell: Any, pipeline: Path, tmp_path: Path, models: ScriptedModels
) -> None:
    (tmp_path / "empty").mkdir()
    assert "there are no files in" in redwell("ask", "Which plates?", tmp_path / "empty", "--yes").stderr
    assert "no folder nowhere" in redwell("ask", "Which?", tmp_path / "records", "-y", "-o", "nowhere/o.csv").stderr
    inside = redwell("ask", "Which plates?", tmp_path / "records", "-y", "--save", tmp_path / "records" / "q.yaml")
    assert "would be read as a record of" in inside.stderr
    Path("q.yaml").touch()
    assert "q.yaml is there already" in redwell("ask", "Which?", tmp_path / "records", "--save", "q.yaml").stderr
    assert "nothing is run" in redwell("ask", "Which plates?", "--save", "new.yaml", "-o", "o.csv").stderr
    assert models.opened == []
    assert not Path("empty.redwell").exists()


def test_files_that_could_not_be_written_are_refused_before_a_model_is_asked(
    redwell: Any, pipeline: Path, tmp_path: Path, models: ScriptedModels
) -> None:
    records = tmp_path / "records"
    Path("mine.csv").write_text("mine", encoding="utf-8")
    missing = redwell("ask", "Which plates?", "--case", "none.redwell", "--yes")
    assert (missing.exit_code, "there is no case none.redwell" in missing.stderr) == (2, True)
    for options, told in (
        (("--save", "nowhere/q.yaml"), "there is no folder nowhere"),
        (("--out", records / "o.csv"), "would be read as a record of"),
        (("--out", "mine.csv"), "mine.csv is there already"),
    ):
        refused = redwell("ask", "Which plates?", records, "--yes", *options)
        assert (refused.exit_code, told in refused.stderr) == (2, True), refused.output
    assert models.opened == []
    assert not list(tmp_path.glob("*.redwell"))
    assert redwell("ask", "Which plates?", records, "--yes", "--out", "mine.csv", "--overwrite").exit_code == 0


def test_where_nobody_can_agree_it_is_told_how_to_go_on(redwell: Any, pipeline: Path, tmp_path: Path) -> None:
    result = redwell("ask", "Which plates?", tmp_path / "records")
    assert result.exit_code == 2
    assert "nobody can agree here" in result.stderr
    assert "Add --yes." in result.stderr
    assert not Path("records.redwell").exists()


def test_ctrl_c_at_the_proposal_ends_as_in_a_run(
    redwell: Any, pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*asked: object, **how: object) -> str:
        raise typer.Abort

    monkeypatch.setattr("typer.prompt", stop)
    monkeypatch.setattr("engine.cli.ask.has_terminal", lambda: True)
    result = redwell("ask", "Which plates?", tmp_path / "records")
    assert (result.exit_code, "stopped" in result.stderr) == (INTERRUPTED, True)


def test_without_a_model_a_pipeline_can_be_saved_and_nothing_run(
    redwell: Any, pipeline: Path, tmp_path: Path, models: ScriptedModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str, *, is_chosen: bool) -> str:
        raise EnvironmentMissing("the model is not installed", advice="Install it.")

    monkeypatch.setattr(models, "stand_in", missing)
    saved = redwell("ask", "Is a weapon mentioned?", "--save", "words.yaml")
    assert saved.exit_code == 0
    assert "because the model is not installed" in saved.stderr
    assert "answer: boolean" in Path("words.yaml").read_text(encoding="utf-8")
    run = redwell("ask", "Is a weapon mentioned?", tmp_path / "records", "--yes")
    assert run.exit_code == 3
    assert "error: the model is not installed" in run.stderr


def test_a_run_that_was_stopped_is_not_said_to_be_done(
    redwell: Any, pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.cli.run.carry_out", lambda *given, **more: INTERRUPTED)
    result = redwell("ask", "Which plates are mentioned?", tmp_path / "records", "--yes")
    assert result.exit_code == INTERRUPTED
    assert "Next:" not in result.stdout
