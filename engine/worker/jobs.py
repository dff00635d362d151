"""A run as a user orders it: everything that can be wrong is found before the first file is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from engine.documents.options import ParseOptions
from engine.errors import UsageError
from engine.executor.model_pool import TextEmbedder
from engine.executor.run import RunOptions, refuse_problems
from engine.language.checks import check, field_flow
from engine.language.loader import Loaded, load_pipeline
from engine.language.position import Position
from engine.language.problems import Problem
from engine.plan.node import Node
from engine.plan.plan import Plan
from engine.plan.sources import override_input
from models.protocol import ModelBackend
from storage.case import Case
from storage.export.assemble import result_table
from storage.export.cells import Lists
from storage.export.csv import CsvOptions
from storage.export.files import SUFFIXES, check_suffix, write_table
from storage.export.table import ResultTable


class Models(Protocol):
    """Opens the models of one run, and knows before it whether they are there."""

    def stand_in(self, name: str, *, is_chosen: bool) -> str:
        """Return the model that is used for `name` because `name` cannot be here; "" when it is used itself.

        `is_chosen`: the user asked for it now, so nothing may stand in. Raises EnvironmentMissing.
        """

    def need_embedder(self) -> None:
        """Raise EnvironmentMissing unless the embedding model is installed."""

    def open_model(self, name: str) -> ModelBackend:
        """Load a model (engine.executor.model_pool.OpenModel)."""

    def open_embedder(self) -> TextEmbedder:
        """Open the embedding model; it loads when it is first used."""


NewModels = Callable[[], Models]
"""Makes the Models of one run."""


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """How results are written. `columns` empty means the usual ones; `lists` as in storage.export.cells."""

    columns: tuple[str, ...] = ()
    bom: bool = False
    lists: Lists = "json"


@dataclass(frozen=True)
class RunJob:
    """One run as ordered. Relative paths start at the current folder; `model` replaces those of the pipeline."""

    pipeline: Path
    case: Path
    inputs: tuple[str, ...] = ()
    outs: tuple[Path, ...] = ()
    model: str = ""
    workers: int | None = None
    output: OutputOptions = field(default=OutputOptions())
    parse: ParseOptions = field(default=ParseOptions())


@dataclass(frozen=True)
class ReadyRun:
    """A job that passed every check: the plan with its inputs, what the executor is told, the files to write."""

    loaded: Loaded
    options: RunOptions
    outs: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """One results file, and the notes that a person should see."""

    path: Path
    rows: int
    notes: tuple[str, ...]


def default_case(pipeline: Path) -> Path:
    """Name the case of a pipeline that was given none: its stem, in the current folder."""
    return Path.cwd() / f"{pipeline.stem}.redwell"


def make_ready(job: RunJob, models: Models) -> ReadyRun:
    """Load the pipeline and check it, the inputs, the files to write and the models; no model is loaded.

    Raises PipelineError, UsageError, ExportError or EnvironmentMissing.
    """
    loaded = load_with_inputs(job.pipeline, job.inputs)
    refuse_problems(loaded)
    outs, notes = _outs(job, loaded)
    check_outs(outs, case=job.case)
    _check_columns(loaded.plan, job.output.columns)
    warnings = [*loaded.warnings, *(p for p in check(loaded.plan, positions=loaded.positions) if is_warning(p)), *notes]
    settled = settle_models(replace(loaded, warnings=tuple(warnings)), job.model, models)
    options = RunOptions(model=job.model, columns=job.output.columns, parse=job.parse)
    if job.workers is not None:
        options = replace(options, workers=job.workers)
    return ReadyRun(settled, options, outs)


def is_warning(problem: Problem) -> bool:
    """Say whether a problem is no hindrance."""
    return problem.severity == "warning"


def settle_models(loaded: Loaded, chosen: str, models: Models) -> Loaded:
    """Check that the models a run will use are there; warn of stand-ins. `chosen` replaces those of the pipeline.

    Raises EnvironmentMissing.
    """
    stand_ins = {} if chosen else _settle_models(loaded, models)
    if chosen:
        _settle_chosen(loaded.plan, chosen, models)
    plan = replace(loaded.plan, default_model=stand_ins.get(loaded.plan.default_model, loaded.plan.default_model))
    return replace(loaded, plan=plan, warnings=(*loaded.warnings, *_stand_in_warnings(loaded, stand_ins)))


def load_with_inputs(pipeline: Path, inputs: Sequence[str]) -> Loaded:
    """Load a pipeline and point its datasets at `inputs` (PATH or NAME=PATH). Raises PipelineError or UsageError."""
    loaded = load_pipeline(pipeline)
    plan = loaded.plan
    for given in inputs:
        plan = override_input(plan, given, directory=Path.cwd())
    return replace(loaded, plan=plan)


def check_outs(outs: Sequence[Path], *, case: Path) -> None:
    """Refuse files that could not be written after a long run: raises ExportError or UsageError."""
    for index, out in enumerate(outs):
        check_suffix(out)
        if out.resolve() in {other.resolve() for other in outs[:index]}:
            raise UsageError(f"--out names {out} twice", advice="Name each file once.")
        if out.resolve() == case.resolve():
            raise UsageError(f"--out names the case itself: {out}", advice="Choose another name for the results.")
        _check_writable(out)


def _check_writable(out: Path) -> None:
    if out.exists() and not out.is_file():
        raise UsageError(f"--out {out} is not a file", advice="Name a file, such as results.csv.")
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}", advice="Make the folder first.")
    for path in (out.parent, out):
        if path.exists() and not os.access(path, os.W_OK):
            raise UsageError(f"--out {out}: {path} cannot be written", advice="Choose another place.")


def write_outs(
    case: Case, run_id: str, outs: Sequence[Path], output: OutputOptions
) -> tuple[ResultTable, list[Written]]:
    """Write the results of a run to each file; return the table too. Raises ExportError, DiskFull or NotInCase."""
    table = result_table(case, run_id, columns=output.columns or None)
    options = CsvOptions(bom=output.bom, lists=output.lists)
    return table, [Written(out, len(table.rows), write_table(table, out, csv_options=options)) for out in outs]


def _outs(job: RunJob, loaded: Loaded) -> tuple[tuple[Path, ...], list[Problem]]:
    """Choose the files to write: those of the job, else the pipeline's own, unless its format is not ours."""
    named = loaded.plan.output.path
    if job.outs or not named:
        return job.outs, []
    out = loaded.directory / Path(named).expanduser()
    if out.suffix.lower() in SUFFIXES:
        return (out,), []
    formats = ", ".join(SUFFIXES)
    message = f"the pipeline's output {named!r} is not written: its suffix is none of {formats}; use --out"
    return (), [_warning(loaded, message, loaded.positions.nearest(("pipeline", "output", "path")))]


