"""The case: one file that holds everything about one investigation."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from storage.cache import Cache
from storage.contents import Contents
from storage.custody import Custody
from storage.documents import Documents
from storage.errors import CaseLocked, CaseMissing, CaseReadOnly, CaseTooOld, NotACase
from storage.evidence import Evidence
from storage.files import journal_file, remove_leftovers
from storage.indexes import TextIndexes
from storage.labels import Labels
from storage.ledger import LedgerBook
from storage.listing import Listing
from storage.lock import WriterLock
from storage.replies import Replies
from storage.result_rows import ResultRows
from storage.reviews import Reviews
from storage.rows import Rows
from storage.runs import Runs
from storage.seals import Seals
from storage.search import Search
from storage.vectors import Vectors

if TYPE_CHECKING:
    from storage.connection import Connection
    from storage.copying import Tell

BESIDE_MILLISECONDS = 60_000
"""How long an edit waits for what a job of this process is saving: a document of thousands of pages takes a while."""


class Case:
    """An open case file, composed of parts: each holds the methods of one topic, on the connection of the case.

    One case has at most one writer at a time, over all processes; readers are free. Use a Case only in the
    thread and process that opened it (WrongThread otherwise). Every save is a transaction and may be repeated without
    harm, so a resumed run can simply save again.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, read_only: bool = False, create: bool = True, beside: bool = False
    ) -> None:
        """Open the case at `path`; a writer makes the file unless `create` is False.

        One that an earlier version made is upgraded; what it was stays beside it as a copy (storage.opening).
        `beside`: write although a job of this process may be writing too, for an edit of a few milliseconds.

        An encrypted case is opened with the passphrase that storage.passphrases has for it; a new one is encrypted
        where there is one. Raises CaseLocked (naming the pid) when another writer has it, CaseMissing, NotACase,
        CaseTooNew, CaseTooOld, CaseEncrypted, WrongPassphrase, CaseDamaged, CaseReadOnly or DiskFull.
        """
        from storage.connection import Connection  # noqa: PLC0415  sqlite-utils is slow to load and not always needed

        self._path = Path(path).resolve()
        self._read_only = read_only
        _check_path(self._path, must_exist=read_only or not create, writes=not read_only)
        self._lock = None if read_only else WriterLock(self._path, beside=beside)
        try:
            if self._lock is not None and self._lock.was_free:
                remove_leftovers(self._path)
            self._connection = self._connect(Connection)
            if beside:
                self._connection.execute(f"PRAGMA busy_timeout = {BESIDE_MILLISECONDS}")
            self._compose(self._connection)
            if not read_only and not beside:
                self.runs.mark_interrupted()
        except BaseException:
            self._release()
            raise

    def _compose(self, connection: Connection) -> None:
        self.documents = Documents(connection)
        self.labels = Labels(connection)
        self.listing = Listing(connection)
        self.search = Search(connection)
        self.text_indexes = TextIndexes(connection)
        self.replies = Replies(connection)
        self.cache = Cache(connection)
        self.vectors = Vectors(connection)
        self.custody = Custody(connection)
        self.runs = Runs(connection)
        self.rows = Rows(connection)
        self.result_rows = ResultRows(connection)
        self.reviews = Reviews(connection)
        self.seals = Seals(connection, self.custody, self.result_rows, self.reviews)
        self.ledger = LedgerBook(connection)
        self.evidence = Evidence(connection)
        self.contents = Contents(connection)

    @property
    def path(self) -> Path:
        """Return the absolute path of the case file."""
        return self._path

    @property
    def read_only(self) -> bool:
        """Say whether the case was opened for reading only."""
        return self._read_only

    @property
    def is_encrypted(self) -> bool:
        """Say whether the file needs a passphrase."""
        return self._connection.is_encrypted

    def transaction(self, *, relaxed: bool = False) -> AbstractContextManager[None]:
        """Make several saves one: all or none. Never await inside; what awaits may write in between.

        `relaxed`: not flushed to the disk at once, for what can be read again (storage.connection).
        """
        return self._connection.transaction(relaxed=relaxed)

    def copy_to(self, target: Path, tell: Tell = lambda done, total: None) -> None:
        """Copy the case as it is at this moment to a new file; raises CaseExists, DiskFull (storage.copying)."""
        self._connection.copy_to(target, tell)

    def _connect(self, connect: type[Connection]) -> Connection:
        """Open the file; a reader has an older case upgraded first. Raises CaseTooOld where that cannot be done."""
        try:
            return connect(self._path, read_only=self._read_only)
        except CaseTooOld as error:
            try:
                lock = WriterLock(self._path)
            except (CaseLocked, CaseReadOnly) as refusal:
                raise CaseTooOld(f"{error}; it cannot be upgraded now: {refusal}", advice=refusal.advice) from refusal
        try:
            connect(self._path, read_only=False).close()
        except CaseReadOnly as refusal:
            raise CaseTooOld(f"{self._path} must be upgraded to be read: {refusal}") from refusal
        finally:
            lock.release()
        return connect(self._path, read_only=self._read_only)

    def close(self) -> None:
        """Close the file and give back the writer's lock; idempotent."""
        self._connection.close()
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _check_path(path: Path, *, must_exist: bool, writes: bool) -> None:
    try:
        (journal_file(path) if writes else path).stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise CaseMissing(f"{path} cannot be a case file: {error.strerror}", advice="Choose another path.") from error
    if path.is_dir():
        raise NotACase(f"{path} is a folder, not a case file", advice="Name the file, such as investigation.redwell.")
    if path.exists():
        if not path.is_file():
            raise NotACase(f"{path} is no regular file", advice="Name the file, such as investigation.redwell.")
        if not os.access(path, os.R_OK):
            raise CaseReadOnly(f"{path} cannot be read")
        if writes and not os.access(path, os.W_OK):  # SQLite would open it all the same, and refuse the first change
            raise CaseReadOnly(f"{path} cannot be written")
        return
    if must_exist:
        raise CaseMissing(f"there is no case at {path}")
    if not path.parent.is_dir():
        raise CaseMissing(f"there is no folder {path.parent} to make the case in", advice="Make the folder first.")
