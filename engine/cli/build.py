"""`redwell build`: look for a pipeline that reads better, on a sample of the user's own documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from engine.cli.build_watch import choose_build_watch
from engine.cli.console import COMMAND_SETTINGS, counted, messages, output, span_text, styled, visible
from engine.cli.interrupting import run_interruptible
from engine.cli.local_models import LocalModels
from engine.cli.options import InputOption, PipelineArgument, PipelineCaseOption, QuietOption
from engine.cli.run_settings import EVERY, takes_settings
from engine.cli.watching import QuietWatch
from engine.errors import UsageError
from engine.executor.settings import RunSettings
from engine.optimizer.build import BuildResult
from engine.optimizer.build_options import MINUTES, BuildOptions
from engine.optimizer.frontier import Point, read_policy
from engine.optimizer.measuring import Measure
from engine.optimizer.sampling import USUAL_ROWS
from engine.worker.builds import BuildJob, ReadyBuild, make_ready_build, run_build
from engine.worker.exit_codes import INTERRUPTED
from engine.worker.jobs import NewModels, default_case
from engine.worker.model_choice import Models
from storage.case import Case

app = typer.Typer(**COMMAND_SETTINGS)

new_models: NewModels = LocalModels
"""Makes the models of a build; tests put scripted ones here."""


OutOption = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="Where the chosen pipeline is written (.yaml).")
]
MinutesOption = Annotated[
    float, typer.Option("--minutes", metavar="N", help="Time limit of the whole build, in minutes.")
]
SampleOption = Annotated[int, typer.Option("--sample", metavar="N", min=1, help="Documents on which plans are tried.")]
PolicyOption = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help='Which plan is chosen: best, fastest (of those as good as yours), or "within-minutes N" for a run '
        "over all documents.",
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write what was tried and why (.html, and .json beside it)."),
]
AgentModelOption = Annotated[
    str,
    typer.Option("--agent-model", metavar="NAME", help="The model that proposes prompts; the pipeline's if not given."),
]
EvaluationOption = Annotated[
    Path | None,
    typer.Option(
        "--evaluation",
        metavar="FILE",
        help="Python with `def evaluate(rows, results)`: it rates whole plans. Only with --trust-code.",
    ),
]
MetricKeyOption = Annotated[
    str,
    typer.Option(
        "--metric-key", metavar="NAME", help="The name of the number, among those that evaluate returns, to rate by."
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Draw other documents.")]
JsonEventsOption = Annotated[
    bool, typer.Option("--json-events", help="Write events to stdout as JSON lines, in place of the summary.")
]


@app.command()
@takes_settings(*EVERY)
def build(  # noqa: PLR0913 - one parameter per option
    pipeline: PipelineArgument,
    *,
    out: OutOption,
    input: InputOption = None,
    case: PipelineCaseOption = None,
    minutes: MinutesOption = MINUTES,
    sample: SampleOption = USUAL_ROWS,
    policy: PolicyOption = "best",
    report: ReportOption = None,
    agent_model: AgentModelOption = "",
    evaluation: EvaluationOption = None,
    metric_key: MetricKeyOption = "",
    seed: SeedOption = 0,
    quiet: QuietOption = False,
    json_events: JsonEventsOption = False,
    settings: RunSettings,
) -> None:
    """Try rewrites of a pipeline on a sample of your own documents, without labels, and write the best.

    Everything is kept in the case file, so the same command goes on after a stop; Ctrl-C keeps the best plan so far. A
    plan that does not do better than your own is not chosen; a check of the identifiers that it lists may be added to
    your own (docs/optimizer.md). The exit codes are those of `redwell run`.
    """
    if metric_key and evaluation is None:
        raise UsageError("--metric-key belongs to --evaluation", advice="Name the Python file with --evaluation FILE.")
    measure = Measure.read(evaluation, metric_key) if evaluation is not None else None
    job = BuildJob(
        pipeline=pipeline,
        case=case or default_case(pipeline),
        out=out,
        inputs=tuple(input or ()),
        report=report,
        options=BuildOptions(settings, minutes, sample, seed, read_policy(policy), agent_model, measure=measure),
    )
    models = new_models()
    ready = make_ready_build(job, models)
    watch = choose_build_watch(quiet=quiet, json_events=json_events)
    with Case(job.case) as opened:
        result = _build(ready, models, opened, watch)
    if result is None:
        raise typer.Exit(INTERRUPTED)
    if not (quiet or json_events):
        _say(result, job)
    raise typer.Exit(INTERRUPTED if result.status == "stopped" else 0)


def _build(ready: ReadyBuild, models: Models, case: Case, watch: QuietWatch) -> BuildResult | None:
    """Build; None where it was stopped before there was anything to keep."""
    try:
        with watch:
            return run_interruptible(run_build(ready, case, models, watch.take))
    except KeyboardInterrupt:
        text = f"Stopped. What was read and asked is kept in {case.path.name}; the same command goes on from there."
        messages().print(text, soft_wrap=True)
        return None


def _say(result: BuildResult, job: BuildJob) -> None:
    """Print the plans between which one was chosen, what was reused, and the files."""
    console = output()
    console.print(_table(result))
    console.print()
    name = "Your own plan stays" if result.choice.plan == result.user.id else f"Plan {result.choice.plan} was chosen"
    console.print(styled((f"{name}: ", "bold"), visible(result.choice.reason), "."), soft_wrap=True)
    if result.chosen.words:
        console.print(styled(visible(result.chosen.words)), soft_wrap=True)
    reuse = result.reuse
    console.print(
        styled(
            ("Reuse   ", "bold"),
            f"{reuse.outputs_reused:,} outputs from the case, {reuse.outputs_shared:,} shared by plans, "
            f"{reuse.outputs_made:,} made; {reuse.calls_reused:,} replies from the case, "
            f"{counted(reuse.calls_made, 'call')} made.",
        ),
        soft_wrap=True,
    )
    ended = {"finished": "Finished", "out of time": "Out of time", "stopped": "Stopped"}[result.status]
    spent = f"{ended} after {span_text(result.seconds)} of {result.options.minutes:g} minutes"
    console.print(styled(("Time    ", "bold"), f"{spent}, on {result.sample} of {counted(result.rows, 'row')}."))
    files = f"{job.out}" if job.report is None else f"{job.out}, {job.report} and its .json"
    console.print(styled(("Written ", "bold"), visible(files)), soft_wrap=True)


def _table(result: BuildResult) -> Table:
    table = Table("plan", "directive", "rating", "all rows, about", "")
    for point in (result.own, *sorted(result.points, key=lambda p: -p.score)):
        table.add_row(*_cells(point, result))
    return table


def _cells(point: Point, result: BuildResult) -> list[str]:
    candidate = result.search.candidates[point.plan]
    notes = ["chosen"] if point.plan == result.choice.plan else []
    notes += ["better than yours"] if point.beats else []
    notes += ["on the frontier"] if point in result.front else []
    return [
        "your own" if point.plan == result.user.id else str(point.plan),
        candidate.directive,
        f"{point.score:.2f}" if point.score else "not rated",
        span_text(point.seconds) if point.score else "",
        ", ".join(notes),
    ]
