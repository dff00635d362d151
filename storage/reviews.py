"""What people say of results: a journal of edits that can be undone, kept apart from what the model said.

An edit names a cell by the row's id (how the row was made) with the value that was looked at, and by a digest of the
row's documents and values. So it holds again for a later run in which the row is made in the same way and the value is
the same, or in which a row of the same documents has the same values; it does not follow a value that changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from storage.checksums import is_whole
from storage.codec import pack, text_of, unpack, unpack_object
from storage.errors import BadRecord, CaseDamaged
from storage.topic import Topic, now

# What makes a result row the same one in another run.

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class RowIdentity:
    """A row by its id, which tells how it was made, and by the digest of its documents and values."""

    id: str
    digest: bytes

    @classmethod
    def of(cls, row_id: str, values: Mapping[str, Any], documents: Iterable[str]) -> RowIdentity:
        """Identify a row; `values` are those of the columns of its table, `documents` ids in any order."""
        return cls(row_id, value_digest([sorted(set(documents)), dict(values)]))


def value_digest(value: Any) -> bytes:
    """Return a digest that two JSON values share when they are equal, whatever the order of their keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()


EditKind = Literal["accept", "correct", "reject", "clear", "note", "rename"]
"""`correct` and `rename` give another value: a person corrects what she has looked at, a rename follows from a decision
about a name and says nothing of the rest of the row. `clear` takes a verdict or correction back."""

WHOLE_ROW = ""
"""The field of an edit that is about all of a row."""

_WITH_VALUE = ("correct", "rename")


@dataclass(frozen=True, slots=True)
class ReviewEdit:
    """One edit to make. `original` is the value that was seen (None for the whole row); `value` what replaces it.

    `note` is the text of a note, empty to take one off.
    """

    row: RowIdentity
    field: str
    kind: EditKind
    original: Any = None
    value: Any = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(EditKind):
            raise BadRecord(f"an edit is one of {', '.join(get_args(EditKind))}, not {self.kind!r}")
        if self.kind in _WITH_VALUE and self.field == WHOLE_ROW:
            raise BadRecord(f"row {self.row.id}: a correction is of one field", advice="Name the field.")


@dataclass(frozen=True, slots=True)
class StoredEdit:
    """An edit that holds. Edits of one `step` were made, and are undone, together."""

    number: int
    step: int
    run_id: str
    edit: ReviewEdit
    value_digest: bytes
    who: str
    made_at: str


@dataclass(frozen=True, slots=True)
class ReviewStep:
    """A step that was made, undone or done again: what it is, in the results of which run, and the cells it touched."""

    number: int
    kind: EditKind
    run_id: str
    cells: tuple[tuple[str, str], ...]


class Reviews(Topic):
    """The part of a case that holds reviews."""

    def save(self, run_id: str, edits: Sequence[ReviewEdit], *, who: str) -> int:
        """Add edits as one step and return its number; steps that were undone are forgotten. Raises NotInCase."""
        self._need_run(run_id)
        with self._connection.transaction():
            self._connection.execute("DELETE FROM review_edits WHERE is_undone = 1")
            step = 1 + self._connection.count("SELECT max(step) FROM review_edits")
            at = now()
            self._connection.execute_many(
                "INSERT INTO review_edits (step, run, row, row_digest, field, value_digest, kind, original, body, who,"
                " made_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        *(step, run_id, edit.row.id, edit.row.digest, edit.field, value_digest(edit.original)),
                        *(edit.kind, pack(edit.original), pack({"value": edit.value, "note": edit.note}), who, at),
                    )
                    for edit in edits
                ),
            )
        return step

    def undo(self) -> ReviewStep | None:
        """Take the last step back and return it; None when there is none."""
        step = self._connection.count("SELECT max(step) FROM review_edits WHERE is_undone = 0")
        return self._mark(step, is_undone=True)

    def redo(self) -> ReviewStep | None:
        """Make the step again that was taken back last, and return it; None when there is none."""
        step = self._connection.count("SELECT min(step) FROM review_edits WHERE is_undone = 1")
        return self._mark(step, is_undone=False)

    def _mark(self, step: int, *, is_undone: bool) -> ReviewStep | None:
        if not step:
            return None
        with self._connection.transaction():
            self._connection.execute("UPDATE review_edits SET is_undone = ? WHERE step = ?", [int(is_undone), step])
        edits = "SELECT kind, run, row, field FROM review_edits WHERE step = ? ORDER BY key"
        rows = self._connection.query(edits, [step])
        kind, run, *_ = rows[0]
        return ReviewStep(step, kind, str(run), tuple((text_of(row), text_of(name)) for _, _, row, name in rows))

    def stamp(self) -> tuple[int, int, int, str]:
        """Return what differs whenever other edits hold: last edit, count of edits, of undone ones, time of the last.

        The numbers alone are not enough: an edit gets that of one which was undone and forgotten.
        """
        row = self._connection.first(
            "SELECT coalesce(max(key), 0), count(*), total(is_undone), coalesce(max(made_at), '') FROM review_edits"
        )
        last, count, undone, made_at = row or (0, 0, 0, "")
        return int(last), int(count), int(undone), text_of(made_at)

    def edits(self) -> list[StoredEdit]:
        """List the edits that hold, first made first."""
        return self._stored(self._connection.query(f"{_SELECT} WHERE is_undone = 0 ORDER BY key"))

    def edits_of(self, identities: Iterable[RowIdentity]) -> list[StoredEdit]:
        """List the edits that hold and may be about these rows, first made first."""
        wanted = list(identities)
        rows: dict[int, tuple[Any, ...]] = {}
        for column, values in (("row", [i.id for i in wanted]), ("row_digest", [i.digest for i in wanted])):
            rows |= {row[0]: row for row in self._query_in(f"{_SELECT} WHERE is_undone = 0 AND {column}", values)}
        return self._stored([rows[key] for key in sorted(rows)])

    def _stored(self, rows: Sequence[tuple[Any, ...]]) -> list[StoredEdit]:
        return [_stored(row) for row in self._whole("an edit of a reviewer", rows)]


_SELECT = (
    "SELECT key, step, run, row, row_digest, field, value_digest, kind, original, body, who, made_at,"
    f" {is_whole(e='review_edits')} FROM review_edits e"
)


def _stored(row: tuple[Any, ...]) -> StoredEdit:
    key, step, run, row_id, row_digest, name, digest, kind, original, body, who, at = row
    said = unpack_object(body)
    if not {"value", "note"} <= said.keys():
        raise CaseDamaged("an edit of a reviewer in the case says no value")
    identity = RowIdentity(text_of(row_id), row_digest)
    edit = ReviewEdit(identity, text_of(name), kind, unpack(original), said["value"], said["note"])
    return StoredEdit(key, step, str(run), edit, digest, text_of(who), at)
