"""`redwell eval TASK`: the user's pipeline of a task as it stands, beside an optimised one."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.table import Table

from engine.cli.console import counted, messages, output, span_text, styled
from engine.errors import UsageError
from engine.executor.run import RunOptions, refuse_problems
from engine.language.trust import refuse_untrusted
from engine.loader import Loaded
from engine.worker.jobs import NewModels, load_with_inputs
from engine.worker.model_choice import settled
from evaluation.evaluate_build import BuildOrder, Built, build_for
from evaluation.judging import PipelineJudge
from evaluation.report import PlanFigures, Report
from evaluation.running import Measured, Runner, Seeds
from evaluation.task import Split, Task
from evaluation.tried import Tried
from models.hardware import inspect_hardware


@dataclass(frozen=True)
class TaskJob:
    """One evaluation as ordered. `pipelines` are run in this order, the user's own first, by their titles.

    `keep`: where the cases stay; None for nowhere. `out`: the JSON file. `build`: find an optimised pipeline first.
    `side_by_side`: seeds run at once and share the model (evaluation.running.Runner).
    `judge`: a model decides the criteria of a task that has some.
    """

    task: Task
    pipelines: tuple[tuple[str, Path], ...]
    seeds: Seeds
    out: Path
    split: Split = "dev"
    data: Path | None = None
    keep: Path | None = None
    options: RunOptions = RunOptions()
    build: BuildOrder | None = None
    side_by_side: bool = False
    judge: bool = True


def evaluate_task(job: TaskJob, new_models: NewModels) -> Report:
    """Run each pipeline with each seed; print the table and write the JSON file.

    Raises UsageError, PipelineError or EnvironmentMissing before the first run where something is missing or wrong.
    """
    if not job.out.absolute().parent.is_dir():
        raise UsageError(f"{job.out}: there is no folder {job.out.parent}", advice="Make the folder first.")
    with tempfile.TemporaryDirectory(prefix="redwell-eval-") as scratch:
        folder = (job.keep or Path(scratch)).absolute()
        documents = job.task.documents(job.split, job.data)
        inputs = job.task.write_inputs(job.split, folder / f"{job.task.name}-{job.split}", job.data)
        built = _build(job, folder, new_models)
        if built and built.tried:
            show_tried(built.tried)
        pipelines = [*job.pipelines, *([("optimised", built.pipeline)] if built else [])]
        plans = [(title, path, _ready(path, inputs, job, new_models)) for title, path in pipelines]
        messages().print(f"{job.task.about}: {counted(len(documents), 'document')} of {job.split}", markup=False)
        measured = []
        for title, path, loaded in plans:
            runner = Runner(
                task=job.task,
                documents=documents,
                folder=folder / f"{job.task.name}-{job.split}-cases",
                new_models=new_models,
                options=job.options,
                judge=PipelineJudge(new_models, job.options) if job.judge else None,
                tell=lambda line: messages().print(f"running {line}", markup=False),
                side_by_side=job.side_by_side,
            )
            runs = runner.measure(title, loaded, job.seeds)
            measured.append(PlanFigures(title, path.read_text(encoding="utf-8"), tuple(runs)))
            _say(job.task, title, runs)
    report = Report(
        task=job.task,
        documents=tuple(document.id for document in documents),
        split=job.split,
        model=job.options.settings.model or plans[0][2].plan.default_model,
        machine=machine_text(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        temperature=job.seeds.plans(plans[0][2])[0].plan.settings.temperature,
        plans=tuple(measured),
        build_seconds=built.seconds if built else None,
        tried=built.tried if built else None,
        side_by_side=job.side_by_side,
    )
    show(report)
    job.out.write_text(report.to_json(), encoding="utf-8")
    output().print(styled(("Written ", "bold"), str(job.out)), soft_wrap=True)
    return report


def _build(job: TaskJob, folder: Path, new_models: NewModels) -> Built | None:
    if job.build is None:
        return None
    messages().print(f"building {job.task.name} on documents that are not scored", markup=False)
    pipeline = job.pipelines[0][1]
    return build_for(
        job.task, pipeline, job.build, folder=folder, data=job.data, options=job.options, new_models=new_models
    )


def _ready(path: Path, inputs: tuple[str, ...], job: TaskJob, new_models: NewModels) -> Loaded:
    loaded = load_with_inputs(path, inputs)
    refuse_problems(loaded)
    refuse_untrusted(loaded.plan, loaded.positions, trust_code=job.options.settings.trust_code)
    return settled(loaded, job.options.settings.model, new_models())


def _say(task: Task, title: str, runs: list[Measured]) -> None:
    for run in runs:
        main = f"{task.main_metric} {run.figures[task.main_metric]:.3f}"
        failed = f", {counted(run.failed, 'row')} failed" if run.failed else ""
        messages().print(f"  {title}, seed {run.seed}: {main}, {span_text(run.seconds)}{failed}", markup=False)


def show(report: Report) -> None:
    """Print the figures of all plans side by side."""
    table = Table("figure", *(plan.title for plan in report.plans))
    if len(report.plans) > 1:
        table.add_column("ratio")
    for row in report.rows():
        table.add_row(*row)
    output().print(table)
    seeds = counted(len(report.plans[0].runs), "seed")
    seeds += " side by side (seconds: a seed's share of those of all)" if report.side_by_side else ""
    output().print(f"{report.model}, {seeds}, temperature {report.temperature}; {report.machine}", markup=False)


def show_tried(tried: Tried) -> None:
    """Print the plans that a build tried, by gold, and how far its ratings put them in that order."""
    kinds = tried.taus()
    table = Table("plan", "rewrite", tried.metric.replace("_", " "), *kinds)
    for plan in sorted(tried.plans, key=tried.gold, reverse=True):
        name = (plan.directive or "your own") + (" (chosen)" if plan.chosen else "")
        figures = [f"{plan.ratings[kind]:.2f}" if kind in plan.ratings else "" for kind in kinds]
        table.add_row(str(plan.plan), name, f"{plan.figures[tried.metric]:.3f}", *figures)
    last = ["" if tau is None else f"{tau:.2f}" for _, tau in kinds.values()]
    table.add_row("", "Kendall's tau", "", *last)
    output().print(f"\nPlans tried on {counted(tried.rows, 'row')} of the sample, by gold that the build did not see:")
    output().print(table)


def machine_text() -> str:
    """Name this machine as far as figures depend on it."""
    found = inspect_hardware()
    cards = "".join(f", {gpu.name}" for gpu in found.gpus)
    memory = f"{found.memory_bytes / 2**30:.0f} GiB"
    return f"{found.cpu_name or found.machine}, {counted(found.cores, 'core')}, {memory}{cards}"
