"""The templates are pipelines that can run, and what new operators begin with can be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.ask.pipeline import table_of
from engine.cli.main import app
from engine.errors import UsageError
from engine.executor.results import result_columns
from engine.language.checks import check
from engine.loader import parse_pipeline
from engine.operators.registry import REGISTRY
from engine.templates import NAMES, NewOperator, new_operators, template, templates


@pytest.mark.parametrize("name", NAMES)
def test_a_template_has_no_problems(name: str) -> None:
    loaded = parse_pipeline(template(name).text)
    assert check(loaded.plan, positions=loaded.positions) == []
    assert loaded.warnings == ()
    assert not loaded.plan.default_model  # the model of this machine


@pytest.mark.parametrize("name", [name for name in NAMES if name != "empty"])
def test_the_table_that_a_template_shows_has_columns_of_its_results(name: str) -> None:
    table = table_of(template(name).text)
    assert table is not None
    plan = parse_pipeline(template(name).text).plan
    fields = [key for dataset in plan.datasets for row in dataset.data[:1] for key in row]
    columns = result_columns(plan, (), source_fields=("filename", *fields))
    assert [column.field for column in table.columns if column.field not in columns] == []
    # A column of answers has columns beside it: what became of the question, a note.
    shown = {column.field for column in table.columns}
    assert [c for c in columns if c != "filename" and not any(c.startswith(field) for field in shown)] == []


def test_every_template_says_what_it_is_for() -> None:
    titles = [
        "Officers and misconduct",
        "Clauses in contracts",
        "People, places, dates",
        "Answer questions",
        "Start empty",
    ]
    assert [one.title for one in templates()] == titles
    assert all(one.summary.endswith(".") for one in templates())
    with pytest.raises(UsageError, match="no template 'oficers'") as raised:
        template("oficers")
    assert "Did you mean 'officers'?" in raised.value.advice


@pytest.mark.parametrize("one", new_operators(), ids=lambda one: one.kind)
def test_a_new_operator_can_be_read(one: NewOperator) -> None:
    is_join = REGISTRY[one.kind].node_type.__name__ in ("Equijoin", "SimJoin")
    named = "[{x: {left: a, right: b}}]" if is_join else "[x]"
    source = "" if is_join else "input: a, "
    text = (
        "datasets: {a: {type: case}, b: {type: case}}\n"
        f"operations: [{json.dumps({'name': 'x', 'type': one.kind, **one.keys})}]\n"
        f"pipeline: {{steps: [{{name: s, {source}operations: {named}}}]}}\n"
    )
    assert parse_pipeline(text).plan.operator("x").kind == one.kind


def test_every_operator_is_offered_but_those_with_another_name() -> None:
    assert set(REGISTRY) - {one.kind for one in new_operators()} == {"order", "scan"}


def test_redwell_new_writes_a_template_once(tmp_path: Path) -> None:
    file = tmp_path / "officers.yaml"
    run = CliRunner()
    listed = run.invoke(app, ["new"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in NAMES)
    assert run.invoke(app, ["new", "officers", str(file)]).exit_code == 0
    assert file.read_text(encoding="utf-8") == template("officers").text
    assert run.invoke(app, ["check", "--pipeline-only", str(file)]).exit_code == 0
    assert run.invoke(app, ["new", "officers", str(file)]).exit_code == 2
    assert run.invoke(app, ["new", "officers"]).exit_code == 2


def test_a_file_that_found_no_room_is_not_there_when_it_is_written_again(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    file, before = tmp_path / "o.yaml", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))  # as on a full disk
    try:
        refused = CliRunner().invoke(app, ["new", "officers", str(file)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert refused.exit_code == 2
    assert "cannot be written" in refused.stderr
    assert not file.exists()
    assert CliRunner().invoke(app, ["new", "officers", str(file)]).exit_code == 0
