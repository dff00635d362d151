"""What an evaluation found: mean and spread of each figure, the plans side by side, and the whole as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from evaluation.running import Measured
from evaluation.task import Task
from evaluation.tried import Tried

COSTS = ("seconds", "calls", "read_tokens", "written_tokens", "failed")


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation (n - 1; 0 of a single run) of a figure over the seeds."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Sum up one figure of all seeds."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else 0.0)

    def __str__(self) -> str:
        digits = 3 if abs(self.mean) < 100 else 0
        return f"{self.mean:,.{digits}f}" + (f" ± {self.deviation:,.{digits}f}" if self.deviation else "")


@dataclass(frozen=True)
class PlanFigures:
    """All runs of one plan. `pipeline` is its YAML."""

    title: str
    pipeline: str
    runs: tuple[Measured, ...]

    def figures(self) -> dict[str, Spread]:
        """Sum up the task's figures over the seeds."""
        return {name: Spread.of([run.figures[name] for run in self.runs]) for name in self.runs[0].figures}

    def costs(self) -> dict[str, Spread]:
        """Sum up what the runs took."""
        return {name: Spread.of([float(getattr(run, name)) for run in self.runs]) for name in COSTS}


@dataclass(frozen=True)
class Report:
    """One evaluation: the task, on which documents, with which model and machine, and each plan's figures.

    `build_seconds` is what it took to find the last plan, `tried` what it was chosen from; None where it was given.
    `side_by_side`: the seeds shared a model, and each one's seconds are its share of those of all.
    """

    task: Task
    documents: tuple[str, ...]
    split: str
    model: str
    machine: str
    date: str
    temperature: float | None
    plans: tuple[PlanFigures, ...]
    build_seconds: float | None = None
    tried: Tried | None = None
    side_by_side: bool = False

    def rows(self) -> list[tuple[str, ...]]:
        """Lay the plans side by side: a figure a row, the main one first, and second over first where there are two."""
        columns = [{**plan.figures(), **plan.costs()} for plan in self.plans]
        names = sorted(columns[0], key=lambda name: name != self.task.main_metric)
        return [(self._label(name), *(str(c[name]) for c in columns), *_ratio(columns, name)) for name in names]

    def _label(self, name: str) -> str:
        marks = ["main"] if name == self.task.main_metric else []
        marks += ["lower is better"] if name in self.task.lower_is_better else []
        return name.replace("_", " ") + (f" ({', '.join(marks)})" if marks else "")

    def to_json(self) -> str:
        """Write everything, each run with all of its figures."""
        body = {
            "task": self.task.name,
            "main_metric": self.task.main_metric,
            "split": self.split,
            "documents": list(self.documents),
            "model": self.model,
            "machine": self.machine,
            "date": self.date,
            "temperature": self.temperature,
            "side_by_side": self.side_by_side,
            "build_seconds": self.build_seconds,
            "tried": self.tried.body() if self.tried else None,
            "plans": [_plan(plan) for plan in self.plans],
        }
        return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def _plan(plan: PlanFigures) -> dict[str, Any]:
    summary = {**plan.figures(), **plan.costs()}
    return {
        "title": plan.title,
        "mean": {name: one.mean for name, one in summary.items()},
        "deviation": {name: one.deviation for name, one in summary.items()},
        "runs": [asdict(run) for run in plan.runs],
        "pipeline": plan.pipeline,
    }


def _ratio(columns: Sequence[Mapping[str, Spread]], name: str) -> tuple[str, ...]:
    if len(columns) < 2:
        return ()
    first, second = columns[0][name].mean, columns[1][name].mean
    return (f"{second / first:.2f}" if first else "",)
