"""Improving a question: what is chosen before a build, its plans while it goes on and after it, and the use of one."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from engine.directives.registry import DIRECTIVES
from engine.disk import questions_folder
from engine.errors import UsageError
from engine.estimate.total import forecast
from engine.executor.run import refuse_problems
from engine.loader import load_pipeline, parse_pipeline
from engine.optimizer.gold import LEAST_ROWS, reviewed_run
from engine.optimizer.report import as_file
from engine.optimizer.signals import checkable_fields
from engine.plan.plan import Plan
from engine.results.gold import gold_rows
from engine.worker.contract import build as contract
from engine.worker.contract.build import (
    BuildFiles,
    BuildSetup,
    Finalist,
    LastBuild,
    PartRatings,
    PlanDetails,
    PlanSummary,
    PlanWords,
    SideBySide,
)
from engine.worker.contract.queue import Question
from engine.worker.queries.desk import Desk
from engine.worker.queries.pipeline_files import write_file
from engine.worker.queries.registry import query
from models.paths import expanded


@query(contract.DIRECTIVES)
def directives(desk: Desk) -> list[PlanWords]:
    """List what plans are rewritten by, in words."""
    return [
        PlanWords(directive.name, directive.name.replace("_", " ").capitalize(), directive.purpose)
        for directive in DIRECTIVES
    ]


@query(contract.SETUP, lane="slow")
def setup(desk: Desk, *, case: str, pipeline: str, model: str = "") -> BuildSetup:
    """Say what a build of a pipeline file starts from; raises PipelineError for one that cannot run."""
    loaded = load_pipeline(Path(pipeline))
    refuse_problems(loaded)
    total = forecast(loaded, case=Path(case), model=model, with_kept=True)
    seconds = total.seconds if total.seconds is not None and math.isfinite(total.seconds) else None
    return BuildSetup(
        pipeline=str(expanded(pipeline).resolve()),
        reviewed=_reviewed(desk, case, loaded.plan),
        least_reviewed=LEAST_ROWS,
        checkable=checkable_fields(loaded.plan),
        calls=total.calls,
        seconds=seconds,
        model=total.model,
    )


@query(contract.PREPARE)
def prepare(desk: Desk, *, case: str, pipeline: str) -> BuildFiles:
    """Return the files that the command `build` is to be given; their folder is made. Raises UsageError."""
    files = build_files(Path(case), Path(pipeline))
    folder = Path(files.out).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the folder {folder} cannot be made: {error.strerror}",
            advice="Free some disk space, or get permission to write there.",
        ) from error
    return files


@query(contract.LAST, lane="slow")
def last(desk: Desk, *, case: str, pipeline: str) -> LastBuild | None:
    """Return how the last build of a pipeline ended and its plans, without their texts; None where there was none."""
    files = build_files(Path(case), Path(pipeline))
    body = read_report(files)
    if body is None:
        return None
    return contract.LAST.decode(
        {
            **_part_of(LastBuild, {**body, **body["reuse"]}),
            "sample": body["sample"]["rows"],
            "rows": body["sample"]["of"],
            "points": [_part_of(Finalist, point) for point in body["points"]],
            "plans": [_summary(body, plan) for plan in body["plans"]],
            "report": files.report,
        }
    )


@query(contract.PLAN, lane="slow")
def plan(desk: Desk, *, case: str, pipeline: str, plan: int) -> PlanDetails:
    """Return one plan, of the build that goes on or of the last one. Raises UsageError."""
    body = _plan(desk, case, pipeline, plan)
    ratings = [
        {"is_whole": False, **_part_of(PartRatings, {**part, **entry})}
        for part in _parts(desk, case, pipeline)
        for entry in part["entries"]
        if entry["plan"] == plan
    ]
    return contract.PLAN.decode({**_part_of(PlanDetails, body), "ratings": ratings})


@query(contract.OUTPUTS, lane="slow")
def outputs(desk: Desk, *, case: str, pipeline: str, left: int, right: int, document: str = "") -> SideBySide:
    """Return what two plans wrote of a sample document, "" for the first one that both were tried on."""
    for part in reversed(_parts(desk, case, pipeline)):
        body = part["outputs"]
        mine, theirs = (body["plans"].get(str(id)) for id in (left, right))
        if mine is None or theirs is None:
            continue
        documents = tuple((sample["id"], sample["name"]) for sample in body["documents"])
        chosen = document if document in dict(documents) else next(iter(dict(documents)), "")
        nothing: dict[str, Any] = {"rows": [], "rejected": ""}
        first, second = (side["documents"].get(chosen, nothing) for side in (mine, theirs))
        return SideBySide(
            operators=tuple(part["operators"]),
            documents=documents,
            document=chosen,
            left=tuple(first["rows"]),
            right=tuple(second["rows"]),
            left_reason=first["rejected"],
            right_reason=second["rejected"],
        )
    return SideBySide((), (), "", (), (), "", "")


@query(contract.USE)
def use(desk: Desk, *, case: str, pipeline: str, plan: int) -> Question:
    """Write a plan as a pipeline of its own among those of the case, under a name that no other has.

    The same plan is not written twice. Raises UsageError.
    """
    body = _plan(desk, case, pipeline, plan)
    files, folder = build_files(Path(case), Path(pipeline)), questions_folder(Path(case))
    loaded = parse_pipeline(body["yaml"], directory=Path(files.out).parent)
    text = as_file(loaded.plan, loaded, folder)
    for path in _names(folder, Path(pipeline).stem):
        if not path.exists() or path.read_bytes() == text.encode():
            saved = write_file(path, text, before="", overwrite=True)
            return Question(saved.name, saved.path)
    raise AssertionError("there are names without end")


def _names(folder: Path, stem: str) -> Iterable[Path]:
    yield folder / f"{stem} improved.yaml"
    yield from (folder / f"{stem} improved {number}.yaml" for number in itertools.count(2))


def _plan(desk: Desk, case: str, pipeline: str, id: int) -> dict[str, Any]:
    live = desk.build_of(pipeline)
    if live is not None:
        entry = live.plan(id)
    else:
        body = read_report(build_files(Path(case), Path(pipeline))) or {"plans": []}
        entry = next((item for item in body["plans"] if item["id"] == id), None)
    if entry is None:
        raise UsageError(f"{Path(pipeline).stem} has no plan {id}", advice="Improve the question again.")
    return entry


def _parts(desk: Desk, case: str, pipeline: str) -> list[dict[str, Any]]:
    """Return the parts that plans were tried on; whole plans, where they were compared, come last."""
    live = desk.build_of(pipeline)
    if live is not None:
        return live.parts()
    body = read_report(build_files(Path(case), Path(pipeline))) or {}
    return [*body.get("parts", ()), *([{**body["whole"], "is_whole": True}] if body.get("whole") else ())]


def _reviewed(desk: Desk, case: str, plan: Plan) -> int:
    """Count the rows that people judged of the last run of a question with results."""
    opened = desk.reading(case)
    run = reviewed_run(opened, plan)
    return len(gold_rows(opened, run)) if run else 0


# -- reports ---------------------------------------------------------------------------------------------------------


def _part_of(kind: type[Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a report part that a dataclass of the contract declares."""
    return {field.name: body[field.name] for field in fields(kind) if field.name in body}


