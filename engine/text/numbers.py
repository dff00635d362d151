"""Find numbers by value: 1200 is '1,200', '$1,200.00' and, up to twenty, 'ten'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from engine.text.normalise import UNSPACED

_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
WORD_NUMBERS = {word: value for value, word in enumerate(_WORDS.split())}
_NUMERAL = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_LETTER = rf"[^\W{UNSPACED}]"
_MENTION = re.compile(
    rf"(?<!{_LETTER})(?<![.,:/^-])(?:(?P<sign>-)(?!\s))?[$#§]?\s?(?P<number>{_NUMERAL})(?!{_LETTER}|[:/^]|[.,:/-]\d)"
    rf"|(?<!\bno )\b(?P<word>{'|'.join(WORD_NUMBERS)})\b"
    r"(?![ -](?:hundred|thousand|million|billion|dozen|score|thirds?|quarters?|fifths?|halves)\b)"
    r"(?!(?<=twenty)[ -](?:one|two|three|four|five|six|seven|eight|nine)\b)",
    re.IGNORECASE,
)
_VALUE = re.compile(rf"(?P<sign>-)?\s?[$#€£]?\s?(?P<number>{_NUMERAL})\s?%?")
_TENS = re.compile(r"(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)[- ]$", re.IGNORECASE)


def parse_number(text: str) -> Decimal | None:
    """Read a whole text as one number ('$1,200.00', '12%', 'ten'), or return None."""
    text = text.strip()
    if text.lower() in WORD_NUMBERS:
        return Decimal(WORD_NUMBERS[text.lower()])
    match = _VALUE.fullmatch(text)
    return _decimal(match) if match else None


def number_mentions(text: str) -> Iterator[tuple[Decimal, int, int]]:
    """Yield each number of a plain text with its half-open character range.

    Parts of dates, times, versions and codes are not numbers; neither is the 'two' of 'twenty-two', the 'five' of 'five
    hundred' or the 'one' of 'no one'. A dash with a space behind it is no minus (Suspension - 10 days).
    """
    for match in _MENTION.finditer(text):
        if match["word"] is None:
            value = _decimal(match)
            if value is not None:
                yield value, match.start("number"), match.end("number")
        elif not _TENS.search(text, max(0, match.start() - 10), match.start()):
            yield Decimal(WORD_NUMBERS[match["word"].lower()]), match.start(), match.end()


def _decimal(match: re.Match[str]) -> Decimal | None:
    try:
        value = Decimal(match["number"].replace(",", ""))
    except InvalidOperation:
        return None
    return -value if match["sign"] else value
