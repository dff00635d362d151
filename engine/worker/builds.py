"""A build as a user orders it: checked before anything is read, and its plan and report written at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.errors import UsageError
from engine.executor.events import Emit
from engine.loader import Loaded, load_pipeline
from engine.optimizer.build import BuildResult, build_pipeline
from engine.optimizer.build_options import BuildOptions
from engine.optimizer.frontier import Policy
from engine.optimizer.report import as_file, report_body, write_report
from engine.worker.allowed import note_allowed
from engine.worker.contract.events import PlanWritten
from engine.worker.crossings import recorded, refuse_foreign
from engine.worker.jobs import RunJob, check_writable, load_checked
from engine.worker.live_build import LiveBuild
from engine.worker.model_choice import Models
from engine.worker.surroundings import harm_to_data
from models.install import list_models
from models.protocol import ModelBackend
from storage.case import Case
from storage.export.atomic import replacing

PLAN_SUFFIXES = (".yaml", ".yml")
REPORT_SUFFIXES = (".html", ".htm")


@dataclass(frozen=True)
class BuildJob:
    """One build as ordered. `out` is the file for the chosen plan, `report` the page (its JSON lies beside it)."""

    pipeline: Path
    case: Path
    out: Path
    inputs: tuple[str, ...] = ()
    report: Path | None = None
    options: BuildOptions = field(default=BuildOptions())


@dataclass(frozen=True)
class ReadyBuild:
    """A job that passed every check. `given` is the pipeline as its file says, `loaded` with inputs and models set."""

    job: BuildJob
    given: Loaded
    loaded: Loaded
    options: BuildOptions


def make_ready_build(job: BuildJob, models: Models) -> ReadyBuild:
    """Load and check the pipeline, the files to write and the models; no model is loaded.

    Raises PipelineError, UsageError or EnvironmentMissing.
    """
    _check_files(job)
    options, settings = job.options, job.options.settings
    loaded = load_checked(RunJob(job.pipeline, job.case, job.inputs, (job.out,), settings), models, outputs=())
    if harm := next(filter(None, (harm_to_data(loaded, file) for file in _files(job))), ""):
        raise UsageError(harm, advice="Name a file in another folder.")
    if not settings.overwrite:
        refuse_foreign(_files(job), job.case)
    if options.agent_model:
        models.stand_in(options.agent_model, is_chosen=True)
    if not settings.model:
        options = replace(options, other_models=other_models(loaded, options.policy))
    return ReadyBuild(job, load_pipeline(job.pipeline, allowed=settings.allow_paths), loaded, options)


async def run_build(
    ready: ReadyBuild,
    case: Case,
    models: Models,
    emit: Emit,
    *,
    gated: Callable[[ModelBackend], ModelBackend] = lambda backend: backend,
    watch: Callable[[LiveBuild], None] = lambda live: None,
) -> BuildResult:
    """Build, and write the chosen plan and the report; also when the build was stopped or out of time.

    `watch` is given the build when the search begins.
    """
    job = ready.job
    note_allowed(case, "build", ready.options.settings.allow_hosts)
    folder = job.out.resolve().parent
    result = await build_pipeline(
        ready.loaded,
        case,
        open_model=lambda name: gated(models.open_model(name)),
        open_embedder=models.open_embedder,
        emit=emit,
        options=ready.options,
        watch=lambda search: watch(LiveBuild(search, ready.given, job.pipeline, folder)),
    )
    page = beside = ""
    with recorded(case, _files(job), overwrite=ready.options.settings.overwrite):
        with replacing(job.out) as part:
            part.write_text(as_file(result.chosen.plan, ready.given, folder), encoding="utf-8")
        if job.report is not None:
            beside = str(write_report(report_body(result, ready.given, folder), job.report))
            page = str(job.report)
    emit(PlanWritten(str(job.out), page, beside))
    return result


def _files(job: BuildJob) -> tuple[Path, ...]:
    """Return the files that a build writes; the report for programs lies beside the page."""
    return (job.out, *((job.report, job.report.with_suffix(".json")) if job.report else ()))


def other_models(loaded: Loaded, policy: Policy) -> tuple[str, ...]:
    """Return the other language models that are installed here, the largest first: the largest answers best.

    Where the best plan is wanted, smaller ones than all of the pipeline's are left out: they only save time.
    """
    named = {loaded.plan.default_model, *(node.model for node in loaded.plan.operators)}
    here = [s for s in list_models() if s.kind == "language" and s.installed and not s.is_broken]
    used = [s for s in here if s.id in named or (s.is_default and "" in named)]
    least = min((s.bytes for s in used), default=0) if policy.name == "best" else 0
    others = sorted((s for s in here if s not in used and s.bytes >= least), key=lambda status: -status.bytes)
    return tuple(status.id for status in others)


def _check_files(job: BuildJob) -> None:
    for path, suffixes, what in ((job.out, PLAN_SUFFIXES, "--out"), (job.report, REPORT_SUFFIXES, "--report")):
        if path is None:
            continue
        if path.suffix.lower() not in suffixes:
            raise UsageError(f"{what} {path} has the wrong suffix", advice=f"Name a file *{suffixes[0]}.")
        if path.resolve() in (job.pipeline.resolve(), job.case.resolve()):
            raise UsageError(f"{what} {path} would overwrite what the build reads", advice="Name another file.")
    for path in _files(job):
        check_writable(path)
