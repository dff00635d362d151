"""Every problem of a pipeline, without running it: what `redwell check` prints and the window shows at the cards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.errors import PipelineError
from engine.estimate.sources import Looked, look_at
from engine.estimate.too_long import too_long
from engine.language.checks import SourceFields, check
from engine.language.position import Path, Positions
from engine.language.problems import Problem
from engine.language.trust import trust_warnings
from engine.loader import Loaded, Read
from engine.worker.crossings import crossings
from engine.worker.model_choice import Models, model_problems
from engine.worker.surroundings import check_surroundings, missing, peek_fields
from models.rates import context_of


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found. `loaded` is None where the file cannot be loaded."""

    problems: tuple[Problem, ...]
    loaded: Loaded | None


def all_problems(
    load: Callable[[], Loaded],
    file: str,
    new_models: Callable[[], Models],
    *,
    around: bool = True,
    looked: Looked = lambda: None,
) -> Checked:
    """List errors and warnings of what `load` reads. Raises UsageError for a wrong input, and what `looked` does.

    With `around`, also those of its data, its output and the models of this machine.
    """
    try:
        loaded = load()
    except PipelineError as error:
        problems = [_as_problem(each, file) for each in error.each()]
        if around and isinstance(error.read, Read):
            problems += missing(error.read, error.read.datasets, "warning")
        return Checked(tuple(problems), None)
    fields: SourceFields | None = None
    unreadable: list[Problem] = []
    if around:
        fields, unreadable = peek_fields(loaded)
    findings = [
        *(_as_problem(error, "") for error in crossings(loaded)),
        *(check_surroundings(loaded, missing_data="warning") if around else ()),
        *unreadable,
        *check(loaded.plan, source_fields=fields, positions=loaded.positions),
        *trust_warnings(loaded.plan, loaded.positions),
        *loaded.warnings,
        *(model_problems(loaded, new_models()) if around else ()),
        *(long_rows(loaded, looked) if around and not unreadable else ()),
    ]
    return Checked(tuple(findings), loaded)


def _as_problem(error: PipelineError, file: str) -> Problem:
    return Problem(
        error.args[0],
        error.advice,
        operator=error.operator,
        file=error.file or file,
        line=error.line,
        column=error.column,
    )


def long_rows(loaded: Loaded, looked: Looked) -> list[Problem]:
    """Name the rows that will be too long for a prompt, where the datasets are there and the model is known."""
    context = context_of(loaded.plan.default_model)
    places = {d.name: d.location(loaded.directory) for d in loaded.plan.datasets if d.path}
    here = {name for name, place in places.items() if loaded.borders.allow(place) and place.exists()}
    if context is None or not here:
        return []
    sources = {name: source for name, source in look_at(loaded, looked=looked).items() if name in here}
    return too_long(loaded.plan, sources, context, loaded.positions)


def place_of(problem: Problem, positions: Positions) -> Path:
    """Return the path of the value that a problem blames, () where it blames none."""
    if problem.line is None:
        return ()
    before: Path = ()
    best = (0, 0)
    for path, position in (*positions.values.items(), *positions.keys.items()):
        at = (position.line, position.column)
        if best <= at <= (problem.line, problem.column or 1) and (at > best or len(path) >= len(before)):
            before, best = path, at
    return before
