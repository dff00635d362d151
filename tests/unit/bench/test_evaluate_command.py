"""`redwell eval TASK`, which is tests/bench/evaluate.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import evaluate
import pytest
from scripted_redwell import ScriptedModels
from typer.testing import CliRunner

from engine.cli.main import CommandTable, Entry, app

CONTRACT = {
    "text": "This agreement between Acme Inc. and Bolt Ltd. is governed by the laws of Ohio.",
    "gold": {"Parties": ["Acme Inc.", "Bolt Ltd."], "Governing Law": ["governed by the laws of Ohio"]},
    "answers": {"Parties": "Acme Inc.; Bolt Ltd."},
}


@pytest.fixture
def score(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run `evaluate.py ARGUMENTS` in this process."""
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setattr(CommandTable, "entries", (Entry("eval", "", "evaluate"),))

    def call(*arguments: object) -> Any:
        result = CliRunner().invoke(app, ["eval", *map(str, arguments)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two contracts, the second of which is scored, and scripted models for them."""
    models = ScriptedModels()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evaluate, "new_models", lambda: models)
    (tmp_path / "data" / "cuad").mkdir(parents=True)
    lines = [json.dumps({"id": f"c{n}", **CONTRACT}) for n in range(2)]
    (tmp_path / "data" / "cuad" / "contracts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path / "data"


def test_a_task_is_run_scored_printed_and_written(score: Any, data: Path) -> None:
    result = score("contracts", "--data", data, "--seeds", "2", "--out", "o.json")
    assert result.exit_code == 0, result.output
    assert "1 document of dev" in result.stderr
    assert "f1 (main)" in result.stdout
    body = json.loads(Path("o.json").read_text(encoding="utf-8"))
    assert body["documents"] == ["c1"]
    assert [run["seed"] for run in body["plans"][0]["runs"]] == [0, 1]
    # The scripted model answers with one clause of no type that there is.
    assert body["plans"][0]["mean"]["clauses"] == 1
    assert body["plans"][0]["mean"]["f1"] == 0


def test_an_optimised_pipeline_runs_beside_it(score: Any, data: Path, tmp_path: Path) -> None:
    (tmp_path / "better.yaml").write_text(
        """
datasets: {contracts: {type: file, path: contracts.jsonl}}
operations:
  - name: law
    type: map
    prompt: "Which law governs this contract? {{ input.text }}"
    output: {schema: {clauses: "list[{clause_type: enum[Governing Law], text_span: quote(text)}]"}}
pipeline: {steps: [{name: all, input: contracts, operations: [law]}]}
""",
        encoding="utf-8",
    )
    result = score("contracts", "--data", data, "--seeds", "1", "--optimised", "better.yaml")
    assert result.exit_code == 0, result.output
    assert "ratio" in result.stdout
    first, second = json.loads(Path("eval-contracts.json").read_text(encoding="utf-8"))["plans"]
    assert (first["title"], second["title"]) == ("as written", "optimised")
    # One of three spans is found, and nothing else is claimed.
    assert second["mean"]["recall"] == pytest.approx(1 / 3)
    assert second["mean"]["precision"] == 1


def test_what_is_wrong_is_found_before_anything_runs(score: Any, data: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("operations: []\npipeline: {steps: []}\n", encoding="utf-8")
    bad = score("contracts", "--data", data, "--optimised", "bad.yaml")
    assert (bad.exit_code, "operators" in bad.stderr) == (2, True)
    nowhere = score("contracts", "--data", data, "--out", "nowhere/o.json")
    assert (nowhere.exit_code, "no folder nowhere" in nowhere.stderr) == (2, True)
    assert not Path("eval-contracts.json").exists()


def test_another_name_lists_the_tasks(score: Any, data: Path) -> None:
    result = score("contract")
    assert result.exit_code == 2
    assert "casefiles, contracts, police, reactions, reviews" in " ".join(result.stderr.split())


def test_a_build_sees_only_documents_that_are_not_scored(
    score: Any, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.worker.builds.other_models", lambda loaded, policy: ())
    given = ("contracts", "--data", data, "--seeds", "1", "--out", "o.json", "--keep", "kept")
    result = score(*given, "--build", "--minutes", "0.1")
    assert result.exit_code == 0, result.output
    kept = Path("kept/contracts-sample/contracts.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line) for line in kept.splitlines()] == [{"id": "c0", "text": CONTRACT["text"]}]
    body = json.loads(Path("o.json").read_text(encoding="utf-8"))
    assert [plan["title"] for plan in body["plans"]] == ["as written", "optimised"]
    assert body["plans"][1]["pipeline"] == Path("o-build.yaml").read_text(encoding="utf-8")
    assert body["build_seconds"] > 0
    assert Path("o-build.html").is_file()
    # The plans that were tried are scored by the gold of the sample, which the build had no part in.
    tried = body["tried"]
    assert tried["rows"] == 1
    assert "Kendall's tau" in result.stdout
    assert tried["plans"][0]["directive"] == ""
    assert [plan["chosen"] for plan in tried["plans"]].count(True) == 1
    assert all(plan["figures"]["recall"] == 0 and plan["ratings"]["rating"] >= 1 for plan in tried["plans"])
    assert tried["taus"]["rating"] == {"plans": len(tried["plans"]), "tau": None}  # all score 0: there is no order


@pytest.mark.parametrize("given", [("--build", "--optimised", "b.yaml"), ("--minutes", "3")])
def test_options_that_say_two_things_are_refused(score: Any, data: Path, given: tuple[str, ...]) -> None:
    assert score("contracts", "--data", data, *given).exit_code == 2


@pytest.mark.parametrize("minutes", ["0", "-1", "nan"])
def test_a_build_without_time_is_refused_before_anything_is_read(score: Any, data: Path, minutes: str) -> None:
    result = score("contracts", "--data", data, "--build", f"--minutes={minutes}")
    assert result.exit_code == 2
    assert f"--minutes {minutes}: a build needs time" in result.stderr