def _check_columns(plan: Plan, columns: Sequence[str]) -> None:
    """Refuse a column that no row can have, where the plan tells that before it runs."""
    fields = field_flow(plan).get(plan.steps[-1].name)
    unknown = [column for column in columns if fields is not None and column not in fields]
    if fields is not None and unknown:
        raise UsageError(f"no result has the column {unknown[0]!r}", advice=f"Columns: {', '.join(sorted(fields))}.")


def _settle_models(loaded: Loaded, models: Models) -> dict[str, str]:
    """Check that each model of the pipeline is there; return what stands in for names that cannot be here."""
    _settle_embedder(loaded.plan, models)
    stand_ins = {name: models.stand_in(name, is_chosen=False) for name in _model_names(loaded)}
    return {name: other for name, other in stand_ins.items() if other}


def _settle_chosen(plan: Plan, chosen: str, models: Models) -> None:
    """Check that the model the user named is there, if the pipeline asks any."""
    _settle_embedder(plan, models)
    if any(_asks(node) for node in _nodes(plan)):
        models.stand_in(chosen, is_chosen=True)


def _settle_embedder(plan: Plan, models: Models) -> None:
    if any(node.traits().embeds for node in _nodes(plan)):
        models.need_embedder()


def _stand_in_warnings(loaded: Loaded, stand_ins: Mapping[str, str]) -> Iterator[Problem]:
    for name, other in stand_ins.items():
        message = f"the pipeline names {name}, which is not on this machine; the default model {other} is used"
        yield _warning(loaded, message, _model_names(loaded)[name])


def _model_names(loaded: Loaded) -> dict[str, Position | None]:
    """List the models that the pipeline asks, each with the first place that names it."""
    names: dict[str, Position | None] = {}
    for node in _nodes(loaded.plan):
        if own := getattr(node, "model", None):
            names.setdefault(own, loaded.positions.operator(node.name, "model"))
        elif _asks(node):
            names.setdefault(loaded.plan.default_model, loaded.positions.nearest(("default_model",)))
    return names


def _asks(node: Node) -> bool:
    return node.traits().calls_model or node.traits().counts_tokens


def _nodes(plan: Plan) -> Iterator[Node]:
    return (node for step in plan.steps for node in plan.nodes(step))


def _warning(loaded: Loaded, message: str, position: Position | None) -> Problem:
    return Problem(
        message,
        file=loaded.positions.file,
        line=position.line if position else None,
        column=position.column if position else None,
        severity="warning",
    )
