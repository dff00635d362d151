"""Encrypt, decrypt or re-encrypt a case: a whole copy is written beside it, compared with it, and takes its place.

Until that last step, which is one renaming, the case is as it was: a kill or a full disk leaves it whole. The copy has
a salt, and so keys, of its own. Old bytes may stay in blocks of the disk that are free now; nothing here can undo that.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from storage import passphrases
from storage.encryption import Key, address_of, connect_encrypted, database_errors, key_of, new_key
from storage.errors import (
    BadPassphrase,
    CaseBusy,
    CaseDamaged,
    CaseMissing,
    CaseReadOnly,
    DiskFailed,
    DiskFull,
    NotACase,
    WrongPassphrase,
)
from storage.files import flush, make_private, part_file, remove_leftovers
from storage.lock import WriterLock
from storage.open_files import OpenFile
from storage.opening import check_is_case, copies_before_upgrades
from storage.sqlite_library import NOT_A_DATABASE, code_of, translated

# Progress of a conversion while SQLite works, and the way to stop it before its last step.

STEPS: Final = 1000
"""Instructions of SQLite's machine between two looks; a look costs microseconds."""

TELL_SECONDS: Final = 0.1

Phase = Literal["copied", "compared"]
Tell = Callable[[Phase, int, int], None]
"""Gets what is being done, the bytes done, and all bytes; both are 0 where it cannot be told how far that is.

It may raise ConversionStopped, until the copy takes the place of the case.
"""


class ConversionStopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """A conversion ended before its last step, because `tell` raised this; the case is as it was."""


class Watch:
    """Tells how far one conversion is. `part` is the copy, `size_bytes` what it will have, about."""

    def __init__(self, part: Path, size_bytes: int, tell: Tell) -> None:
        self._part = part
        self._size = size_bytes
        self._tell = tell
        self._phase: Phase = "copied"
        self._told_at = 0.0

    def begin(self, phase: Phase) -> None:
        """Go on to another phase; raises ConversionStopped."""
        self._phase, self._told_at = phase, 0.0
        self.look()

    def look(self) -> None:
        """Tell how far it is, unless that was told a moment ago; raises ConversionStopped."""
        now = time.monotonic()
        if now - self._told_at < TELL_SECONDS:
            return
        self._told_at = now
        if self._phase == "compared":
            self._tell("compared", 0, 0)
        else:
            self._tell("copied", min(self._part.stat().st_size, self._size), self._size)

    @contextlib.contextmanager
    def over(self, connection: Any) -> Iterator[None]:
        """Look again and again while a connection works in the block; raises ConversionStopped."""
        stopped: list[ConversionStopped | KeyboardInterrupt] = []

        def look() -> int:
            try:
                self.look()
            except (ConversionStopped, KeyboardInterrupt) as stop:  # an exception would be lost in SQLite
                stopped.append(stop)
            return len(stopped)

        connection.set_progress_handler(look, STEPS)
        try:
            yield
        except database_errors():
            if stopped:
                raise stopped[0] from None
            raise
        finally:
            connection.set_progress_handler(None, 0)


_TOLD: Final = {"disk is full": DiskFull, "disk I/O error": DiskFailed, "malformed": CaseDamaged}
_WAIT_SECONDS: Final = 0.5
"""How long another program may take to close the case."""


@dataclass(frozen=True, slots=True)
class Converted:
    """What was done: the tables and rows in the copy, all of them compared with the case before; its bytes."""

    tables: int
    rows: int
    size_bytes: int
    is_encrypted: bool


def tell_nobody(phase: str, done_bytes: int, bytes: int) -> None:
    """Tell nobody how far a conversion is."""


def encrypt_case(path: Path, passphrase: str, tell: Tell = tell_nobody) -> Converted:
    """Encrypt a plain case. Raises BadPassphrase for one that is encrypted, and what `_convert` raises."""
    refuse_encrypted(path)
    return _convert(path, None, passphrases.check_new(passphrase), tell)


