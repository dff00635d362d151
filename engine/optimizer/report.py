"""The report of a build: every plan that was considered, what was changed, how it was rated, what it takes."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any

from jinja2 import Environment, StrictUndefined

from engine.language.writer import to_yaml
from engine.loader import Loaded
from engine.optimizer.build import BuildResult
from engine.optimizer.candidates import Candidate, Contest, Entry
from engine.optimizer.frontier import Point
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.rating import Rating
from engine.optimizer.search import Search
from engine.plan.dataset import Dataset
from engine.plan.plan import Plan
from engine.rows import RowId
from models.paths import expanded
from storage.codec import dump_json
from storage.export.atomic import replacing

# Plans as pipeline files that a person reads and runs, beside the one that was given.


def as_file(plan: Plan, given: Loaded, folder: Path) -> str:
    """Write a rewritten plan as YAML for a file in `folder`.

    Datasets, default model and output are as the user's file `given` says, and mean the same from that folder: what a
    build was given for the time being (--input, --model) is no part of the pipeline.
    """
    user = given.plan
    datasets = tuple(_moved(user.dataset(d.name), given.directory, folder) for d in plan.datasets)
    output = user.output
    if output.path:
        output = replace(output, path=_moved_path(output.path, given.directory, folder))
    if output.intermediate_dir:
        output = replace(output, intermediate_dir=_moved_path(output.intermediate_dir, given.directory, folder))
    return to_yaml(replace(plan, datasets=datasets, default_model=user.default_model, output=output))


def unified_diff(before: str, after: str) -> str:
    """Return what changed between two plans as YAML, with three lines around each change."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
    return "\n".join(lines)


def _moved(dataset: Dataset, directory: Path, folder: Path) -> Dataset:
    if not dataset.path:
        return dataset
    return replace(dataset, path=_moved_path(dataset.path, directory, folder))


def _moved_path(path: str, directory: Path, folder: Path) -> str:
    """Write a path that starts at `directory` so that it starts at `folder`; an absolute one stays as it is."""
    if expanded(path).is_absolute() or directory.resolve() == folder.resolve():
        return path
    try:
        return Path(os.path.relpath(directory.resolve() / path, folder.resolve())).as_posix()
    except ValueError:  # another drive
        return str(directory.resolve() / path)


CHART_WIDTH, CHART_HEIGHT, CHART_MARGIN = 560.0, 240.0, 40.0
"""Of the picture of accuracy over time, in CSS pixels."""


def report_body(result: BuildResult, given: Loaded, folder: Path) -> dict[str, Any]:
    """Return the report as a JSON object; `given` is the user's pipeline, `folder` where the plans' files would lie."""
    search, options = result.search, result.options
    written = {candidate.id: as_file(candidate.plan, given, folder) for candidate in search.candidates.values()}
    return {
        "pipeline": given.positions.file,
        "status": result.status,
        "chosen": result.choice.plan,
        "own": result.user.id,
        "reason": result.choice.reason,
        "policy": str(options.policy),
        "minutes": options.minutes,
        "seconds": round(result.seconds, 1),
        "spent": {what: round(seconds, 1) for what, seconds in result.search.evaluation.spent.items()},
        "sample": {"rows": result.sample, "of": result.rows, "seed": options.seed},
        "reuse": asdict(result.reuse),
        "points": [_point(point, result) for point in (result.own, *result.points)],
        "plans": [plan_body(candidate, search, written) for candidate in search.candidates.values()],
        "parts": [contest_body(contest) for contest in search.contests],
        "whole": None if result.finals in search.contests else contest_body(result.finals),
    }


def report_json(body: Mapping[str, Any]) -> str:
    """Write a report for programs: one JSON object."""
    return dump_json(body) + "\n"


def report_html(body: Mapping[str, Any]) -> str:
    """Write a report for a reader: one page that needs nothing else; every text of documents and models is escaped."""
    template = files("engine.optimizer").joinpath("report.html").read_text(encoding="utf-8")
    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["share"] = lambda value: f"{value:.2f}"
    made.filters["span"] = _span
    plans = {plan["id"]: plan for plan in body["plans"]}
    return made.from_string(template).render(body, by_id=plans, roots=_children(body), chart=_chart(body))


def write_report(body: Mapping[str, Any], path: Path) -> Path:
    """Write the page at `path` and the JSON beside it (.json); return the path of the latter. Raises ExportError."""
    beside = path.with_suffix(".json")
    for target, text in ((path, report_html(body)), (beside, report_json(body))):
        with replacing(target) as part:
            part.write_text(text, encoding="utf-8", errors="backslashreplace")
    return beside


# -- parts -----------------------------------------------------------------------------------------------------------


def plan_body(candidate: Candidate, search: Search, written: Mapping[int, str]) -> dict[str, Any]:
    """Return what is known of one plan; `written` has its YAML, and that of the plan it was made from, by number."""
    reasons = {made.id: reason for made, reason in search.dropped}
    return {
        "id": candidate.id,
        "parent": candidate.parent,
        "directive": candidate.directive,
        "words": candidate.words,
        "step": candidate.step,
        "depth": candidate.depth,
        "by_model": candidate.by_model,
        "params": candidate.params,
        "complaints": [list(round) for round in candidate.complaints],
        "dropped": reasons.get(candidate.id, ""),
        "operators": [list(step.operators) for step in candidate.plan.steps],
        "yaml": written[candidate.id],
        "diff": unified_diff(written[candidate.parent], written[candidate.id]) if candidate.parent else "",
    }


