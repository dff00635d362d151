"""`redwell eval TASK --build`: the optimised pipeline of a task, from documents that are not scored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.cli.build_watch import choose_build_watch
from engine.cli.console import messages, span_text
from engine.cli.interrupting import run_interruptible
from engine.executor.run import RunOptions
from engine.executor.translation import open_case
from engine.optimizer.build_options import BuildOptions, check_minutes
from engine.worker.builds import BuildJob, make_ready_build, run_build
from engine.worker.jobs import NewModels
from evaluation.running import document_ids
from evaluation.task import Task
from evaluation.tried import Tried, tried_plans


@dataclass(frozen=True)
class BuildOrder:
    """A build as ordered: `out` is the file for the pipeline, the report goes beside it; `seed` draws the sample."""

    out: Path
    minutes: float
    seed: int = 0

    def __post_init__(self) -> None:
        check_minutes(self.minutes)


@dataclass(frozen=True)
class Built:
    """The pipeline that was chosen, and the seconds it took to find; `tried` are the plans beside gold, if several."""

    pipeline: Path
    seconds: float
    tried: Tried | None


def build_for(
    task: Task,
    pipeline: Path,
    order: BuildOrder,
    *,
    folder: Path,
    data: Path | None,
    options: RunOptions,
    new_models: NewModels,
) -> Built:
    """Look for a better pipeline on the task's sample: no gold, and no document that is scored, is in `folder`.

    When it is found, the plans that were tried are scored by the sample's gold.
    Raises what `redwell build` raises, and KeyboardInterrupt when it was stopped.
    """
    inputs = task.write_inputs("sample", folder / f"{task.name}-sample", data)
    job = BuildJob(
        pipeline=pipeline,
        case=folder / f"{task.name}-build.redwell",
        out=order.out,
        inputs=inputs,
        report=order.out.with_suffix(".html"),
        options=BuildOptions(options.settings, order.minutes, seed=order.seed),
    )
    models = new_models()
    ready = make_ready_build(job, models)
    watch = choose_build_watch(quiet=False, json_events=False)
    with open_case(job.case) as case, watch:
        result = run_interruptible(run_build(ready, case, models, watch.take))
        rows = result.search.evaluation.sample.datasets[task.dataset]
        tried = tried_plans(result, task, task.documents("sample", data), document_ids(case, rows, task))
    is_own = result.choice.plan == result.user.id
    said = f"{result.choice.reason}; {span_text(result.seconds)}; {order.out}"
    messages().print(f"  {'your own plan stays' if is_own else 'a better plan'}: {said}", markup=False, soft_wrap=True)
    return Built(order.out, result.seconds, tried)