def decrypt_case(path: Path, passphrase: str, tell: Tell = tell_nobody) -> Converted:
    """Write an encrypted case as a plain file. Raises BadPassphrase for a plain one, and what `_convert` raises."""
    refuse_plain(path)
    return _convert(path, passphrases.normal(passphrase), None, tell)


def rekey_case(path: Path, passphrase: str, new: str, tell: Tell = tell_nobody) -> Converted:
    """Encrypt a case with another passphrase. Raises BadPassphrase for a plain one, and what `_convert` raises."""
    refuse_plain(path)
    return _convert(path, passphrases.normal(passphrase), passphrases.check_new(new), tell)


def plain_copies_beside(path: Path) -> str:
    """Name the copies of a case that were made before an upgrade and are not encrypted; "" where there is none."""
    names = [copy.name for copy in copies_before_upgrades(path.expanduser().resolve()) if _may_be_plain(copy)]
    return f"Not encrypted: copies made before an upgrade. Delete or encrypt {', '.join(names)}." if names else ""


def _may_be_plain(copy: Path) -> bool:
    try:
        opened = OpenFile(copy)
    except (CaseReadOnly, CaseBusy):
        return True
    opened.release()
    return opened.header.form == "plain"


def is_encrypted(path: Path) -> bool:
    """Say whether a case needs a passphrase. Raises CaseMissing, NotACase, or CaseBusy while it is converted."""
    opened = _opened(path.expanduser().resolve(), alone=False)
    opened.release()
    return opened.header.form == "encrypted"


def refuse_encrypted(path: Path) -> None:
    """Raise BadPassphrase for a case that is encrypted already, and what `is_encrypted` raises."""
    if is_encrypted(path):
        raise BadPassphrase(f"{path} is encrypted already", advice="Change its passphrase instead (rekey).")


def refuse_plain(path: Path) -> None:
    """Raise BadPassphrase for a case that is not encrypted, and what `is_encrypted` raises."""
    if not is_encrypted(path):
        raise BadPassphrase(f"{path} is not encrypted", advice="Encrypt it first, if that is what you want.")


def _opened(path: Path, *, alone: bool) -> OpenFile:
    if not path.is_file():
        raise CaseMissing(f"there is no case at {path}")
    opened = OpenFile(path, alone=alone)
    if opened.header.form not in ("plain", "encrypted"):
        opened.release()
        raise NotACase(f"{path} is not an SQLite database, so it is no Redwell case")
    return opened


def _convert(path: Path, old: str | None, new: str | None, tell: Tell) -> Converted:
    """Put a copy in the place of a case. None stands for no encryption; the new passphrase is remembered.

    Raises ConversionStopped where `tell` does, CaseLocked while somebody writes to the case, CaseBusy while somebody
    reads it, WrongPassphrase, CaseMissing, NotACase, CaseTooNew, CaseDamaged, CaseReadOnly, DiskFailed or DiskFull.
    """
    path = path.expanduser().resolve()
    with contextlib.ExitStack() as held:
        opened = _opened(path, alone=True)
        held.callback(opened.release)
        if not os.access(path, os.W_OK):
            raise CaseReadOnly(f"{path} cannot be written")
        lock = WriterLock(path, alone=True)
        held.callback(lock.release)
        remove_leftovers(path)
        held.callback(remove_leftovers, path)
        try:
            done = _replace(path, key_of(opened.header, old) if old is not None else None, new, tell)
        except OSError as error:
            advice = "Give the case a shorter name." if error.errno == errno.ENAMETOOLONG else ""
            message = f"{path} could not be converted, and is as it was: {error.strerror}"
            raise DiskFailed(message, advice=advice) from error
    if new is None:
        passphrases.forget(path)
    else:
        passphrases.remember(path, new)
    return done


