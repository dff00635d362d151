"""Read the enumerators of list items and sections: '(a)', '4.', 'iv)', '4.2', 'Section 5', '•'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BULLETS = "•●○■□▪▫◦‣⁃➢➤►✓✔❖\uf0b7\uf0a7\uf0d8\uf0fc·"
_BULLET = re.compile(rf"([{_BULLETS}]|[-–—*](?=\s+\S)(?!\s*\d+\s*[-–—]$)|o(?=\s{{2,}}\S))\s*")
_NUMBER = re.compile(
    r"(?P<open>[(\[]?)(?P<number>\d{1,3}(?:\.\d{1,3}){0,4}|[ivxlc]{1,9}|[IVXLC]{1,9}|(?P<twice>[a-z])(?P=twice)?|[A-Z])"
    r"(?P<close>\.\)|[.)\]]|)(?=\s|$|(?<=\.)[A-Z\"“])\s*"
)
_WORDS = (
    "section|article|chapter|part|exhibit|schedule|appendix|annex|clause|item|step|count|allegation|finding|question"
    "|option|phase|rule|standard|example|table|case|incident|complaint|officer|charge|claim|paragraph|task|lot|unit"
)
_WORD = re.compile(
    rf"(?P<word>{_WORDS}|§)\s*(?:no\.?\s*|\#\s*)?(?P<number>\d{{1,3}}(?:\.\d{{1,3}})*+|(?-i:[IVXLC]{{1,9}}|[A-Z]))"
    r"(?:\s*[.:)–—-]+(?!\d)\s*|\s+(?=[\"“]?(?-i:[A-Z]))|\s*$)",
    re.IGNORECASE,
)
_INLINE = re.compile(
    r"(?<=[;:,.—–])\s+(?:(?:and|or|and/or)\s+)?(?=\((?:[a-z]{1,2}|[ivxl]{1,5}|[IVXL]{1,5}|\d{1,2})\)\s)"
)
_FIRST = re.compile(r"\s+(?=\((?:[aiA1I])\)\s)")
_REFERRING = re.compile(
    r"(?:\d|\)|\b(?:sections?|(?:sub-?)?clauses?|(?:sub-?)?paragraphs?|subsections?|articles?|items?|rules?|see))$",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"c?(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")
_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read an enumerator: lists of one style count on; `ordinal` from 1, None for bullets, which do not."""

    style: str
    ordinal: int | None


@dataclass(frozen=True, slots=True)
class Marker:
    """An enumerator and how it may be read: '(i)' is the first roman number or the ninth letter.

    `text` is what stands in the line; `is_inline` says that other text stands before it.
    """

    text: str
    readings: tuple[Reading, ...]
    is_inline: bool = False

    @property
    def is_bullet(self) -> bool:
        """Say whether it is a mark without a number."""
        return self.readings[0].ordinal is None


def markers_of(text: str) -> list[Marker]:
    """Return the enumerators of a line: those it opens with ('4. (a) ...'), then those behind a comma or so."""
    markers: list[Marker] = []
    at = 0
    stripped = text.strip()
    while at < len(stripped) and (hit := _at(stripped, at)):
        markers.append(hit[0])
        at = hit[1]
        if hit[0].is_bullet or len(markers) == 3:
            break
    return [*markers, *_inline(stripped, at)]


def is_named(style: str) -> bool:
    """Say whether enumerators of a style have a word: 'Section 5', 'COUNT I'."""
    return " " in style


def without_marker(text: str) -> str:
    """Return a line without the enumerators it opens with."""
    stripped = text.strip()
    at = 0
    while at < len(stripped) and (hit := _at(stripped, at)):
        at = hit[1]
    return stripped[at:]


def _at(text: str, at: int) -> tuple[Marker, int] | None:
    if bullet := _BULLET.match(text, at):
        return Marker(bullet[1], (Reading(bullet[1], None),)), bullet.end()
    if at == 0 and (word := _WORD.match(text)):
        prefix = f"{word['word'].lower()} "
        readings = tuple(Reading(prefix + r.style, r.ordinal) for r in _readings("", word["number"], ""))
        return (Marker(word[0].strip(), readings), word.end()) if readings else None
    number = _NUMBER.match(text, at)
    if not number or not (number["open"] or number["close"] or "." in number["number"]):
        return None
    if number["open"] and not number["close"]:
        return None
    readings = _readings(number["open"], number["number"], number["close"])
    return (Marker(number[0].strip(), readings), number.end()) if readings else None


def _inline(text: str, begin: int) -> Iterator[Marker]:
    gaps = {gap.end() for gap in _INLINE.finditer(text, begin)}
    gaps |= {gap.end() for gap in _FIRST.finditer(text, begin) if not _REFERRING.search(text[: gap.start()])}
    for at in sorted(gaps):
        number = _NUMBER.match(text, at)
        if number and (readings := _readings(number["open"], number["number"], number["close"])):
            yield Marker(number[0].strip(), readings, is_inline=True)


def _readings(opening: str, number: str, closing: str) -> tuple[Reading, ...]:
    if number[0].isdigit():
        *prefix, last = number.split(".")
        if prefix:
            return (Reading(f"{'.'.join(prefix)}.1", int(last)),)
        return (Reading(f"{opening}1{closing}", int(last)),)
    case = "a" if number.islower() else "A"
    readings = []
    if len(number) <= 2 and len(set(number)) == 1:
        ordinal = ord(number[0].lower()) - ord("a") + 1 + 26 * (len(number) - 1)
        readings.append(Reading(f"{opening}{case}{closing}", ordinal))
    if value := roman_value(number.lower()):
        readings.append(Reading(f"{opening}{'i' if case == 'a' else 'I'}{closing}", value))
    return tuple(readings)


def roman_value(number: str) -> int:
    """Return the value of a roman number up to 199, 0 for what is none."""
    if not number or not _ROMAN.fullmatch(number):
        return 0
    values = [_VALUES[c] for c in number]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))
