"""Looking after a case file: `redwell case verify`, `backup` and `repair` for the window, also beside a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from engine.custody.recording import record_backup, record_verify, repair_facts
from engine.errors import UsageError
from engine.worker.contract import care as contract
from engine.worker.contract.care import CareResult
from engine.worker.contract.events import CareProgress
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from models.paths import expanded
from storage.backup import backup_case
from storage.copying import refuse_existing
from storage.errors import CaseEncrypted, WrongPassphrase
from storage.repair import repair_case
from storage.verification import Verification, verify_case

MOST_NAMED = 2000
"""Differences, and things lost, that an answer names; all are counted, and the command line lists all."""


class CareStopped(UsageError):
    """The user gave up a check, a backup or a repair. The case is as it was, and there is no new file."""


@query(contract.VERIFY, lane="long")
def verify(desk: Desk, *, case: str) -> CareResult:
    """Check that a case is as it was written (storage.verification)."""
    tell, path = _telling(desk), _path(case)

    def work() -> CareResult:
        checked = verify_case(path, lambda what, rows: tell(what, rows, 0))
        return replace(_checked(checked), not_recorded=record_verify(path, checked))

    return _unless_locked(work)


@query(contract.BACKUP, lane="long")
def backup(desk: Desk, *, case: str, out: str) -> CareResult:
    """Copy a case to a new file and check the copy (storage.backup); given up, it leaves no file."""
    tell, target = _telling(desk), _path(out)

    def work() -> CareResult:
        done = backup_case(
            _path(case),
            target,
            lambda pages, total: tell("copying", pages, total),
            lambda what, rows: tell(what, rows, 0),
        )
        tell("SHA-256 of the copy", 0, 0)
        checked = replace(_checked(done.verification), out=str(target), size_bytes=done.size_bytes)
        return replace(checked, not_recorded=record_backup(_path(case), target, done))

    return _unless_locked(lambda: _without_rest(target, work))


@query(contract.REPAIR, lane="long")
def repair(desk: Desk, *, case: str, out: str) -> CareResult:
    """Save what can be read of a damaged case in a new one (storage.repair); given up, it leaves no file."""
    tell, target = _telling(desk), _path(out)

    def work() -> CareResult:
        path = _path(case)
        facts = repair_facts(path) if path.is_file() else {}
        done = repair_case(path, target, lambda what, rows: tell(what, rows, 0), facts=facts)
        return replace(
            _checked(done.verification),
            out=str(target),
            size_bytes=target.stat().st_size,
            kept=done.kept,
            lost=tuple(done.lost[:MOST_NAMED]),
            lost_count=len(done.lost),
        )

    return _unless_locked(lambda: _without_rest(target, work))


def _unless_locked(work: Callable[[], CareResult]) -> CareResult:
    try:
        return work()
    except WrongPassphrase:
        return CareResult(locked="wrong")
    except CaseEncrypted:
        return CareResult(locked="needed")


def _without_rest(target: Path, work: Callable[[], CareResult]) -> CareResult:
    """Remove the new file of work that was given up while it was being checked; refuse a file that was there before."""
    refuse_existing(target)
    try:
        return work()
    except CareStopped:
        for ending in ("", "-wal", "-shm", ".lock"):
            target.with_name(target.name + ending).unlink(missing_ok=True)
        raise


def _checked(verification: Verification) -> CareResult:
    differences = verification.differences
    return CareResult(
        rows=verification.rows,
        differences=differences[:MOST_NAMED],
        difference_count=len(differences),
        not_checked=verification.not_checked,
    )


def _telling(desk: Desk) -> Callable[[str, int, int], None]:
    """Return what tells of progress now and then, and stops a question that was given up."""
    tell = desk.telling(lambda: CareStopped("it was given up"))
    return lambda what, done, total: tell(what, CareProgress(desk.question, what, done, total))


def _path(text: str) -> Path:
    return expanded(text).absolute()
