"""Which rows of a run were not there when the same question was run to its end before."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping

from engine.results.same_question import runs_of_question
from storage.case import Case
from storage.result_rows import ResultRows

KEPT = 4

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
            while len(_kept) > KEPT:
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
