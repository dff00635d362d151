"""Which runs of a case asked the same question, of whatever documents, and which rows of a run are new since then."""

from __future__ import annotations

import io
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache

from ruamel.yaml import YAML

from engine.results.shown import PairKind
from storage.case import Case
from storage.result_rows import ResultRows
from storage.runs import Runs, StoredRun

KINDS: tuple[PairKind, ...] = ("same_as", "keep_apart")
"""Keys under which a pipeline holds decisions about names."""
_MARKS = ("tags", "starred", "words", "documents")
_SAID = ("clarified", "clarified_for")
_KEPT = 256
_KEPT_RUNS = 4


def runs_of_question(runs: Runs, run_id: str) -> list[StoredRun]:
    """Return the finished runs of the question that a run asks, in the order of their start; raises NotInCase."""
    wanted = question_text(runs.get(run_id).pipeline_yaml)
    finished = (run for run in runs.all() if run.status == "finished")
    return [run for run in finished if question_text(run.pipeline_yaml) == wanted]


@lru_cache(_KEPT)
def question_text(pipeline: str) -> str:
    """Write a pipeline without what does not change its question: the choice of documents, and later decisions.

    A person decides about pairs of names, and about what questions mean (`clarified`, `clarified_for`). One `question`
    is a list of one, for it becomes that when she says what it means.
    """
    root = YAML(typ="safe").load(io.StringIO(pipeline))
    if not isinstance(root, Mapping):
        return pipeline
    for dataset in root.get("datasets", {}).values():
        for mark in _MARKS:
            dataset.pop(mark, None)
    for operation in root.get("operations", ()):
        for kind in KINDS:
            operation.pop(kind, None)
        if "question" in operation:
            operation["questions"] = [{"question": operation.pop("question")}]
        for asked in operation.get("questions", ()):
            for said in _SAID:
                asked.pop(said, None)
    return json.dumps(root, sort_keys=True, default=str)


_kept: OrderedDict[tuple[str, str, str], frozenset[str] | None] = OrderedDict()
_guard = threading.Lock()


def new_rows(case: Case, run_id: str) -> frozenset[str] | None:
    """Return the ids of the rows that are new; None where there was no earlier run of the question.

    A row is not new where an earlier run has one of the same id, or with the same values from the same documents.
    Earlier runs may have read other documents: what was asked alone is not new when all are asked again.
    Raises as `result_columns` does.
    """
    run = case.runs.get(run_id)
    key = str(case.path), run_id, run.finished_at or ""
    with _guard:
        if key in _kept:
            return _kept[key]
    ids = _compare(case, run_id)
    if run.finished_at:
        with _guard:
            _kept[key] = ids
            while len(_kept) > _KEPT_RUNS:
                _kept.popitem(last=False)
    return ids


def _compare(case: Case, run_id: str) -> frozenset[str] | None:
    results = case.runs.results(run_id)
    before = [run.id for run in runs_of_question(case.runs, run_id) if int(run.id) < int(run_id)]
    earlier = {id: delivered.row_ids for id in before if (delivered := case.runs.results(id)) is not None}
    if results is None or not earlier:
        return None
    fresh = set(results.row_ids).difference(*earlier.values())
    if not fresh:
        return frozenset()
    known = {digest for id in earlier for digest in _digests(case.result_rows, id).values()}
    digests = _digests(case.result_rows, run_id)
    return frozenset(id for id, digest in digests.items() if id in fresh and digest not in known)


def _digests(result_rows: ResultRows, run_id: str) -> Mapping[str, bytes]:
    columns = result_rows.columns(run_id)
    return {row.id: row.identity(columns).digest for row in result_rows.read(run_id)}
