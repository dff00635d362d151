"""Opening a case, and what is in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.executor.case_documents import load_document, save_facts
from engine.rows import DocumentId
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from storage.case import Case
from storage.errors import CaseEncrypted, CaseLocked, CaseReadOnly, WrongPassphrase

FACTS_AT_ONCE = 100
"""Documents of an older case that get their facts in one question."""


@dataclass(frozen=True, slots=True)
class CaseSummary:
    """What is in a case. `writer`: the process that writes to it now, None when nobody does."""

    path: str
    name: str
    documents: int
    pages: int
    failures: int
    runs: int
    writer: int | None
    is_encrypted: bool = False


@dataclass(frozen=True, slots=True)
class OpenedCase:
    """A case that can be asked. `read_only`: why it cannot be changed, empty when it can.

    `locked`: why there is no summary: a passphrase is "needed", or the one that was given is "wrong".
    """

    summary: CaseSummary | None
    read_only: str
    locked: Literal["", "needed", "wrong"] = ""


@query("case.open", lane="edit")
def open_case(desk: Desk, *, case: str, create: bool = False) -> OpenedCase:
    """Open a case, upgrading an older one; make it if `create` is set and it is not there.

    An encrypted one is opened, or made, with the passphrase of the command `unlock` before.
    """
    path = Path(case).expanduser()
    refused = ""
    try:
        try:
            with Case(path, create=create, beside=True):
                pass
        except (CaseLocked, CaseReadOnly) as error:
            refused = str(error)
        return OpenedCase(_summary(desk.reading(case)), refused)
    except WrongPassphrase:
        return OpenedCase(None, "", "wrong")
    except CaseEncrypted:
        return OpenedCase(None, "", "needed")


@query("case.summary")
def summary(desk: Desk, *, case: str) -> CaseSummary:
    """Count what is in a case."""
    return _summary(desk.reading(case))


@query("case.complete_facts", lane="edit")
def complete_facts(desk: Desk, *, case: str) -> int:
    """Work out language, year and OCR pages of some documents read by an earlier version; return how many were left."""
    missing = desk.reading(case).labels.documents_without_facts(FACTS_AT_ONCE + 1)
    if not missing:
        return 0
    with desk.writing(case) as opened:
        for document in missing[:FACTS_AT_ONCE]:
            save_facts(opened.labels, load_document(opened, DocumentId(document)))
    return len(missing) - len(missing[:FACTS_AT_ONCE])


def _summary(case: Case) -> CaseSummary:
    return CaseSummary(
        path=str(case.path),
        name=case.path.stem,
        documents=case.listing.count_documents(),
        pages=case.listing.count_pages(),
        failures=case.listing.count_failures(),
        runs=len(case.runs.all()),
        writer=case.writer_pid,
        is_encrypted=case.is_encrypted,
    )
