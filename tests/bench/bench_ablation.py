"""What every rewrite is worth by itself: a task's pipeline, and the same with one directive applied, by gold.

    redwell bench ablation                     # every task, every directive that fits; many hours on two cores
    REDWELL_BENCH_TASKS='police' REDWELL_BENCH_DIRECTIVES='second_reading;held_types' REDWELL_BENCH_DOCUMENTS=12 \\
        REDWELL_BENCH_DATA=tests/bench/eval/police_files REDWELL_BENCH_PIPELINE=tests/bench/eval/police_list.yaml \\
        REDWELL_BENCH_OUT=FOLDER redwell bench ablation

A directive is applied with the parameters of its templates, where it fits, the last place first, each place by itself.
The scored documents (`dev`) at temperature 0. All plans of a task share a case, so what two plans ask alike is asked
once: tokens are those that a plan needed beyond the plans above it in the table. Patterns are separated by semicolons.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

import pytest
from evaluation.running import Measured, Runner, Seeds
from evaluation.task import Task
from evaluation.tasks import load_task, task_names

from engine.cli.build import new_models
from engine.directives.base import Facts, node_at, places
from engine.directives.registry import DIRECTIVES, matching
from engine.errors import RedwellError
from engine.executor.run import RunOptions
from engine.executor.translation import open_case
from engine.language.checks import check
from engine.loader import Loaded
from engine.optimizer.evaluating import identifiers, seen_answers, typical_tokens
from engine.optimizer.outputs import OutputCell, OutputRow, PlanOutput
from engine.plan.plan import Plan
from engine.rows import Row, RowId
from engine.worker.jobs import load_with_inputs

CONTEXT_TOKENS = 32_768
"""Of the default model, where memory allows."""


@dataclass(frozen=True)
class OneCase(Runner):
    """Runs all plans in one case."""

    def _case(self, loaded: Loaded) -> Path:
        return self.folder / "all.redwell"


def test_ablation() -> None:
    for name in task_names():
        if _wanted("TASKS", name):
            _measure(load_task(name))


def _measure(task: Task) -> None:
    data = Path(os.environ["REDWELL_BENCH_DATA"]).absolute() if os.environ.get("REDWELL_BENCH_DATA") else None
    if count := os.environ.get("REDWELL_BENCH_DOCUMENTS"):
        task = task.fewer("dev", int(count))
    try:
        documents = task.documents("dev", data)
    except RedwellError as error:
        pytest.skip(str(error))
    with tempfile.TemporaryDirectory(prefix="redwell-ablation-") as scratch:
        folder = Path(os.environ.get("REDWELL_BENCH_OUT") or scratch).absolute() / task.name
        inputs = task.write_inputs("dev", folder / "inputs", data)
        own = load_with_inputs(Path(os.environ.get("REDWELL_BENCH_PIPELINE") or task.pipeline), inputs)
        runner = OneCase(
            task=task, documents=documents, folder=folder / "cases", new_models=new_models, options=RunOptions()
        )
        print(f"\n{task.about}: {len(documents)} documents\n\n{_head(task)}")
        print(_line("as written", task, *runner.measure("as written", own, Seeds(1))), flush=True)
        facts = _facts(folder / "cases" / "all.redwell", own.plan, task)
        for title, plan in _rewritten(own.plan, facts):
            try:
                print(_line(title, task, *runner.measure(title, replace(own, plan=plan), Seeds(1))), flush=True)
            except RedwellError as error:
                print(f"| {title} | not run: {error} |", flush=True)


def _rewritten(plan: Plan, facts: Facts) -> Iterator[tuple[str, Plan]]:
    """Apply each wanted directive, one at a time, with its templates."""
    order = [one.name for one in DIRECTIVES]
    found = [
        (one, site, node_at(plan, place).name)
        for place in reversed(places(plan))
        for one, site in matching(plan, place, facts)
        if _wanted("DIRECTIVES", one.name)
    ]
    for one, site, operator in sorted(found, key=lambda each: order.index(each[0].name)):
        title = f"{one.name} at {operator}"
        params = next(iter(one.variants(site)))
        if said := one.check_params(site, params):
            print(f"| {title} | its template is not enough: {'; '.join(said)[:120]} |")
            continue
        after = one.apply(site, params)
        if wrong := [
            problem for problem in check(after, source_fields=facts.source_fields) if problem.severity == "error"
        ]:
            print(f"| {title} | makes no plan: {wrong[0]} |")
            continue
        yield title, after


def _facts(case_path: Path, plan: Plan, task: Task) -> Facts:
    """Tell the directives what a build would know of documents and answers."""
    with open_case(case_path) as case:
        latest = case.runs.latest()
        assert latest is not None  # the plan as written has run
        run = latest.id
        rows = list(case.rows.of_operator(run, task.dataset))
        inputs = {RowId(row.id): dict(row.values) for row in rows}
        result = case.runs.results(run)
        known = set().union(*inputs.values()) if inputs else set()
        seen = []
        for row_id in result.row_ids if result else ():
            values: Mapping[str, object] = case.rows.get(run, row_id).values
            lineage = {row_id, *(relative.id for relative in case.rows.ancestors(run, row_id))}
            cells = tuple(OutputCell(field=name, value=value) for name, value in values.items() if name not in known)
            seen.append(OutputRow(id=RowId(row_id), cells=cells, sources=tuple(id for id in inputs if id in lineage)))
    output = PlanOutput(plan=plan, inputs=inputs, rows=tuple(seen))
    typed = [Row(RowId(row.id), row.values) for row in rows]
    return Facts(
        context_tokens=CONTEXT_TOKENS,
        models=("qwen2.5-coder-0.5b",),
        field_tokens=typical_tokens(typed),
        source_fields={task.dataset: tuple(sorted(known))},
        answers=seen_answers(output),
        identifiers=identifiers(typed),
    )


def _head(task: Task) -> str:
    columns = ("plan", task.main_metric, "other figures", "calls", "tokens read", "written", "seconds", "failed")
    return f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|"


def _line(title: str, task: Task, run: Measured) -> str:
    others = ", ".join(f"{name} {value:.3g}" for name, value in run.figures.items() if name != task.main_metric)
    return (
        f"| {title} | {run.figures[task.main_metric]:.3f} | {others} | {run.calls} | {run.read_tokens} "
        f"| {run.written_tokens} | {run.seconds:.0f} | {run.failed} |"
    )


def _wanted(kind: str, name: str) -> bool:
    return any(fnmatch(name, part.strip()) for part in (os.environ.get(f"REDWELL_BENCH_{kind}") or "*").split(";"))
