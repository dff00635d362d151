"""What a case holds, read row by row as it stands in the file: compared with its checksums, and as one digest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from storage.checksums import COVERED, Covered, checksum, encoded
from storage.errors import StorageError
from storage.topic import Topic

NOT_DIGESTED: Final = frozenset({"cache", "text_indexes", "vector_models"})
"""Tables that only save time: what is in them can be made again and is no part of what a case says."""

_LOOK_EVERY: Final = 1000


@dataclass(frozen=True, slots=True)
class Damaged:
    """A row that is not as it was written. `values` are by column, as they are now; a text may be RawText."""

    covered: Covered
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A table that SQLite could not read to its end."""

    table: str
    error: StorageError


class Contents(Topic):
    """The part of a case that reads everything it holds."""

    def digest(self) -> str:
        """Return the SHA-256 of everything the case says, hexadecimal; raises CaseDamaged where it cannot be read.

        Two cases have the same one when their tables hold the same rows, however the files are laid out, encrypted or
        not. It is taken over each table of storage.checksums.COVERED but those of NOT_DIGESTED, in that order: its
        name, and the values of the covered columns of each row in the order of its keys, both as `encoded` writes
        them. Checksums themselves are left out. It takes as long as reading the whole file.
        """
        whole = hashlib.sha256()
        for covered in COVERED:
            if covered.table not in NOT_DIGESTED:
                whole.update(encoded((covered.table, covered.checksum)))
                for values, _ in self._raw_rows(covered):
                    whole.update(encoded(values))
        return whole.hexdigest()

    def damaged_rows(self, told: Callable[[str, int], None]) -> Iterator[Damaged | Unreadable]:
        """Yield every row that its checksum does not fit, and each table that could not be read to its end.

        `told` hears the table and how many rows of it have been read, now and then and at its end.
        """
        for covered in COVERED:
            count = 0
            try:
                for values, stored in self._raw_rows(covered):
                    count += 1
                    if stored != checksum(*values):
                        yield Damaged(covered, dict(zip(covered.columns, values, strict=True)))
                    if not count % _LOOK_EVERY:
                        told(covered.table, count)
            except StorageError as error:
                yield Unreadable(covered.table, error)
            told(covered.table, count)

    def _raw_rows(self, covered: Covered) -> Iterator[tuple[tuple[Any, ...], Any]]:
        names = ", ".join(f"[{name}]" for name in covered.columns)
        sql = f"SELECT {names}, {covered.checksum} FROM {covered.table} ORDER BY {covered.order}"
        for row in self._connection.raw_rows(sql):
            yield row[:-1], row[-1]
