"""What goes into the custody log of a case, event by event. Each is called in the transaction that it tells of."""

from __future__ import annotations

import contextlib
import getpass
import importlib.metadata
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from engine.disk import sha256_of
from engine.rows import DocumentId
from storage.backup import BackedUp
from storage.case import Case
from storage.custody import Custody
from storage.errors import StorageError
from storage.ledger import Ledger
from storage.open_files import sha256_of_case
from storage.reviews import ReviewEdit, ReviewStep
from storage.verification import Verification

# Who works on this computer, for what is recorded of reviews and exports.


def reviewer() -> str:
    """Return who reviews on this computer: REDWELL_REVIEWER, else the name of the user."""
    named = os.environ.get("REDWELL_REVIEWER", "").strip()
    if named:
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without an entry in the system's list
        return "unknown"


def versions() -> dict[str, str]:
    """Name the versions of what runs: this program, Python, the system."""
    try:
        program = importlib.metadata.version("redwell")
    except importlib.metadata.PackageNotFoundError:
        program = "a source checkout that is not installed"
    return {"redwell": program, "python": platform.python_version(), "os": platform.platform()}


def record_source(case: Case, path: str, root: Path, id: DocumentId, parent: DocumentId | None) -> None:
    """Record a file that was read into the case. `path` is relative to `root`; `parent` holds a file inside another."""
    facts = {"path": path, "folder": root.name, "sha256": id, **({"inside": parent} if parent else {})}
    case.custody.record("ingest", {**facts, "text_sha256": case.seals.seal_document(id)})


def record_container(custody: Custody, path: str, root: Path, id: DocumentId) -> None:
    """Record an archive, whose files are recorded by themselves; once, however often it is read."""
    facts = {"path": path, "folder": root.name, "sha256": id, "is_archive": True}
    if not custody.has_entry("ingest", facts):
        custody.record("ingest", facts)


def record_unreadable(custody: Custody, path: str, root: Path, id: str | None, reason: str) -> None:
    """Record a file that could not be read; once, however often it is tried."""
    facts = {"path": path, "folder": root.name, "sha256": id, "reason": reason}
    if not custody.has_entry("unreadable", facts):
        custody.record("unreadable", facts)


def remove_documents(case: Case, ids: Iterable[str]) -> list[str]:
    """Take documents out of a case, and record it; return those that were in it. Raises NotInCase."""
    with case.transaction():
        removed = case.labels.remove_documents(ids)
        if removed:
            case.custody.record("remove", {"sha256": removed, "by": reviewer()})
    return removed


def put_back_documents(case: Case, ids: Iterable[str]) -> list[str]:
    """Put documents back that were taken out, and record it; return those. Raises NotInCase."""
    with case.transaction():
        back = case.labels.put_back_documents(ids)
        if back:
            case.custody.record("put_back", {"sha256": back, "by": reviewer()})
    return back


def record_data_file(custody: Custody, run_id: str, dataset: str, file: Path, sha256: str) -> None:
    """Record a data file (CSV, JSON lines, a workbook) whose rows a run reads."""
    facts = {"run": run_id, "dataset": dataset, "path": file.name, "folder": file.parent.name, "sha256": sha256}
    custody.record("data", facts)


def record_run_start(
    custody: Custody, run_id: str, *, pipeline: str, model: str, settings: Mapping[str, Any], resumed: bool
) -> None:
    """Record that a run begins, with what and on what."""
    facts = {"run": run_id, "pipeline_sha256": pipeline, "model": model, "settings": dict(settings), "resumed": resumed}
    custody.record("run_start", {**facts, "versions": versions()})


def record_results(case: Case, run_id: str) -> None:
    """Seal the results that a run has just saved, and record their digest."""
    rows, digest = case.seals.seal_results(run_id)
    case.custody.record("results", {"run": run_id, "rows": rows, "sha256": digest})


def record_run_end(case: Case, run_id: str, status: str, models: Mapping[str, str]) -> None:
    """Record how a run ended, which weights it asked (name -> SHA-256), and the sums of its ledger."""
    weights = [{"name": name, "sha256": digest} for name, digest in sorted(models.items())]
    counts = ledger_counts(case.ledger.sums(run_id))
    case.custody.record("run_end", {"run": run_id, "status": status, "models": weights, "counts": counts})


