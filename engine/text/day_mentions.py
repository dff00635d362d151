"""Find the days that a text names, with what of them is not written or can be read in two ways. Nothing is guessed."""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from engine.text.dates import LATEST_SHORT_YEAR
from engine.text.months import month_numbers
from engine.text.normalise import fold, plain

Order = Literal["", "DMY", "MDY", "YMD"]

_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth"),
    *("nineteenth", "twentieth", "twenty-first", "twenty-second", "twenty-third", "twenty-fourth", "twenty-fifth"),
    *("twenty-sixth", "twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first"),
)
_DAY_WORDS = {word: number for number, word in enumerate(_ORDINALS, start=1)}
_YEAR = r"(?P<year>(?:1[5-9]|2[01])\d\d)(?!\d)"
_DAY = r"(?P<day>\d{1,2})(?!\d)(?:s\s?t|n\s?d|r\s?d|t\s?h|er|\.|º|°)?"
_DAY_WORD = rf"(?P<dayword>{'|'.join(sorted(_ORDINALS, key=len, reverse=True))})"
_GAP = r"[\s,.\-/]{0,3}"
_ISO = re.compile(r"(?<![\d/.-])(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?![\d/-])")
_COMPACT = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])(?!\d)")
_NUMERIC = re.compile(
    r"(?<![\d/.-])(?P<a>\d{1,2})(?P<mark>[-/.])\s?(?P<b>\d{1,2})(?P=mark)\s?(?P<y>\d{4}|\d\d)(?![\d/-])"
)
_YEAR_MONTH = re.compile(r"(?<![\d/.-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\d-])")
_YEAR_ALONE = re.compile(rf"(?<![\d/.,-]){_YEAR}(?![/.,-]?\d)")


@dataclass(frozen=True, slots=True)
class DayMention:
    """A day in a text: `iso` as precise as it is written (2019-03-03, 2019-03, 2019), None where it cannot be told.

    `begin` and `end` are half-open in the plain text. `problem` says what is missing or read in a way that needs a
    look.
    """

    iso: str | None
    begin: int
    end: int
    problem: str | None = None

    @property
    def is_whole(self) -> bool:
        """Say whether it is one day."""
        return self.iso is not None and len(self.iso) == 10


def day_mentions(text: str, order: str = "") -> list[DayMention]:
    """List the days a text names, in order of place; `order` reads 03/04/2024 ("": it is a problem)."""
    there = fold(plain(text))
    found: list[DayMention] = []
    for pattern in _patterns():
        for match in pattern.finditer(there):
            if not any(match.start() < other.end and other.begin < match.end() for other in found):
                mention = _read(match, order)
                found += [mention] if mention else []
    return sorted(found, key=lambda mention: mention.begin)


@functools.cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    names = "|".join(sorted(map(re.escape, month_numbers()), key=len, reverse=True))
    month = rf"(?P<name>{names})(?![a-z])\.?"
    short = r"-(?P<short>\d\d)(?!\d)|\s?'(?P<quoted>\d\d)(?!\d)"
    day_first = (
        rf"(?<![\w/.:-])(?:{_DAY}|{_DAY_WORD})(?:\s*\(\d{{1,2}}(?:st|nd|rd|th)?\))?[\s-]{{0,2}}(?:day\s+of[\s-]+|of\s+|de\s+)?"
        rf"{month}(?:{_GAP}(?:of\s+|de\s+|in\s+the\s+year\s+)?{_YEAR}|{short})?"
    )
    name_first = rf"(?<![a-z]){month}[\s,-]{{0,3}}(?:the\s+)?(?:{_DAY}|{_DAY_WORD})(?:{_GAP}{_YEAR}|{short})?"
    name_and_year = rf"(?<![a-z]){month}(?:\s+of|\s+de)?{_GAP}{_YEAR}"
    written = tuple(re.compile(p) for p in (day_first, name_first, name_and_year))
    return (_ISO, _NUMERIC, *written, _COMPACT, _YEAR_MONTH, _YEAR_ALONE)


def _read(match: re.Match[str], order: str) -> DayMention | None:
    groups = match.groupdict()
    if groups.get("a"):
        return _numeric(match, order)
    day_text, word = groups.get("day"), groups.get("dayword")
    day = int(day_text) if day_text else _DAY_WORDS[word] if word else None
    month = month_numbers()[groups["name"]] if groups.get("name") else int(groups.get("month") or 0) or None
    short = groups.get("short") or groups.get("quoted")
    year = int(groups["year"]) if groups.get("year") else _full_year(short)
    return _made(match, year, month, day, _short_note(short, year))


def _numeric(match: re.Match[str], order: str) -> DayMention | None:
    a, b, digits = int(match["a"]), int(match["b"]), match["y"]
    year = int(digits) if len(digits) == 4 else _full_year(digits)
    note = _short_note(digits if len(digits) == 2 else None, year)
    readings = {("DMY"): (b, a), ("MDY"): (a, b)}
    possible = {name: pair for name, pair in readings.items() if _exists(year, *pair)}
    if not possible:
        if len(digits) == 2 and order == "YMD":
            return _made(match, _full_year(match["a"]), b, int(digits), _short_note(match["a"], _full_year(match["a"])))
        return DayMention(None, match.start(), match.end(), f"there is no day {match[0]}")
    if order in possible:
        return _made(match, year, *possible[order], note)
    if len(set(possible.values())) == 1:
        (name, pair), *_ = possible.items()
        other = f"{match[0]} is no day in the declared order {order}" if order and len(possible) == 1 else None
        return _made(match, year, *pair, "; ".join(filter(None, [note, other])) or None)
    dates = " or ".join(_iso(year, *pair) for pair in possible.values())
    told = f"{match[0]} may be {dates}: no order of day and month is declared, as in date(order=DMY)"
    return DayMention(None, match.start(), match.end(), told)


def _made(match: re.Match[str], year: int | None, month: int | None, day: int | None, note: str | None) -> DayMention:
    place = match.start(), match.end()
    if year is None:
        return DayMention(None, *place, "no year is written")
    if not _exists(year, month or 1, day or 1):
        return DayMention(None, *place, f"there is no day {match[0].strip()}")
    missing = "no day is written" if month and not day else "only a year is written" if not month else None
    return DayMention(_iso(year, month, day), *place, missing or note)


def _iso(year: int | None, month: int | None, day: int | None) -> str:
    return f"{year:04}" + (f"-{month:02}" if month else "") + (f"-{day:02}" if month and day else "")


def _exists(year: int | None, month: int, day: int) -> bool:
    try:
        datetime.date(year or 2000, month, day)
    except ValueError:
        return False
    return True


def _full_year(digits: str | None) -> int | None:
    if digits is None:
        return None
    return int(digits) + (2000 if int(digits) <= LATEST_SHORT_YEAR else 1900)


def _short_note(digits: str | None, year: int | None) -> str | None:
    return f"the year {digits} is read as {year}" if digits is not None else None


def spans_between(text: str, mentions: list[DayMention]) -> Iterator[str]:
    """Yield the plain text before the first mention, between two, and behind the last."""
    there, at = fold(plain(text)), 0
    for mention in mentions:
        yield there[at : mention.begin]
        at = mention.end
    yield there[at:]
