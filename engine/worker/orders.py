"""What a command of the worker orders, as the job that is done; imported with the first that takes a while."""

from __future__ import annotations

from engine.documents.options import USUAL_WORKERS, ParseOptions
from engine.errors import UsageError
from engine.executor.settings import RunSettings
from engine.optimizer.build_options import MINUTES, BuildOptions
from engine.optimizer.frontier import read_policy
from engine.optimizer.sampling import USUAL_ROWS
from engine.worker.builds import BuildJob
from engine.worker.commands import BuildCommand, ExportCommand, ReadingKeys, RunCommand, SettingsKeys, TryCommand
from engine.worker.exports import OutputOptions
from engine.worker.jobs import RunJob, default_case
from engine.worker.trials import TrialJob
from storage.export.reviews import ReviewOptions


def run_job(order: RunCommand) -> RunJob:
    """Make the job of a `run` command; raises UsageError."""
    return RunJob(
        pipeline=order.pipeline,
        case=order.case or default_case(order.pipeline),
        inputs=order.input,
        outs=order.out,
        settings=settings_of(order),
        output=OutputOptions(order.columns, order.bom, order.lists),
    )


def build_job(order: BuildCommand) -> BuildJob:
    """Make the job of a `build` command; raises UsageError. A cancelled build keeps the best plan so far."""
    options = BuildOptions(
        settings=settings_of(order),
        minutes=MINUTES if order.minutes is None else order.minutes,
        rows=USUAL_ROWS if order.sample is None else order.sample,
        seed=order.seed,
        policy=read_policy(order.policy),
        agent_model=order.agent_model,
    )
    case = order.case or default_case(order.pipeline)
    return BuildJob(order.pipeline, case, order.out, order.input, order.report, options)


def trial_job(order: TryCommand) -> TrialJob:
    """Make the job of a `try` command; raises UsageError."""
    directory = order.directory or order.case.parent
    return TrialJob(
        order.text,
        order.case,
        directory,
        order.documents,
        order.until,
        max(order.most_characters, 0),
        settings_of(order),
    )


def export_options(order: ExportCommand) -> OutputOptions:
    """Return how an `export` command writes results. Whether its files can be written is seen later."""
    return OutputOptions(
        columns=order.columns,
        bom=order.bom,
        lists=order.lists,
        form=order.form,
        reviews=ReviewOptions(order.reviews, order.drop_rejected),
        rows=None if order.rows is None else frozenset(order.rows),
        parse=ParseOptions(password=order.password),
        despite_changes=order.despite_changes,
    )


def settings_of(order: SettingsKeys) -> RunSettings:
    """Return the settings of a run, a trial or a build; raises UsageError."""
    return RunSettings(
        model=order.model,
        trust_code=order.trust_code,
        allow_hosts=order.allow_host,
        allow_paths=order.allow_path,
        overwrite=order.overwrite,
        cluster=order.cluster,
        include_hidden=order.include_hidden,
        workers=workers_of(order),
        parse=parse_options(order),
    )


def parse_options(order: ReadingKeys) -> ParseOptions:
    """Return the options for reading files."""
    return ParseOptions(ocr=order.ocr, password=order.password, follow_links=order.follow_links)


def workers_of(order: ReadingKeys) -> int:
    """Return how many files are read at once; raises UsageError."""
    if order.workers is None:
        return USUAL_WORKERS
    if order.workers < 1:
        raise UsageError(f"workers is {order.workers}", advice="Write a whole number from 1.")
    return order.workers
