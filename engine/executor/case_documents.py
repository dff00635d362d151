"""Documents into a case and out of it, without what parses files: who lists or shows them needs no more."""

from __future__ import annotations

from engine.documents.codec import document_from_json, document_to_json
from engine.documents.document import Document
from engine.documents.facts import language_of, ocr_pages_of, year_of
from engine.errors import CaseError
from engine.rows import DocumentId
from storage.case import Case
from storage.documents import LineRecord
from storage.labels import DocumentFacts


def save_document(case: Case, document: Document, seconds: float | None = None) -> None:
    """Put a parsed document, its lines and its facts into the case; `seconds`: how long reading it took."""
    with case.transaction(relaxed=True):
        case.save_document(
            document.id,
            filename=document.filename,
            kind=document.kind,
            size_bytes=document.size_bytes,
            page_count=len(document.pages),
            body=document_to_json(document),
            lines=(LineRecord(line.number, line.page, line.text, line.hidden) for line in document.lines),
            warnings=document.warnings,
        )
        save_facts(case, document, seconds)


def save_facts(case: Case, document: Document, seconds: float | None = None) -> None:
    """Work out and keep what a table shows of a document besides its file."""
    facts = DocumentFacts(ocr_pages_of(document), language_of(document), year_of(document), seconds)
    case.save_facts(document.id, facts)


def load_document(case: Case, id: DocumentId) -> Document:
    """Read a document of the case; raises storage.errors.NotInCase."""
    body = case.document(id).body
    try:
        return document_from_json(body)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise CaseError(
            f"the case {case.path} is damaged: the pages of document {id} have another form ({error})",
            advice="Restore the case from a backup, or read the file again: `redwell ingest --again`.",
        ) from error
