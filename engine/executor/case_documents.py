"""Documents into a case and out of it, without what parses files: who lists or shows them needs no more."""

from __future__ import annotations

import re
from collections import Counter
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from email.utils import parsedate
from itertools import islice

from engine.documents.codec import document_from_json, document_to_json
from engine.documents.document import Document
from engine.errors import CaseError
from engine.rows import DocumentId
from storage.case import Case
from storage.documents import LineRecord
from storage.labels import DocumentFacts, Labels

# What a table shows of a document besides its file: its language and the year it is about, by simple counting.

_LOOKED_AT_LINES = 400
_LEAST_WORDS = 3
_FREQUENT_WORDS = {
    "de": "der die das und ist nicht ein eine von mit dem den auf für sich des wurde",
    "en": "the of and to in that was for with on is his this by at from were",
    "es": "el los las de que y en un por con del una se no fue para su",
    "fr": "le les des et est une dans que pour pas sur du au qui avec par été",
    "it": "il di che è la per un non con del della sono le gli nel una era",
    "nl": "de het een en van niet dat op zijn met voor werd door bij ook aan",
    "pt": "o os as de que e um para com não uma do da em no na foi",
}
_WORDS = {language: frozenset(words.split()) for language, words in _FREQUENT_WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+")
_YEAR = re.compile(r"(?<![\w-])(?:19|20)\d\d(?!\w)")
_MAIL_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")


def language_of(document: Document) -> str:
    """Return the ISO 639-1 code of the language whose most frequent words it has most of; empty when in doubt.

    Known are German, English, Spanish, French, Italian, Dutch and Portuguese.
    """
    seen = Counter(word.lower() for text in _first_lines(document) for word in _WORD.findall(text))
    counts = {language: sum(seen[word] for word in words) for language, words in _WORDS.items()}
    (first, most), (_, second) = Counter(counts).most_common(2)
    return first if most >= _LEAST_WORDS and most > second else ""


def year_of(document: Document) -> int | None:
    """Return the year of a mail's date, else the one its first lines name most often (the later of two); None if none.

    Years beyond next year are no dates of records and do not count.
    """
    metadata = dict(document.metadata)
    sent = str(metadata.get("date", "")) if document.kind == "mail" else ""
    if match := _MAIL_YEAR.search(sent):
        return int(match[1])
    if (parsed := parsedate(sent)) and MINYEAR < parsed[0] < MAXYEAR:  # a year of two digits
        return parsed[0]
    latest = datetime.now(UTC).year + 1
    named = Counter(int(year) for text in _first_lines(document) for year in _YEAR.findall(text))
    counted = [(times, year) for year, times in named.items() if year <= latest]
    return max(counted)[1] if counted else None


def ocr_pages_of(document: Document) -> int:
    """Count the pages whose text came from OCR."""
    return sum(page.source == "ocr" for page in document.pages)


def _first_lines(document: Document) -> list[str]:
    return [line.text for line in islice(document.seen().lines, _LOOKED_AT_LINES)]


def save_document(case: Case, document: Document, seconds: float | None = None) -> None:
    """Put a parsed document, its lines and its facts into the case; `seconds`: how long reading it took."""
    with case.transaction(relaxed=True):
        case.documents.save(
            document.id,
            filename=document.filename,
            kind=document.kind,
            size_bytes=document.size_bytes,
            page_count=len(document.pages),
            body=document_to_json(document),
            lines=(LineRecord(line.number, line.page, line.text, line.hidden) for line in document.lines),
            warnings=document.warnings,
        )
        save_facts(case.labels, document, seconds)


def save_facts(labels: Labels, document: Document, seconds: float | None = None) -> None:
    """Work out and keep what a table shows of a document besides its file."""
    facts = DocumentFacts(ocr_pages_of(document), language_of(document), year_of(document), seconds)
    labels.save_facts(document.id, facts)


def load_document(case: Case, id: DocumentId) -> Document:
    """Read a document of the case; raises storage.errors.NotInCase."""
    body = case.documents.get(id).body
    try:
        return document_from_json(body)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise CaseError(
            f"the case {case.path} is damaged: the pages of document {id} have another form ({error})",
            advice="Restore the case from a backup, or read the file again: `redwell ingest --again`.",
        ) from error
