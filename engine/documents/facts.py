"""What a table shows of a document besides its file: its language and the year it is about, by simple counting."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from itertools import islice

from engine.documents.document import Document

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
    if document.kind == "mail" and (found := _MAIL_YEAR.search(str(metadata.get("date", "")))):
        return int(found[1])
    latest = datetime.now(UTC).year + 1
    named = Counter(int(year) for text in _first_lines(document) for year in _YEAR.findall(text))
    counted = [(times, year) for year, times in named.items() if year <= latest]
    return max(counted)[1] if counted else None


def ocr_pages_of(document: Document) -> int:
    """Count the pages whose text came from OCR."""
    return sum(page.source == "ocr" for page in document.pages)


def _first_lines(document: Document) -> list[str]:
    return [line.text for line in islice(document.seen().lines, _LOOKED_AT_LINES)]
