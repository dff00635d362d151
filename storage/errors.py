"""Errors of the storage room. Each says what failed, on which file or item, and what to do.

StorageError
├── CaseMissing      there is no file at this path
├── CaseGone         the file was deleted or replaced while it was open
├── CaseExists       there is a file already where a copy was to go
├── NotACase         the file is something else than a Redwell case
├── CaseDamaged      SQLite finds the file corrupt
│   └── WrongTypeFound   a value has a type that Redwell never writes there
├── CaseTooNew       a later version of Redwell wrote the file
├── CaseTooOld       the file needs an upgrade, and cannot be written
├── CaseEncrypted    the file is encrypted, and no passphrase for it is known
│   └── WrongPassphrase  the one that is known does not open it
├── BadPassphrase    a passphrase that cannot be used
├── EncryptionMissing  the library that encrypts is not installed (environment)
├── CaseLocked       another process writes to this case; `pid` names it
├── CaseBusy         SQLite waited in vain for another connection
├── CaseReadOnly     the file or its folder cannot be written (environment)
├── DiskFailed       the disk refused a read or a write (environment)
│   └── DiskFull     no space is left (environment)
├── NotInCase        a document, row or run that the case does not hold
├── BadRecord        what was to be saved contradicts itself or what is stored
├── CustodyBroken    the custody log, or what it vouches for, was changed by another program than Redwell
├── WrongThread      a case was used from another thread or process than the one that opened it
└── ExportError      a results file cannot be written as asked
"""

from __future__ import annotations

from typing import ClassVar


class StorageError(Exception):
    """Base: a message that says what failed and on what, and advice that says what to do."""

    is_environment: ClassVar[bool] = False
    default_advice: ClassVar[str] = ""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice or self.default_advice


class CaseMissing(StorageError):
    """There is no case file at the path."""

    default_advice = "Open it where it is now, or make a new one: New case, or `redwell run --case PATH`."


class CaseGone(StorageError):
    """The file at the path is no longer the one that was opened: what is written now would be lost."""

    default_advice = (
        "Nothing more was written. Put the case back if you moved it, and repeat the command; what a deleted case held "
        "is lost, unless there is a backup."
    )


class CaseExists(StorageError):
    """There is a file at the path of a copy."""

    default_advice = "Choose another path, or move that file away."


class NotACase(StorageError):
    """The path holds something else: a folder, a text file, another program's database."""

    default_advice = "Name a file that Redwell made (*.redwell), or a new path. The file was not changed."


class CaseDamaged(StorageError):
    """SQLite reports the file as corrupt."""

    default_advice = (
        "Restore the case from a backup. A copy made while a run was going on needs the -wal file beside it."
    )


class WrongTypeFound(CaseDamaged):
    """A value in a table has another type than its column: another program wrote it."""

    default_advice = (
        "Another program changed the case. `redwell case verify` lists what is damaged; restore the case from a "
        "backup, or save what can be read: `redwell case repair`."
    )


class CaseTooNew(StorageError):
    """A later version of Redwell wrote the file."""

    default_advice = "Open it with the version of Redwell that wrote it, or a later one. The file was not changed."


class CaseTooOld(StorageError):
    """The schema is older than this version's, and the case cannot be upgraded where it is."""

    default_advice = "Copy the case to a folder that you may write to, and open it there; that upgrades it."


class CaseEncrypted(StorageError):
    """The file is encrypted, and nobody has said with which passphrase."""

    default_advice = (
        "Put the passphrase into the variable REDWELL_CASE_PASSPHRASE, name a file that holds it with "
        "--case-passphrase-file, or run the command on a terminal, where it asks."
    )


class WrongPassphrase(CaseEncrypted):
    """The passphrase does not open the file. A damaged first page looks the same."""

    default_advice = "Check the passphrase: capital letters, blanks, the layout of the keyboard. Nobody can recover it."


class BadPassphrase(StorageError):
    """A passphrase that cannot be read, or that is too short for a new one."""


class EncryptionMissing(StorageError):
    """The library that encrypts cases is not installed."""

    is_environment = True
    default_advice = "Install Redwell again (from source: `make setup`)."


class CaseLocked(StorageError):
    """Another process holds the writer's lock. `pid` is its process id, None when it could not be read."""

    default_advice = "Wait until that process ends or stop it. Reading (trace, ledger, export) is possible meanwhile."

    def __init__(self, message: str, *, pid: int | None = None, advice: str = "") -> None:
        super().__init__(message, advice=advice)
        self.pid = pid


class CaseBusy(StorageError):
    """Another connection kept SQLite's own lock for longer than the time-out."""

    default_advice = "Close other programs that have the case open, and repeat the command."


class CaseReadOnly(StorageError):
    """The case file, or the folder that must hold its -wal and .lock files, cannot be written."""

    is_environment = True
    default_advice = "Get permission to write to the file and its folder, or copy the case elsewhere."


class DiskFailed(StorageError):
    """The disk refused a read or a write; what was being saved is not in the case."""

    is_environment = True
    default_advice = "Check the disk (space, quota, file size limit, cable), then repeat the command; it resumes."


class DiskFull(DiskFailed):
    """No space is left; what was being saved is not in the case, everything before it is."""

    default_advice = "Free some space on the disk that holds the file, then repeat the command; a run resumes."


class NotInCase(StorageError):
    """The case has no such document, row or run."""


class BadRecord(StorageError):
    """A record to save is impossible: a repeated row id, lines out of order, an empty span."""


class CustodyBroken(StorageError):
    """The custody log does not hold together, or a row or line is another than the log says."""

    default_advice = (
        "Somebody or something wrote to the case beside Redwell. Compare it with a backup and with the manifests of "
        "earlier exports (docs/custody.md)."
    )


class WrongThread(StorageError):
    """A case was used by another thread or process than the one that opened it."""

    default_advice = "Open a case of its own in each thread (read_only=True beside a writer)."


class ExportError(StorageError):
    """A results file cannot be written as asked."""
