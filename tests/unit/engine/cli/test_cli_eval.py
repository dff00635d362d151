"""`redwell eval`: a sample case by its gold; the paper's tasks are tests/unit/bench/test_evaluate_command.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scripted_cases import PIPELINE, make_folder
from scripted_redwell import ScriptedModels

import engine.cli.evaluate


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "gold.json").write_text('{"officers": [], "findings": []}', encoding="utf-8")
    return tmp_path / "contracts"


def test_a_folder_with_gold_is_a_sample_case_also_where_a_task_has_its_name(redwell: Any, sample: Path) -> None:
    result = redwell("eval", "contracts")
    assert result.exit_code == 2
    assert "there is no pipeline in contracts" in result.stderr


def test_a_sample_case_is_scored_and_it_is_told_which_model_stands_in(
    redwell: Any, sample: Path, models: ScriptedModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PIPELINE.replace("default_model: scripted", "default_model: gpt-4o-mini")
    make_folder(sample).write_text(text, encoding="utf-8")
    monkeypatch.setattr(engine.cli.evaluate, "new_models", lambda: models)
    result = redwell("eval", "contracts")
    assert result.exit_code == 0, result.output
    assert "officers" in result.stdout
    assert "the pipeline names gpt-4o-mini, which is not on this machine" in " ".join(result.stderr.split())


def test_a_model_that_is_not_here_is_not_replaced(
    redwell: Any, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_folder(sample)
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    result = redwell("eval", "contracts", "--model", "no-such-model", "--case", "c.redwell")
    assert result.exit_code == 3
    assert "there is no model 'no-such-model' on this machine" in " ".join(result.stderr.split())
    assert not Path("c.redwell").exists()


def test_what_only_a_task_has_is_refused_for_a_sample_case(redwell: Any, sample: Path) -> None:
    result = redwell("eval", "contracts", "--documents", "3")
    assert result.exit_code == 2
    assert "eval does not know --documents" in result.stderr


def test_a_case_file_belongs_to_a_sample_case(redwell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = redwell("eval", "reviews", "--case", "a.redwell")
    assert result.exit_code == 2
    assert "--keep" in result.stderr


def test_a_task_is_scored_by_the_program_of_the_checkout(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from engine.cli.main import run; run()", "eval", "contract", "--seeds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[4])
    assert done.returncode == 2
    assert "casefiles, contracts, police, reactions, reviews" in " ".join(done.stderr.split())
