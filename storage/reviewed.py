"""Reviews laid over results: what was said of each row, and the values that hold after corrections."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from storage.result_rows import DeliveredRow, ResultRows
from storage.reviews import WHOLE_ROW, RowIdentity, StoredEdit, value_digest

Verdict = Literal["", "accepted", "corrected", "rejected"]
_VERDICTS: Mapping[str, Verdict] = {"accept": "accepted", "correct": "corrected", "reject": "rejected"}


@dataclass(frozen=True, slots=True)
class CellReview:
    """What was said of a cell, or of a row as a whole. `value` counts only when `is_replaced`."""

    verdict: Verdict = ""
    is_replaced: bool = False
    value: Any = None
    note: str = ""
    who: str = ""
    made_at: str = ""


@dataclass(frozen=True, slots=True)
class RowReview:
    """What was said of a row: as a whole, and of its cells by field."""

    whole: CellReview = CellReview()
    cells: Mapping[str, CellReview] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict on the row: its own, else `corrected` or the like when a person judged a cell of it."""
        if self.whole.verdict == "accepted" and any(cell.verdict == "corrected" for cell in self.cells.values()):
            return "corrected"
        return self.whole.verdict or max(
            (cell.verdict for cell in self.cells.values()), key=_WEIGHT.__getitem__, default=""
        )

    @property
    def is_reviewed(self) -> bool:
        """Say whether a person judged the row or a cell of it."""
        return bool(self.verdict)

    @property
    def note(self) -> str:
        """Return all notes: that on the row, then those on cells, each with its field."""
        cells = (f"{name}: {cell.note}" for name, cell in self.cells.items() if cell.note)
        return "\n".join(note for note in (self.whole.note, *cells) if note)

    def values(self, original: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values with corrections in place of what they replace."""
        return {**original, **{name: cell.value for name, cell in self.cells.items() if cell.is_replaced}}


_WEIGHT: Mapping[str, int] = {"": 0, "accepted": 1, "corrected": 2, "rejected": 3}
NO_REVIEW = RowReview()


class ReviewBook:
    """The edits that hold, found by row. Which of them are about a row depends on its values."""

    def __init__(self, edits: Iterable[StoredEdit]) -> None:
        self._by_id: dict[str, list[StoredEdit]] = {}
        self._by_digest: dict[bytes, list[StoredEdit]] = {}
        for edit in edits:
            self._by_id.setdefault(edit.edit.row.id, []).append(edit)
            self._by_digest.setdefault(edit.edit.row.digest, []).append(edit)

    def __len__(self) -> int:
        """Count the edits."""
        return sum(map(len, self._by_id.values()))

    @property
    def row_ids(self) -> set[str]:
        """Return the ids of the rows that edits were made on."""
        return set(self._by_id)

    def edited_in(self, runs: Container[str]) -> set[str]:
        """Return the ids of the rows that edits were made on in some runs."""
        return {id for id, edits in self._by_id.items() if any(edit.run_id in runs for edit in edits)}

    @property
    def identities(self) -> set[RowIdentity]:
        """Return the rows that edits were made on."""
        return {edit.edit.row for edits in self._by_id.values() for edit in edits}

    @property
    def row_digests(self) -> set[bytes]:
        """Return the digests of the rows that edits were made on."""
        return set(self._by_digest)

    def review(self, identity: RowIdentity, values: Mapping[str, Any], here: Container[RowIdentity]) -> RowReview:
        """Say what holds for a row with these original values; NO_REVIEW for one nothing was said of.

        `here` are rows of its run: an edit made on one of them is about that row alone, not about others like it.
        """
        alike = (stored for stored in self._by_digest.get(identity.digest, ()) if stored.edit.row not in here)
        edits = {
            stored.number: stored
            for stored in (*self._by_id.get(identity.id, ()), *alike)
            if _is_about(stored, identity, values)
        }
        if not edits:
            return NO_REVIEW
        cells: dict[str, CellReview] = {}
        for number in sorted(edits):
            edit = edits[number].edit
            cells[edit.field] = _after(cells.get(edit.field, CellReview()), edits[number])
        whole = cells.pop(WHOLE_ROW, CellReview())
        return RowReview(whole, {name: cell for name, cell in cells.items() if cell != CellReview()})


def edited_rows(results: ResultRows, run_id: str, book: ReviewBook) -> frozenset[RowIdentity]:
    """Return the rows of a run on which edits of the book were made."""
    if not len(book):
        return frozenset()
    columns = results.columns(run_id)
    numbers = results.numbers_among(run_id, book.row_ids)
    return frozenset(row.identity(columns) for row in results.read(run_id, numbers=numbers))


def reviews_of_rows(
    rows: Iterable[DeliveredRow], columns: Sequence[str], book: ReviewBook, here: Container[RowIdentity]
) -> dict[int, RowReview]:
    """Say by number what holds for some rows of a run; rows that nothing was said of are left out.

    `here` are the rows of the run on which edits of the book were made (`edited_rows`).
    """
    reviews = {row.number: book.review(row.identity(columns), row.values, here) for row in rows}
    return {number: review for number, review in reviews.items() if review is not NO_REVIEW}


def _is_about(stored: StoredEdit, identity: RowIdentity, values: Mapping[str, Any]) -> bool:
    if stored.edit.row.digest == identity.digest:
        return True
    if stored.edit.field == WHOLE_ROW:
        return False
    return stored.value_digest == value_digest(values.get(stored.edit.field))


def _after(before: CellReview, stored: StoredEdit) -> CellReview:
    edit = stored.edit
    signed = replace(before, who=stored.who, made_at=stored.made_at)
    match edit.kind:
        case "clear":
            return CellReview(note=before.note, who=stored.who, made_at=stored.made_at) if before.note else CellReview()
        case "note":
            return replace(signed, note=edit.note)
        case "rename":  # it may give back the name that the row had at first
            is_other = edit.value != edit.original
            return replace(signed, is_replaced=is_other, value=edit.value if is_other else None)
        case "correct":
            return replace(signed, verdict="corrected", is_replaced=True, value=edit.value)
        case _:
            return replace(signed, verdict=_VERDICTS[edit.kind])
