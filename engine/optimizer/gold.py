"""Score outputs against what people know: gold answers, or rows that a reviewer accepted, corrected or rejected.

From LEAST_ROWS on such rows plans are rated by them alone (docs/decisions/0020).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.language.writer import to_yaml
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.values import NOTHING, Leaf, Overlap, likeness, output_values, overlap_by_field, values_by_field
from engine.plan.plan import Plan
from engine.results.gold import GoldRow, gold_rows
from engine.results.same_question import question_text
from engine.rows import DocumentId, RowId
from storage.case import Case

LEAST_ROWS = 5
"""Rows that must be known of the sample."""

_DEFAULT_MODEL = re.compile(r"^default_model:.*\n", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class GoldRecord:
    """What is known of one sample row: the answers it should have, and those that it should not.

    `is_complete`: every other answer is wrong. Where a reviewer saw only some rows of a document, it is not, and an
    answer of which nothing is known counts neither way.
    """

    wanted: tuple[Mapping[str, Any], ...]
    unwanted: tuple[Mapping[str, Any], ...] = ()
    is_complete: bool = True

    @property
    def rows(self) -> int:
        """Return how many rows are known; that there should be none is known of one."""
        return len(self.wanted) + len(self.unwanted) or 1


@dataclass(frozen=True, kw_only=True)
class GoldScore:
    """How an output does against gold: means over the sample rows of which something is known, each 0 to 1."""

    rows: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Gold:
    """What is known of sample rows, by their id."""

    records: Mapping[RowId, GoldRecord]

    def score(self, output: PlanOutput) -> GoldScore | None:
        """Score an output by the F1 of its values, field by field, in each sample row, and take the mean.

        None where fewer than LEAST_ROWS rows are known of its sample, or it writes no field that gold knows.
        """
        known = {id: self.records[id] for id in output.inputs if id in self.records}
        fields = _comparable_fields(output, known)
        scored = [(record, _overlap(output, id, record, fields)) for id, record in known.items()] if fields else []
        overlaps = [overlap for _, overlap in scored if overlap is not None]
        rows = sum(record.rows for record, overlap in scored if overlap is not None)
        if rows < LEAST_ROWS:
            return None
        return GoldScore(
            rows=rows,
            precision=sum(overlap.precision for overlap in overlaps) / len(overlaps),
            recall=sum(overlap.recall for overlap in overlaps) / len(overlaps),
            f1=sum(overlap.f1 for overlap in overlaps) / len(overlaps),
        )


def reviewed_run(case: Case, plan: Plan) -> str | None:
    """Return the last run with results that asked what a plan asks, whichever model answered; None where none did.

    What a person said of the rows of another question is no answer to this one.
    """
    wanted = _asked(to_yaml(plan))
    delivered = (run for run in reversed(case.runs.all()) if case.runs.has_results(run.id))
    return next((run.id for run in delivered if _asked(run.pipeline_yaml) == wanted), None)


def _asked(pipeline: str) -> str:
    return question_text(_DEFAULT_MODEL.sub("", pipeline))


def reviewed_gold(case: Case, run_id: str, sample: Mapping[DocumentId, RowId]) -> Gold:
    """Take what reviewers said of a run's rows as gold for the sample rows of the same documents.

    A document of which every row was judged as a whole is known completely, but where a cell of a row that was accepted
    was rejected: what belongs there is not known. Raises as gold_rows.
    """
    columns = frozenset(case.result_rows.columns(run_id))
    judged = {row.row_id: row for row in gold_rows(case, run_id)}
    rows: dict[RowId, list[GoldRow]] = {}
    incomplete: set[RowId] = set()
    for delivered in case.result_rows.read(run_id):
        gold_row = judged.get(delivered.id)
        for source in (sample[DocumentId(name)] for name in delivered.documents if name in sample):
            if gold_row is not None:
                rows.setdefault(source, []).append(gold_row)
            if gold_row is None or not columns <= set(gold_row.judged) or not _is_of_one_kind(gold_row):
                incomplete.add(source)
    return Gold({source: _record(known, source not in incomplete) for source, known in rows.items()})


def _is_of_one_kind(row: GoldRow) -> bool:
    """Say whether all that was judged of a row is right, or all of it wrong."""
    return not row.rejected or row.rejected == row.judged


def _record(rows: list[GoldRow], is_complete: bool) -> GoldRecord:
    right = ({name: row.values.get(name) for name in row.judged if name not in row.rejected} for row in rows)
    wrong = ({name: row.values.get(name) for name in row.rejected} for row in rows)
    return GoldRecord(
        wanted=tuple(values for values in right if values),
        unwanted=tuple(values for values in wrong if values),
        is_complete=is_complete,
    )


def _comparable_fields(output: PlanOutput, known: Mapping[RowId, GoldRecord]) -> frozenset[str]:
    """Return the fields of gold that the output writes; all of gold's where it has no row at all.

    Where gold knows that there is nothing (no row, so no field either), every field of the output counts.
    """
    rows = [row for record in known.values() for row in (*record.wanted, *record.unwanted)]
    fields = frozenset(name for row in rows for name in row)
    written = frozenset(cell.field for row in output.rows for cell in row.cells)
    if not fields or not written:
        return fields or written or frozenset(NO_FIELD)
    return fields & written


NO_FIELD = ("",)
"""Stands for the fields of an output without rows, against gold without rows."""


def _overlap(output: PlanOutput, source: RowId, record: GoldRecord, fields: frozenset[str]) -> Overlap | None:
    """Compare what a plan made of a sample row with what is known; None where nothing is known of these fields."""
    answers = _of_fields(output_values(output.rows_of(source)), fields)
    wanted = _of_fields(values_by_field(dict(row) for row in record.wanted), fields)
    both = overlap_by_field(answers, wanted)
    if record.is_complete:
        return _nothing_is_right(both)
    unwanted = _of_fields(values_by_field(dict(row) for row in record.unwanted), fields)
    if not wanted and not unwanted:
        return None
    wrong = overlap_by_field(answers, _without(unwanted, wanted)).right
    return Overlap(both.right, both.right + wrong, both.wanted)


def _nothing_is_right(both: Overlap) -> Overlap:
    """Count an answer that rightly says nothing as one that is right."""
    return Overlap(1.0, 1.0, 1.0) if both == NOTHING else both


def _of_fields(values: Mapping[str, list[Leaf]], fields: frozenset[str]) -> dict[str, list[Leaf]]:
    """Keep the values of some columns: `acts.date` is one of the column `acts`."""
    return {path: leaves for path, leaves in values.items() if path.split(".")[0].split("[")[0] in fields}


def _without(values: Mapping[str, list[Leaf]], others: Mapping[str, list[Leaf]]) -> dict[str, list[Leaf]]:
    """Leave out values that are also among others: a date may be right in one row and wrong in another."""
    return {
        path: [leaf for leaf in leaves if not any(likeness(leaf, other) > 0 for other in others.get(path, ()))]
        for path, leaves in values.items()
    }
