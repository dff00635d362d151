"""Repair a case: what can be read of it, row by row, in a new file, and the names of what was lost.

The damaged file is only read. A row whose checksum does not fit is lost, and so is what belongs to it. A line of a
document stays in its place with a mark instead of its text, for lines are counted. Where rows of a run were lost, runs
count as interrupted: running them again makes their rows anew, from the replies that are still there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from storage import passphrases
from storage.case import Case
from storage.checksums import BY_TABLE, COVERED, Covered, checksum
from storage.codec import unpack
from storage.column_types import COLUMNS, RawText, type_is_right
from storage.connection import Connection
from storage.contents import Damaged
from storage.copying import make_part, put, refuse_existing
from storage.custody import BEFORE_ALL, WHY_BROKEN, sound_part
from storage.documents import LINES_PER_DOCUMENT
from storage.errors import CaseDamaged, CaseMissing, StorageError
from storage.verification import PARTS, Naming, Verification, verify_case

LOST_LINE: Final = "[this line was lost: the case was damaged]"
_LARGEST_ROWID: Final = 2**63 - 1
_NOT_COPIED: Final = frozenset({"text_indexes"})
"""Made again when a run needs them."""
_OF_RUNS: Final = frozenset(
    PARTS[table]
    for table in ("operators", "row_ids", "fields", "rows", "lineage", "results", "fates", "decisions", "evidence")
)

Tell = Callable[[str, int], None]
_NO_FACTS: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass
class Repaired:
    """What became of a case: rows that were kept, what was lost (its part and name), and a check of the new case."""

    kept: int = 0
    lost: list[tuple[str, str]] = field(default_factory=list)
    verification: Verification = Verification((), 0)


def repair_case(
    path: Path, out: Path, tell: Tell = lambda what, rows: None, *, facts: Mapping[str, Any] = _NO_FACTS
) -> Repaired:
    """Write what can be read of a case to a new case at `out`; an encrypted one keeps its passphrase.

    The custody log goes on from that of the case, as far as its links hold, with an entry that tells of the repair and
    of what became of the log; `facts` are added to it.

    Raises CaseExists where there is a file at `out`, CaseDamaged where nothing can be read, and what opening a case or
    making the file raises.
    """
    path, out = path.expanduser().resolve(), out.expanduser().resolve()
    refuse_existing(out)
    if not path.is_file():
        raise CaseMissing(f"there is no case at {path}")
    source = Connection(path, read_only=True, damaged=True)
    try:
        repaired = _filled(source, out, tell, facts)
    finally:
        source.close()
    repaired.verification = verify_case(out, tell)
    return repaired


def _filled(source: Connection, out: Path, tell: Tell, facts: Mapping[str, Any]) -> Repaired:
    """Fill a file beside `out`, which gets its name when it is whole: nobody takes what a kill left for a repair."""
    part = make_part(out)
    try:
        if source.is_encrypted:
            passphrases.share(source.path, part)
        with Case(part) as case:
            repair = _Repair(source, case, tell)
            repair.work(facts)
        if not repair.done.kept:
            raise CaseDamaged(f"nothing can be read of {source.path}")
        put(part, out)
    finally:
        passphrases.forget(part)
        for ending in ("", "-wal", "-shm", ".lock"):
            part.with_name(part.name + ending).unlink(missing_ok=True)
    if source.is_encrypted:
        passphrases.share(source.path, out)
    return repair.done


class _Repair:
    """One repair: from a damaged file into an empty case."""

    def __init__(self, source: Connection, case: Case, tell: Tell) -> None:
        self._source = source
        self._case = case
        self._new = case._connection
        self._tell = tell
        self._naming = Naming(source)
        self.done = Repaired()

    def work(self, facts: Mapping[str, Any]) -> None:
        """Copy what is sound, then take out what belongs to something that was lost; note that in the custody log."""
        self._new.execute("PRAGMA foreign_keys = OFF")
        with self._case.transaction():
            for table in BY_TABLE:
                if table not in _NOT_COPIED:
                    self._copy(table)
            self._copy_vectors()
            log = self._copy_custody()
            self._drop_without_values()
            self._drop_orphans()
            self._mark_lines()
            self._number_results_anew()
            self._new.execute("INSERT INTO lines_search (lines_search) VALUES ('rebuild')")
            if any(part in _OF_RUNS for part, _ in self.done.lost):
                self._new.execute("UPDATE runs SET status = 'interrupted' WHERE status = 'finished'")
            sums = {"kept": self.done.kept, "lost": len(self.done.lost)}
            self._case.custody.record("repair", {**sums, "log": log, **facts})
        self._new.execute("PRAGMA foreign_keys = ON")

    def _lose(self, part: str, name: str) -> None:
        self.done.lost.append((part, name))

    # -- copying -------------------------------------------------------------------------------------------------

    def _copy(self, table: str) -> None:
        groups = [covered for covered in COVERED if covered.table == table]
        known = {name for _, name, *_ in self._source.query(f"PRAGMA table_info({table})")}
        if not known:
            return  # a table that the version which made the case did not have
        columns = list(dict.fromkeys(name for covered in groups for name in covered.columns))
        checksums = [covered.checksum for covered in groups if covered.checksum in known]
        # A column that the version which made the case did not have is empty.
        names = ", ".join(f"[{name}]" if name in known else f"NULL AS [{name}]" for name in (*columns, *checksums))
        extra = ["checksum"] if groups[0].is_inserted else []
        insert = (
            f"INSERT OR IGNORE INTO {table} ({', '.join(f'[{name}]' for name in (*columns, *extra))})"
            f" VALUES ({', '.join('?' * (len(columns) + len(extra)))})"
        )
        count = 0
        for row in self._salvaged(groups[0], names):
            values = dict(zip(columns, row, strict=False))
            if checksums and not self._is_whole(groups, values, row[len(columns) :]):
                continue
            if not all(type_is_right(table, name, value) for name, value in values.items()):
                if table != "lines":
                    self._lose(*self._naming.name(Damaged(groups[0], values)))
                continue
            try:
                plain = [_plain(value) for value in values.values()]
            except UnicodeDecodeError:
                self._lose(*self._naming.name(Damaged(groups[0], values)))
                continue
            count += self._new.execute(insert, [*plain, checksum(*plain)] if extra else plain)
            self._tell(PARTS[table], count)
        self.done.kept += count

    def _is_whole(self, groups: list[Covered], values: dict[str, Any], checksums: tuple[Any, ...]) -> bool:
        """Compare a row with its checksums; one that differs is lost, but for a line, which keeps its place."""
        for covered, stored in zip(groups, checksums, strict=True):
            if checksum(*(values[name] for name in covered.columns)) != stored:
                if covered.table != "lines":
                    self._lose(*self._naming.name(Damaged(covered, values)))
                return False
        return True

    def _salvaged(self, covered: Covered, names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table that SQLite can still read."""
        if covered.keys == ("rowid",):
            yield from self._salvaged_by_rowid(covered.table, names)
            return
        kept = set()
        backwards = ", ".join(f"[{key}] DESC" for key in covered.keys)
        for order in (covered.order, backwards):
            sql = f"SELECT {names} FROM {covered.table} ORDER BY {order}"
            try:
                for row in self._source.raw_rows(sql, at_once=1):
                    key = row[: len(covered.keys)]
                    if key in kept:  # met again from the other end
                        return
                    kept.add(key)
                    yield row
            except StorageError as error:
                if order == backwards:
                    self._lose(PARTS[covered.table], f"some: {error}")
            else:
                return

    def _salvaged_by_rowid(self, table: str, names: str) -> Iterator[tuple[Any, ...]]:
        sql = f"SELECT rowid, {names} FROM {table} NOT INDEXED WHERE rowid >= ? ORDER BY rowid"
        start = 0
        while True:
            try:
                for rowid, *row in self._source.raw_rows(sql, [start], at_once=1):
                    start = rowid + 1
                    yield tuple(row)
            except StorageError:
                unreadable = self._seek(table, start)  # found, and what it holds cannot be read
                following = int(unreadable[0][0]) + 1 if unreadable else self._next_readable(table, start)
                if following is None or following > _LARGEST_ROWID:
                    if table != "lines":
                        self._lose(PARTS[table], f"numbers {start} and later, if there were any")
                    return
                if table != "lines":
                    self._lose(PARTS[table], f"numbers {start} to {following - 1}, as far as there were any")
                start = following
            else:
                return

    def _next_readable(self, table: str, start: int) -> int | None:
        """Return the first rowid from which on rows can be read again, by steps that double and then halve."""
        step = 1
        while self._seek(table, start + step) is None:
            step *= 2
            if start + step > _LARGEST_ROWID:
                return None
        low, high = start + step // 2, start + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._seek(table, middle) is not None else (middle, high)
        return high

    def _seek(self, table: str, rowid: int) -> list[tuple[Any, ...]] | None:
        """Return the first rowid from one on, in a list that is empty behind the last; None where it cannot be told.

        It is far away if it is damaged.
        """
        try:
            return self._source.query(
                f"SELECT rowid FROM {table} NOT INDEXED WHERE rowid >= ? ORDER BY rowid LIMIT 1", [rowid]
            )
        except StorageError:
            return None

    def _copy_vectors(self) -> None:
        """Copy vectors as they are; what is damaged is not given out, and computed again (storage.vectors)."""
        if self._source.query("PRAGMA table_info(vectors)"):
            for row in self._salvaged_by_rowid("vectors", "[key], [model], [text], [body]"):
                if not any(isinstance(value, RawText) for value in row):
                    self._new.execute("INSERT OR IGNORE INTO vectors (key, model, text, body) VALUES (?, ?, ?, ?)", row)

    def _copy_custody(self) -> dict[str, Any]:
        """Take over the custody log as far as its links hold; return what became of it, for the log to say."""
        if not self._source.query("PRAGMA table_info(custody)"):
            return {"entries_taken_over": 0, "entries_lost": 0}  # a version that kept no log made the case
        rows = [*self._salvaged_by_rowid("custody", "[number], [entry], [digest], [secret]")]
        entries = sound_part([_log_row(row) for row in rows])
        self._case.custody.take_over(entries)
        for table in ("row_seals", "document_seals"):
            self._copy_seals(table)
        lost = max((row[0] for row in rows if isinstance(row[0], int)), default=0) - len(entries)
        if lost > 0:
            self._lose("custody log", f"entries {len(entries) + 1} and later: {WHY_BROKEN}")
        return {
            "entries_taken_over": len(entries),
            "entries_lost": max(lost, 0),
            "head": entries[-1].digest if entries else BEFORE_ALL,
        }

    def _copy_seals(self, table: str) -> None:
        """Copy what names changed rows and lines. What of it is lost costs only those names."""
        names = [column.name for column in COLUMNS[table]]
        marks = ", ".join("?" * len(names))
        try:
            for row in self._source.raw_rows(f"SELECT {', '.join(names)} FROM {table}", at_once=1):
                if all(map(partial(type_is_right, table), names, row)):
                    self._new.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", [*map(_plain, row)])
        except (StorageError, UnicodeDecodeError):
            return

    # -- what belongs to what was lost ---------------------------------------------------------------------------

    def _drop_without_values(self) -> None:
        """Drop rows that refer to a value that was lost; the reference is inside of a packed column."""
        fields = {key for (key,) in self._new.query("SELECT key FROM fields")}
        for key, row, operator, large in self._new.query(
            "SELECT key, row, operator, large FROM rows WHERE large <> ''"
        ):
            if not fields.issuperset(unpack(large).values()):
                self._lose(*self._naming.name(Damaged(BY_TABLE["rows"], {"row": row, "operator": operator})))
                self._new.execute("DELETE FROM rows WHERE key = ?", [key])
        self._drop("results", "row NOT IN (SELECT row FROM rows)")

    def _drop_orphans(self) -> None:
        """Drop what refers to a row that is not there, until nothing does."""
        links = [(table, link) for table in COLUMNS for link in self._new.query(f"PRAGMA foreign_key_list({table})")]
        dropped = -1
        while dropped:
            dropped = sum(
                self._drop(table, f"[{link[3]}] IS NOT NULL AND [{link[3]}] NOT IN (SELECT [{link[4]}] FROM {link[2]})")
                for table, link in links
            )
        self._new.execute(f"DELETE FROM lines WHERE id / {LINES_PER_DOCUMENT} NOT IN (SELECT key FROM documents)")

    def _drop(self, table: str, where: str) -> int:
        covered = BY_TABLE.get(table)
        if covered is not None:
            names = ", ".join(f"[{name}]" for name in covered.columns)
            for row in self._new.query(f"SELECT {names} FROM {table} WHERE {where}"):
                values = dict(zip(covered.columns, row, strict=True))
                part, name = self._naming.name(Damaged(covered, values))
                self._lose(part, f"{name} (what it belongs to was lost)")
        return self._new.execute(f"DELETE FROM {table} WHERE {where}")

    def _mark_lines(self) -> None:
        """Put a mark in the place of each line that was lost."""
        for key, name, count in self._new.query("SELECT key, filename, line_count FROM documents"):
            start = key * LINES_PER_DOCUMENT
            pages = dict(
                self._new.query(
                    "SELECT id, page FROM lines WHERE id BETWEEN ? AND ?", [start, start + LINES_PER_DOCUMENT - 1]
                )
            )
            page = 1
            for line in range(start + 1, start + count + 1):
                page = pages.get(line, page)
                if line not in pages:
                    values = (line, page, LOST_LINE, None)
                    self._lose(PARTS["lines"], f"{name}, page {page}, line {line - start}")
                    self._new.execute(
                        "INSERT INTO lines (id, page, text, hidden, checksum) VALUES (?, ?, ?, ?, ?)",
                        [*values, checksum(*values)],
                    )

    def _number_results_anew(self) -> None:
        """Close the gaps that lost rows left: positions count from 0."""
        for (run,) in self._new.query("SELECT DISTINCT run FROM results"):
            numbers = self._new.query("SELECT position FROM results WHERE run = ? ORDER BY position", [run])
            for expected, (number,) in enumerate(numbers):
                if number != expected:
                    self._new.execute(
                        "UPDATE results SET position = ? WHERE run = ? AND position = ?", [expected, run, number]
                    )


def _log_row(row: tuple[Any, ...]) -> tuple[Any, Any, Any, Any]:
    """Return an entry of the custody log as storage.custody.sound_part takes it; a text that is none ends the chain."""
    number, entry, digest, secret = row
    line, name = (part.decode("utf-8", "replace") if isinstance(part, RawText) else "" for part in (entry, digest))
    return number, line, name, secret if isinstance(secret, bytes) else b""


def _plain(value: Any) -> Any:
    """Return a value as SQLite takes it; raises UnicodeDecodeError for a text that is none."""
    return value.decode("utf-8") if isinstance(value, RawText) else value
