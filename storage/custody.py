"""The custody log: what was done with a case, each entry chained to the one before by SHA-256.

An entry is one line of canonical JSON (sorted keys, UTF-8, no spaces):

    {"body":{"event":"ingest",...},"number":2,"previous":"<SHA-256 of line 1>","time":"2026-11-24T14:00:00.000+00:00"}

Its digest is the SHA-256 of that line, so anybody can check the chain with `sha256sum`. Whoever can write to the file
can write the whole chain anew: what holds against that is a digest of the last entry that has left the machine, in the
manifest of an export (docs/custody.md).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from storage.codec import is_utf8, text_of
from storage.errors import BadRecord, CustodyBroken
from storage.topic import Topic, now

if TYPE_CHECKING:
    from storage.connection import Connection

BEGIN: Final = "begin"
"""The event of every first entry: how much was in the case before, of which the log can say nothing."""

BEFORE_ALL: Final = "0" * 64
"""What the first entry names as the digest of the entry before it."""


@dataclass(frozen=True, slots=True)
class CustodyEntry:
    """One entry. `line` is the text that the digest is of; `secret` stays in the case (see `commitment`)."""

    number: int
    time: str
    body: Mapping[str, Any]
    line: str
    digest: str
    secret: bytes

    @property
    def event(self) -> str:
        """Return what the entry tells of: ingest, run_start, results, run_end, review, export, ..."""
        return str(self.body.get("event", ""))


class Custody(Topic):
    """The part of a case that holds the custody log. Entries are added, never changed."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._bodies: set[bytes] = set()
        """Digests of the bodies of all entries up to `_last`, given by its number and digest."""
        self._last = (0, BEFORE_ALL)

    def record(self, event: str, facts: Mapping[str, Any], *, committed: Any = None) -> CustodyEntry:
        """Add an entry, in the transaction that is open if any, so that it is kept exactly if what it tells of is.

        `committed` is a value that the entry binds without showing it (see `commitment`).
        """
        with self._connection.transaction():
            self.begin()
            ((number, digest),) = self._connection.query(
                "SELECT number, digest FROM custody ORDER BY number DESC LIMIT 1"
            )
            secret = secrets.token_bytes(32) if committed is not None else b""
            bound = {"commitment": commitment(secret, committed)} if committed is not None else {}
            return self._add(number + 1, digest, {"event": event, **facts, **bound}, secret)

    def begin(self) -> None:
        """Add the first entry if there is none. Call it before what the log is to tell of first is saved."""
        with self._connection.transaction():
            if not self.has_begun():
                self._add(1, BEFORE_ALL, {"event": BEGIN, **self._before()}, b"")

    def _add(self, number: int, previous: str, body: Mapping[str, Any], secret: bytes) -> CustodyEntry:
        time = now()
        line = canonical({"body": body, "number": number, "previous": previous, "time": time})
        entry = CustodyEntry(number, time, body, line, digest_of(line), secret)
        self._connection.execute(
            "INSERT INTO custody (number, entry, digest, secret) VALUES (?, ?, ?, ?)",
            [number, line, entry.digest, secret],
        )
        return entry

    def _before(self) -> dict[str, Any]:
        """Say what the case held when its log began."""
        return {
            "documents_before": self._connection.count("SELECT count(*) FROM documents"),
            "runs_before": self._connection.count("SELECT max(id) FROM runs"),
            "reviews_before": self._connection.count("SELECT max(key) FROM review_edits"),
        }

    def has_begun(self) -> bool:
        """Say whether the case has a log yet."""
        return self._connection.first("SELECT 1 FROM custody LIMIT 1") is not None

    def has_entry(self, event: str, facts: Mapping[str, Any]) -> bool:
        """Say whether something was recorded before with exactly these facts; each entry is read once."""
        last = "SELECT 1 FROM custody WHERE number = ? AND digest = ?"
        if self._bodies and self._connection.first(last, self._last) is None:  # it was rolled back
            self._bodies, self._last = set(), (0, BEFORE_ALL)
        for number, digest, line in self._connection.query(
            "SELECT number, digest, entry FROM custody WHERE number > ? ORDER BY number", [self._last[0]]
        ):
            body, _, _ = text_of(line).removeprefix('{"body":').rpartition(',"number":')
            self._bodies.add(_key_of(body))
            self._last = (number, digest)
        return _key_of(canonical({"event": event, **facts})) in self._bodies

    def entries(self) -> list[CustodyEntry]:
        """Return the whole log, every link checked; empty while there is none. Raises CustodyBroken."""
        rows = self._connection.query("SELECT number, entry, digest, secret FROM custody ORDER BY number")
        entries = sound_part(rows)
        if len(entries) < len(rows):
            raise CustodyBroken(f"the custody log of {self._path} is broken at entry {len(entries) + 1}: {WHY_BROKEN}")
        return entries

    def take_over(self, entries: Sequence[CustodyEntry]) -> None:
        """Let the log of a case that has none begin with the entries of another, as they are; raises BadRecord."""
        if self.has_begun():
            raise BadRecord(f"the case {self._path} has a custody log already")
        self._connection.execute_many(
            "INSERT INTO custody (number, entry, digest, secret) VALUES (?, ?, ?, ?)",
            ((entry.number, entry.line, entry.digest, entry.secret) for entry in entries),
        )


WHY_BROKEN: Final = "it was changed after it was written, or an entry before it was taken out"


def sound_part(rows: Iterable[tuple[Any, Any, Any, Any]]) -> list[CustodyEntry]:
    """Return the entries of a log up to the first that does not follow from those before: number, line, digest, secret.

    Where that are all of them, nobody changed one without changing all that follow.
    """
    entries: list[CustodyEntry] = []
    for number, text, digest, secret in rows:
        line, previous = text_of(text), entries[-1].digest if entries else BEFORE_ALL
        if number != len(entries) + 1 or not is_utf8(line) or digest_of(line) != digest:
            break
        if (entry := _read(line, number, previous)) is None:
            break
        entries.append(CustodyEntry(number, str(entry["time"]), entry["body"], line, digest, secret))
    return entries


def _read(line: str, number: int, previous: str) -> dict[str, Any] | None:
    """Read an entry; None where it is none, or does not follow the one before."""
    try:
        entry: dict[str, Any] = json.loads(line)
    except (ValueError, RecursionError):
        return None
    fits = isinstance(entry, dict) and set(entry) == {"body", "number", "previous", "time"}
    if not fits or not isinstance(entry["body"], dict) or (entry["number"], entry["previous"]) != (number, previous):
        return None
    return entry


def canonical(value: Any) -> str:
    """Write JSON in one form: keys sorted, UTF-8, no spaces; text that UTF-8 cannot hold is escaped."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text if is_utf8(text) else json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _key_of(body: str) -> bytes:
    return hashlib.sha256(body.encode()).digest()


def commitment(secret: bytes, value: Any) -> str:
    """Bind a value without showing it: SHA-256 of 32 random bytes and its canonical JSON.

    The log is given out with an export; names that a reviewer wrote must not be guessed from it.
    """
    return hashlib.sha256(secret + canonical(value).encode()).hexdigest()