def ledger_counts(ledger: Ledger) -> dict[str, Any]:
    """Return the sums of a ledger as JSON."""
    files = ledger.documents
    return {
        "files": {"found": files.found, "read": files.parsed, "duplicates": files.duplicates, "failed": files.failed},
        "operators": [
            {
                "name": operator.operator,
                "rows_in": operator.rows_in,
                "output": operator.output,
                "rejected": operator.rejected,
                "failed": operator.failed,
                "rows_out": operator.rows_out,
            }
            for operator in ledger.operators
        ],
    }


def save_review(case: Case, run_id: str, edits: Sequence[ReviewEdit]) -> int:
    """Save a step of a review, and record who decided what; the log binds the values and does not show them."""
    with case.transaction():
        case.custody.begin()
        who = reviewer()
        step = case.reviews.save(run_id, edits, who=who)
        decisions = [{"row": edit.row.id, "field": edit.field, "kind": edit.kind} for edit in edits]
        facts = {"run": run_id, "step": step, "who": who, "decisions": decisions}
        case.custody.record("review", facts, committed=case.seals.review_facts(step))
    return step


def undo_review(case: Case) -> ReviewStep | None:
    """Take the last step of the reviews back, and record that; None when there is none."""
    with case.transaction():
        return _recorded(case.custody, "review_undone", case.reviews.undo())


def redo_review(case: Case) -> ReviewStep | None:
    """Make the step again that was taken back last, and record that; None when there is none."""
    with case.transaction():
        return _recorded(case.custody, "review_redone", case.reviews.redo())


def _recorded(custody: Custody, event: str, step: ReviewStep | None) -> ReviewStep | None:
    if step is not None:
        custody.record(event, {"step": step.number, "who": reviewer()})
    return step


def weights_of_run(custody: Custody, run_id: str) -> dict[str, str]:
    """Return the models that a run asked, by name, with the SHA-256 of their weights, as the log has it."""
    ends = [entry.body for entry in custody.entries() if entry.event == "run_end" and entry.body["run"] == run_id]
    return {model["name"]: model["sha256"] for model in ends[-1]["models"]} if ends else {}


def record_beside(case: Case, event: str, facts: Mapping[str, Any]) -> str:
    """Record something in a case that may be open for reading only; return why that was not possible, "" where it was.

    It is not where another process writes to the case, or where it is on a disk that cannot be written.
    """
    if not case.read_only:
        case.custody.record(event, facts)
        return ""
    return record_in(case.path, event, facts)


_NOUNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "verify": "check",
        "encrypt": "encryption",
        "decrypt": "decryption",
        "rekey": "change of the passphrase",
        "sending_allowed": "permission to send",
    }
)
"""How events are called in a sentence, where they are not nouns themselves."""


def record_in(path: Path, event: str, facts: Mapping[str, Any]) -> str:
    """Record something in the case at a path; return why that was not possible, "" where it was."""
    try:
        with Case(path, create=False, beside=True) as writer:
            writer.custody.record(event, facts)
    except StorageError as error:
        return f"This {_NOUNS.get(event, event)} is not in the custody log of the case: {error}."
    return ""


def record_verify(path: Path, checked: Verification) -> str:
    """Record that a case was checked and is sound; return why not. What is damaged is not written to."""
    if not checked.is_sound:
        return "This check is not in the custody log: nothing is written to a case that is damaged."
    return record_in(path, "verify", {"values": checked.rows, "by": reviewer(), "versions": versions()})


def record_backup(path: Path, out: Path, made: BackedUp) -> str:
    """Record that a case was copied to a file; return why not."""
    facts = {"file": out.name, "sha256": sha256_of(out), "is_sound": made.verification.is_sound}
    return record_in(path, "backup", {**facts, "by": reviewer(), "versions": versions()})


def repair_facts(path: Path) -> dict[str, Any]:
    """Return what the entry that tells of a repair says beside what was lost: from which file, by whom, by what.

    The SHA-256 of the file is None where not all of it can be read. Raises CaseReadOnly where none of it can.
    """
    digest: str | None = None
    with contextlib.suppress(OSError):  # the disk may be what is damaged: what can be read is saved all the same
        digest = sha256_of_case(path)
    return {"file": path.name, "sha256": digest, "by": reviewer(), "versions": versions()}


def record_conversion(path: Path, event: str) -> str:
    """Record that a case was encrypted, decrypted or got another passphrase (`event`); return why not."""
    return record_in(path, event, {"versions": versions()})
