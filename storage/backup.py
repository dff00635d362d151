"""Back up a case: a whole copy, as it was at one moment, that has been checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from storage import passphrases
from storage.case import Case
from storage.copying import Tell
from storage.verification import Verification, verify_case


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A backup: its bytes, and what checking it found. What is damaged in the case is damaged in its copy."""

    size_bytes: int
    is_encrypted: bool
    verification: Verification


def backup_case(
    path: Path,
    out: Path,
    tell: Tell = lambda done, total: None,
    tell_check: Callable[[str, int], None] = lambda what, rows: None,
) -> BackedUp:
    """Copy a case to `out`, also while a run writes to it, and check the copy as `verify_case` does.

    An encrypted case has the same passphrase in its backup. Raises CaseExists where there is a file at `out`, and what
    opening a case raises, DiskFull and DiskFailed.
    """
    out = out.expanduser().resolve()
    with Case(path, read_only=True) as case:
        is_encrypted = case.is_encrypted
        case.copy_to(out, tell)
    passphrases.share(path, out)
    return BackedUp(out.stat().st_size, is_encrypted, verify_case(out, tell_check))
