"""A run as a user orders it: everything that can be wrong is found before the first file is read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.custody.manifest import manifest_path, token_path, with_manifests
from engine.errors import PipelineError, UsageError
from engine.executor.results import refuse_columns
from engine.executor.run import RunOptions, refuse, refuse_problems
from engine.executor.settings import RunSettings
from engine.language.checks import check
from engine.language.trust import refuse_untrusted
from engine.loader import Loaded, load_pipeline
from engine.plan.work import named_apart
from engine.results.network_files import network_format
from engine.worker.crossings import OUTPUTS, recorded, refuse_crossings, refuse_foreign, with_inputs
from engine.worker.exports import OutputOptions, Written, check_format, write_outs
from engine.worker.model_choice import Models, settled
from engine.worker.surroundings import check_surroundings, harm_to_data
from models.paths import expanded
from storage.case import Case
from storage.export.json import write_list
from storage.export.table import ResultTable

LONGEST_FILE_NAME = 60
"""Letters of a name that becomes a file: disks hold 255 bytes, and a letter may take four of them."""

NewModels = Callable[[], Models]
"""Makes the Models of one run."""


@dataclass(frozen=True)
class RunJob:
    """One run as ordered: the pipeline, its case, the files to write. Relative paths start at the current folder."""

    pipeline: Path
    case: Path
    inputs: tuple[str, ...] = ()
    outs: tuple[Path, ...] = ()
    settings: RunSettings = field(default=RunSettings())
    output: OutputOptions = field(default=OutputOptions())


@dataclass(frozen=True)
class ReadyRun:
    """A job that passed every check: the plan with its inputs, what the executor is told, what to write and how."""

    loaded: Loaded
    options: RunOptions
    outs: tuple[Path, ...]
    output: OutputOptions = field(default=OutputOptions())


def default_case(pipeline: Path) -> Path:
    """Name the case of a pipeline that was given none: its stem, in the current folder."""
    return Path.cwd() / f"{pipeline.stem}.redwell"


def make_ready(job: RunJob, models: Models) -> ReadyRun:
    """Load the pipeline and check it, the inputs, the files to write and the models; no model is loaded.

    Raises PipelineError, UsageError, ExportError or EnvironmentMissing.
    """
    outputs = ["intermediate_dir"] if job.outs else list(OUTPUTS)
    loaded = load_checked(job, models, outputs=outputs)
    outs = _outs(job, loaded)
    check_outs(outs, case=job.case, loaded=loaded)
    if not job.settings.overwrite:
        refuse_foreign((*with_manifests(outs), *_intermediate_files(loaded)), job.case)
    refuse_columns(loaded.plan, job.output.columns)
    options = RunOptions(job.settings, job.output.columns)
    return ReadyRun(loaded, options, outs, replace(job.output, table=loaded.plan.output.table))


def load_checked(job: RunJob, models: Models, *, outputs: Collection[str]) -> Loaded:
    """Load the pipeline of a job with its inputs, check it and what is around it, and settle its models.

    `outputs` are the keys of what the pipeline names and that will be written.
    Raises PipelineError, UsageError or EnvironmentMissing; what is only a warning is among those of the pipeline.
    """
    settings = job.settings
    models.apply(settings)
    loaded = load_with_inputs(job.pipeline, job.inputs, settings.allow_paths)
    if settings.include_hidden:
        loaded = replace(loaded, plan=loaded.plan.including_hidden())
    refuse_crossings(loaded, outputs=outputs, models=not settings.model)
    refuse_problems(loaded)
    refuse_untrusted(loaded.plan, loaded.positions, trust_code=settings.trust_code)
    around = check_surroundings(loaded, outputs=outputs)
    refuse(around)
    warnings = [
        *loaded.warnings,
        *(p for p in check(loaded.plan, positions=loaded.positions) if p.severity == "warning"),
        *(p for p in around if p.severity == "warning"),
    ]
    return settled(replace(loaded, warnings=tuple(warnings)), settings.model, models)


def load_with_inputs(pipeline: Path, inputs: Sequence[str], allowed: Sequence[Path] = ()) -> Loaded:
    """Load a pipeline and point its datasets at `inputs` (PATH or NAME=PATH). Raises PipelineError or UsageError.

    `allowed` are paths that it may read and write besides.
    """
    try:
        return with_inputs(load_pipeline(pipeline, allowed=allowed), inputs)
    except PipelineError as error:
        if inputs:
            error.read = None  # its datasets are not those that are read
        raise


def check_outs(outs: Sequence[Path], *, case: Path, loaded: Loaded | None = None) -> None:
    """Refuse files that could not be written after a long run, or that belong to what it reads (`loaded`).

    Raises ExportError or UsageError.
    """
    for index, out in enumerate(outs):
        check_format(out)
        if loaded is not None and network_format(out):
            advice = "Run it first, then write the network: `redwell export CASE --out FILE --people COLUMN`."
            raise UsageError(f"{out}: a run writes no network", advice=advice)
        if out.resolve() in {other.resolve() for other in outs[:index]}:
            raise UsageError(f"--out names {out} twice", advice="Name each file once.")
        if out.resolve() == case.resolve():
            raise UsageError(f"--out names the case itself: {out}", advice="Choose another name for the results.")
        if loaded is not None and (message := harm_to_data(loaded, out)):
            raise UsageError(message, advice="Choose another place for the results.")
        check_writable(out)
        token = token_path(manifest_path(out))
        if _is_there(token):
            advice = "Choose another name, or move the export with its manifest elsewhere."
            raise UsageError(
                f"{out}: its manifest has a timestamp, {token.name}, which writing would void", advice=advice
            )


def check_writable(out: Path) -> None:
    """Raise UsageError where a file could not be written."""
    if _is_there(out) and not out.is_file():
        raise UsageError(f"{out} is not a file", advice="Name another file.")
    if not out.parent.is_dir():
        raise UsageError(f"{out}: there is no folder {out.parent} to write it in", advice="Make the folder first.")
    for path in (out.parent, out):
        if path.exists() and not os.access(path, os.W_OK):
            raise UsageError(f"{out}: {path} cannot be written", advice="Choose another place.")


def _is_there(file: Path) -> bool:
    """Say whether a file is there; raises UsageError where none can be: its name is too long, its folder closed."""
    try:
        return file.exists()
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: {error.strerror}", advice="Choose another place, or a shorter name."
        ) from error


def write_results(ready: ReadyRun, case: Case, run_id: str) -> tuple[ResultTable, list[Written]]:
    """Write the files of a run that is finished: its results, and the rows of each operator if the pipeline wants them.

    Returns the table and the results files. Raises ExportError, DiskFull or NotInCase.
    """
    files = (*with_manifests(ready.outs), *_intermediate_files(ready.loaded))
    with recorded(case, files, overwrite=ready.options.settings.overwrite):
        _write_intermediate(ready.loaded, case, run_id)
        return write_outs(case, run_id, ready.outs, ready.output)


def _write_intermediate(loaded: Loaded, case: Case, run_id: str) -> None:
    """Write the rows of each operator to STEP/OPERATOR.json below the folder that the pipeline names."""
    for file, operator in _intermediate_files(loaded).items():
        _make_folder(file.parent, "intermediate_dir")
        write_list((row.values for row in case.rows.of_operator(run_id, operator)), file)


def _intermediate_files(loaded: Loaded) -> dict[Path, str]:
    """Return the file of each operator below the folder that the pipeline names; none where it names none."""
    named = loaded.plan.output.intermediate_dir
    folder = loaded.directory / expanded(named)
    steps = named_apart(loaded.plan) if named else {}
    return {
        folder / step / f"{file}.json": node.name
        for step, nodes in zip(_file_names(steps), steps.values(), strict=True)
        for file, node in zip(_file_names([node.name for node in nodes]), nodes, strict=True)
    }


def _file_names(names: Iterable[str]) -> list[str]:
    """Make names of a pipeline into those of files: they come from others, so they may not lead elsewhere.

    No two are the same, also on a disk that takes no notice of capitals: a name that is taken gets ` (2)`, ` (3)`.
    Only the beginning of a long one is taken.
    """
    made: dict[str, str] = {}
    for name in names:
        file = plain = re.sub(r"[^\w() -]", "_", name)[:LONGEST_FILE_NAME]
        number = 1
        while file.casefold() in made:
            number += 1
            file = f"{plain} ({number})"
        made[file.casefold()] = file
    return list(made.values())


def _make_folder(folder: Path, key: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{key}: the folder {folder} cannot be made: {error.strerror}", advice="Choose another place."
        ) from error


def _outs(job: RunJob, loaded: Loaded) -> tuple[Path, ...]:
    """Choose the files to write: those of the job, else the pipeline's own, whose folder is made."""
    named = loaded.plan.output.path
    if job.outs or not named:
        return job.outs
    out = loaded.directory / expanded(named)
    check_format(out)
    _make_folder(out.parent, "output")
    return (out,)
