"""Opening a case, and what is in it."""

from __future__ import annotations

from engine.executor.case_documents import load_document, save_facts
from engine.rows import DocumentId
from engine.worker.contract import case as contract
from engine.worker.contract.case import CaseSummary, OpenedCase
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from models.paths import expanded
from storage.case import Case
from storage.errors import CaseEncrypted, CaseLocked, CaseReadOnly, WrongPassphrase

FACTS_AT_ONCE = 100
"""Documents of an older case that get their facts in one question."""


@query(contract.OPEN, lane="edit")
def open_case(desk: Desk, *, case: str, create: bool = False) -> OpenedCase:
    """Open a case, upgrading an older one; make it if `create` is set and it is not there.

    An encrypted one is opened, or made, with the passphrase of the command `unlock` before.
    """
    path = expanded(case)
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


@query(contract.SUMMARY)
def summary(case: Case) -> CaseSummary:
    """Count what is in a case."""
    return _summary(case)


@query(contract.COMPLETE_FACTS, lane="edit")
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
        is_encrypted=case.is_encrypted,
    )