def _summary(body: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """Sum up a plan, with its rating on the most rows; of the comparison of whole plans, where it was in that."""
    parts = [*body["parts"], *([body["whole"]] if body["whole"] else ())]
    entries = [entry for part in parts for entry in part["entries"] if entry["plan"] == plan["id"]]
    rated = [entry for entry in entries if entry["ratings"]]
    best = max(rated, key=lambda entry: entry["ratings"][-1]["rows"], default=None)
    last = best["ratings"][-1] if best else None
    return {
        **_part_of(PlanSummary, plan),
        "score": last["score"] if last else None,
        "rows": last["rows"] if last else 0,
        "seconds": best["seconds"] if best else None,
    }


FOLDER = "improved"


def build_files(case: Path, pipeline: Path) -> BuildFiles:
    """Return the files of builds of a pipeline; none need be there.

    Those of a pipeline that lies elsewhere have a digest of its path in their names, for its name may be taken.
    """
    questions = questions_folder(case)
    stem = pipeline.stem
    if pipeline.parent.resolve() != questions.resolve():
        stem += f" {hashlib.sha256(str(pipeline.resolve()).encode()).hexdigest()[:8]}"
    folder = questions / FOLDER
    names = (f"{stem}.yaml", f"{stem}.html")
    return BuildFiles(*(str(folder / name) for name in names))


_REPORTED: Final = frozenset(
    {"own", "chosen", "reason", "status", "minutes", "seconds", "sample", "reuse", "points", "plans", "parts", "whole"}
)
"""What a report of this version has."""


def read_report(files: BuildFiles) -> dict[str, Any] | None:
    """Read the report of the last build, None where there is none; raises UsageError for a damaged one."""
    try:
        body = json.loads(files.report_json.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the report {files.report_json} cannot be read: {error}",
            advice="Delete that file, or improve the question again.",
        ) from error
    if not isinstance(body, dict) or not isinstance(body.get("plans"), list):
        raise UsageError(f"{files.report_json} is not a report of improving", advice="Delete that file.")
    if missing := _REPORTED - body.keys():
        raise UsageError(
            f"{files.report_json} was written by another version: it lacks {', '.join(sorted(missing))}",
            advice="Improve the question again.",
        )
    return body