def contest_body(contest: Contest) -> dict[str, Any]:
    """Return how the plans of a part stand to each other, and what each of them wrote."""
    plan = contest.own.candidate.plan
    return {
        "step": contest.region.step,
        "operators": list(contest.region.operators(plan)),
        "depth": contest.depth,
        "own": contest.own.candidate.id,
        "chosen": contest.chosen.candidate.id if contest.chosen else contest.own.candidate.id,
        "reason": contest.reason,
        "rated_on": contest.level,
        "entries": [_entry(entry) for entry in contest.everyone()],
        "outputs": outputs_body(contest),
    }


def _entry(entry: Entry) -> dict[str, Any]:
    output = entry.output
    return {
        "plan": entry.candidate.id,
        "ratings": [_rating(rows, rating) for rows, rating in sorted(entry.ratings.items())],
        "seconds": round(output.seconds, 1) if output else None,
        "tokens": output.tokens if output else None,
        "failed_rows": list(output.failed) if output else [],
        "trouble": entry.trouble,
    }


def _rating(rows: int, rating: Rating) -> dict[str, Any]:
    return {
        "rows": rows,
        "score": round(rating.score, 3),
        "grounds": [[name, round(share, 3)] for name, share in rating.grounds],
    }


def _point(point: Point, result: BuildResult) -> dict[str, Any]:
    return {
        "plan": point.plan,
        "score": round(point.score, 3),
        "seconds": round(point.seconds, 1),
        "beats_own": point.beats,
        "on_frontier": point in result.front,
    }


# -- pictures --------------------------------------------------------------------------------------------------------


def _children(body: Mapping[str, Any]) -> dict[int | None, list[dict[str, Any]]]:
    """Group the plans by the plan that they were made from; the user's own is the child of none."""
    children: dict[int | None, list[dict[str, Any]]] = {plan["id"]: [] for plan in body["plans"]}
    children[None] = []
    for plan in body["plans"]:
        children[plan["parent"]].append(plan)
    return children


def _chart(body: Mapping[str, Any]) -> dict[str, Any]:
    """Place the finalists: time from left to right, the rating from 1 at the bottom to 4 at the top."""
    points = [point for point in body["points"] if point["score"]]
    most = max((point["seconds"] for point in points), default=0.0) or 1.0
    wide, high = CHART_WIDTH - 2 * CHART_MARGIN, CHART_HEIGHT - 2 * CHART_MARGIN
    dots = [
        {
            **point,
            "x": round(CHART_MARGIN + wide * point["seconds"] / most, 1),
            "y": round(CHART_HEIGHT - CHART_MARGIN - high * (point["score"] - 1) / 3, 1),
        }
        for point in points
    ]
    front = sorted((dot for dot in dots if dot["on_frontier"]), key=lambda dot: float(dot["x"]))
    line = " ".join(f"{dot['x']},{dot['y']}" for dot in front)
    return {"width": CHART_WIDTH, "height": CHART_HEIGHT, "margin": CHART_MARGIN, "dots": dots, "line": line}


def _span(seconds: float | None) -> str:
    """Write a duration for a reader: `48 s`, `3 min`, `2.5 h`."""
    if seconds is None:
        return "not known"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


NAME_CHARACTERS = 60


def outputs_body(contest: Contest) -> dict[str, Any]:
    """Return the outputs of all plans of a contest on the rows that most of them were tried on.

    `documents` are the sample rows with a name to show, in order; `plans` has by plan, and then by sample row, the
    `rows` that were made of it and the reason why it was `rejected` ("" where it was not).
    """
    level = contest.level
    outputs = [(entry, entry.outputs[level]) for entry in contest.everyone() if level in entry.outputs]
    documents = outputs[0][1].inputs if outputs else {}
    return {
        "rows": level,
        "documents": [{"id": id, "name": _name(values)} for id, values in documents.items()],
        "plans": {str(entry.candidate.id): _of_plan(entry, output) for entry, output in outputs},
    }


def _of_plan(entry: Entry, output: PlanOutput) -> dict[str, Any]:
    return {
        "seconds": round(output.seconds, 1),
        "failed": list(output.failed),
        "documents": {id: _of_row(output, id) for id in output.inputs},
    }


def _of_row(output: PlanOutput, source: RowId) -> dict[str, Any]:
    rows = [row.values for row in output.rows_of(source)]
    return {"rows": rows, "rejected": output.rejected.get(source, "")}


def _name(values: Any) -> str:
    """Name a sample row by its file, else by its first short text."""
    if named := values.get("filename") or values.get("path"):
        return PurePath(str(named)).name
    texts = [value for value in values.values() if isinstance(value, str) and value.strip()]
    shortest = min(texts, key=len, default="")
    return " ".join(shortest.split())[:NAME_CHARACTERS]