def _replace(path: Path, key: Key | None, new: str | None, tell: Tell) -> Converted:
    part, part_key = part_file(path), new_key(new) if new is not None else None
    with translated(path), _alone(path, key) as case:
        _create_like(part, path)
        watch = Watch(part, path.stat().st_size, tell)
        watch.begin("copied")
        with watch.over(case):
            _copy(case, part, part_key)
        watch.begin("compared")
        with watch.over(case):
            done = _compare(case, path, part, part_key, watch)
        flush(part)
        watch.begin("compared")
        if sys.platform == "win32":  # which replaces no file that is open; the lock keeps other writers out
            case.close()
        part.replace(path)
        _flush_folder(path.parent)
    return done


@contextlib.contextmanager
def _alone(path: Path, key: Key | None) -> Iterator[Any]:
    """Open a case such that no other connection can, with nothing left in a -wal file."""
    case = connect_encrypted(address_of(path) + "?mode=rw", key, timeout_seconds=_WAIT_SECONDS)
    try:
        _check_is_case(case, path, key)
        case.execute("PRAGMA locking_mode = EXCLUSIVE")
        case.execute("PRAGMA trusted_schema = OFF")
        mode = case.execute("PRAGMA journal_mode = DELETE").fetchone()[0]  # only the last connection can leave WAL
        if mode != "delete":
            raise CaseBusy(f"the case {path} is open in another program")
        case.execute("BEGIN EXCLUSIVE")
        case.execute("COMMIT")
        yield case
    finally:
        case.close()


def _check_is_case(case: Any, path: Path, key: Key | None) -> None:
    try:
        check_is_case(case, path, may_be_empty=False)
    except database_errors() as error:
        if key is not None and code_of(error) == NOT_A_DATABASE:
            raise WrongPassphrase(f"the passphrase does not open {path}") from error
        raise


def _create_like(part: Path, path: Path) -> None:
    """Make the empty copy with the rights of the case, before anything is in it; private where a share takes none."""
    make_private(part)
    with contextlib.suppress(OSError):
        shutil.copymode(path, part)


def _copy(case: Any, part: Path, key: Key | None) -> None:
    case.execute("ATTACH DATABASE ? AS part KEY ?", (address_of(part), key.text() if key is not None else ""))
    case.execute("PRAGMA part.journal_mode = OFF")  # a copy that fails is thrown away
    try:
        case.execute("SELECT sqlcipher_export('part')").fetchone()
    except database_errors() as error:  # a function of SQL tells its error as text, without the code
        kind = next((kind for words, kind in _TOLD.items() if words in str(error)), None)
        if kind is None:
            raise
        raise kind(f"the copy {part} was not finished, and the case is as it was (SQLite: {error})") from error
    for pragma in ("user_version", "application_id"):
        case.execute(f"PRAGMA part.{pragma} = {int(case.execute(f'PRAGMA main.{pragma}').fetchone()[0])}")
    case.execute("DETACH DATABASE part")


def _compare(case: Any, path: Path, part: Path, key: Key | None, watch: Watch) -> Converted:
    """Open the copy as anybody would, and check that it is sound and holds what the case holds."""
    copy = connect_encrypted(address_of(part) + "?mode=ro", key, timeout_seconds=_WAIT_SECONDS)
    try:
        with watch.over(copy):
            verdict = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
            ours, theirs = _contents(case), _contents(copy)
    finally:
        copy.close()
    if verdict != "ok" or ours != theirs:
        what = f"SQLite: {verdict}" if verdict != "ok" else "it does not hold the same rows"
        raise CaseDamaged(f"the copy of {path} is not sound ({what}); the case is as it was")
    counts = [count for _, _, count in ours if count is not None]
    return Converted(len(counts), sum(counts), part.stat().st_size, key is not None)


def _contents(database: Any) -> list[tuple[str, str, int | None]]:
    """List everything that the schema names, with its text, and how many rows tables have."""
    entries = database.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master ORDER BY type, name").fetchall()
    return [(name, sql, _count(database, name) if kind == "table" else None) for kind, name, sql in entries]


def _count(database: Any, table: str) -> int:
    quoted = table.replace('"', '""')
    return int(database.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()[0])


def _flush_folder(folder: Path) -> None:
    """Have the renaming on the disk, where the system can say so of a folder: not on Windows, nor on some shares."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):  # it is renamed by now
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
