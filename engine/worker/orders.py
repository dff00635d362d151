"""What a command of the worker orders, as the job that is done; imported with the first that takes a while."""

from __future__ import annotations

from engine.documents.options import ParseOptions
from engine.optimizer.build_options import MINUTES, BuildOptions
from engine.optimizer.frontier import read_policy
from engine.optimizer.sampling import USUAL_ROWS
from engine.worker.builds import BuildJob
from engine.worker.commands import BuildCommand, ExportCommand, RunCommand
from engine.worker.exports import OutputOptions
from engine.worker.jobs import RunJob, default_case
from storage.export.reviews import ReviewOptions


def run_job(order: RunCommand) -> RunJob:
    """Make the job of a `run` command; raises UsageError."""
    return RunJob(
        pipeline=order.pipeline,
        case=order.case or default_case(order.pipeline),
        inputs=order.input,
        outs=order.out,
        settings=order.settings,
        output=OutputOptions(order.columns, order.bom, order.lists),
    )


def build_job(order: BuildCommand) -> BuildJob:
    """Make the job of a `build` command; raises UsageError. A cancelled build keeps the best plan so far."""
    options = BuildOptions(
        settings=order.settings,
        minutes=MINUTES if order.minutes is None else order.minutes,
        rows=USUAL_ROWS if order.sample is None else order.sample,
        seed=order.seed,
        policy=read_policy(order.policy),
        agent_model=order.agent_model,
    )
    case = order.case or default_case(order.pipeline)
    return BuildJob(order.pipeline, case, order.out, order.input, order.report, options)


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
