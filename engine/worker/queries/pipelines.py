"""The pipeline that a person is writing: its cards, changes, problems and estimate, and the templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from engine.errors import PipelineError, UsageError
from engine.estimate.total import Forecast, forecast
from engine.executor.run import refuse_problems
from engine.frame.forms import Form, form_of
from engine.language.checks import fields_before
from engine.language.outline import Outline, outline
from engine.language.position import Positions
from engine.language.problems import Problem
from engine.loader import Loaded, parse_pipeline
from engine.operators.registry import REGISTRY
from engine.plan.sources import override_input
from engine.templates import PipelineTemplate, new_operators, templates
from engine.worker.checking import all_problems, place_of
from engine.worker.pipeline_changes import changed
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from engine.worker.trials import read_item
from storage.errors import CaseMissing


@dataclass(frozen=True, slots=True)
class OperatorType:
    """An operator type that can be added: what it is for in a few words, and its form."""

    kind: str
    does: str
    form: Form


@dataclass(frozen=True, slots=True)
class Written:
    """A pipeline text with what it says. `note`: why a change was not made, empty when it was."""

    text: str
    outline: Outline
    note: str = ""


@dataclass(frozen=True, slots=True)
class FoundProblem:
    """A problem (engine.language.problems) and the key of the operator that it is about, "" if it is about no key."""

    message: str
    advice: str
    operator: str
    key: str
    line: int | None
    column: int | None
    severity: str


@dataclass(frozen=True, slots=True)
class CheckedText:
    """The problems of a text, and by operator the fields that its prompts may use, where they are known."""

    problems: tuple[FoundProblem, ...]
    fields: Mapping[str, tuple[str, ...]]


@query("pipelines.templates")
def list_templates(desk: Desk) -> tuple[PipelineTemplate, ...]:
    """List the pipelines to begin with."""
    return templates()


@query("pipelines.operators", lane="slow")
def operators(desk: Desk) -> list[OperatorType]:
    """List the operator types with their forms, those used most first."""
    known = {operator.kind: operator.does for operator in new_operators()}
    kinds = dict.fromkeys([*known, *REGISTRY])
    return [OperatorType(kind, known.get(kind, ""), form_of(kind)) for kind in kinds]


@query("pipelines.read")
def read(desk: Desk, *, text: str) -> Written:
    """Say what a text says, as far as it can be read."""
    return Written(text, outline(text))


@query("pipelines.change")
def change(desk: Desk, *, text: str, change: Mapping[str, Any]) -> Written:
    """Change a text (engine.worker.pipeline_changes); one that cannot be changed so comes back as it was."""
    try:
        text = changed(text, change)
    except PipelineError as error:
        return Written(text, outline(text), f"{error.args[0]}. {error.advice}".strip())
    return Written(text, outline(text))


@query("pipelines.check", lane="slow")
def check_text(desk: Desk, *, text: str, directory: str, around: bool = True) -> CheckedText:
    """List the problems that `redwell check` lists; `around`: those of data and models too. Given up, it stops."""
    load = partial(parse_pipeline, text, directory=Path(directory))
    checked = all_problems(load, "", desk.new_models, around=around, looked=desk.go_on)
    positions = checked.loaded.positions if checked.loaded else Positions()
    whole = outline(text)
    problems = tuple(_found(problem, positions, whole) for problem in checked.problems)
    fields = fields_before(checked.loaded.plan) if checked.loaded else {}
    return CheckedText(problems, fields)


@query("pipelines.estimate", lane="slow")
def estimate(desk: Desk, *, text: str, directory: str, case: str, model: str = "", input: str = "") -> Forecast:
    """Estimate what the pipeline takes on the case's documents, or on those that `input` chooses of them.

    Raises PipelineError for one that cannot run, UsageError for what is no choice, or when it was given up.
    """
    loaded: Loaded = parse_pipeline(text, directory=Path(directory))
    if input:
        loaded = replace(loaded, plan=override_input(loaded.plan, input, directory=loaded.directory))
    refuse_problems(loaded)
    return forecast(loaded, case=Path(case), model=model, looked=desk.go_on)


@query("pipelines.tried")
def tried(desk: Desk, *, trial: str, item: int) -> dict[str, Any]:
    """Return one item of the last trial, whose case is `trial` (engine.worker.trial_items.TriedItem)."""
    try:
        return read_item(desk.reading(trial).cache, item)
    except CaseMissing as error:
        raise UsageError("this trial is not kept any more", advice="Try it again.") from error


def _found(problem: Problem, positions: Positions, whole: Outline) -> FoundProblem:
    path = place_of(problem, positions)
    operator, key = problem.operator, ""
    if len(path) >= 2 and path[0] == "operations":
        card = next((card for card in whole.cards if card.index == path[1]), None)
        operator = card.name if card else operator
        key = ".".join(str(part) for part in path[2:])
    elif not operator and problem.line is not None:
        line = problem.line
        operator = next((c.name for c in whole.cards if c.first_line <= line <= c.last_line), "")
    return FoundProblem(problem.message, problem.advice, operator, key, problem.line, problem.column, problem.severity)
