"""Find dates by value: 2019-03-03 is 'March 3, 2019', '3/3/19', '3. März 2019' and '3rd day of March, 2019'."""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from engine.text.normalise import fold, plain

Order = Literal["", "DMY", "MDY", "YMD"]
"""How day, month and year stand in 03/04/2024; "" where nobody says."""

USUAL_ORDER: Order = "MDY"
"""How police and court records of the United States are read where a date is only looked for."""

LATEST_SHORT_YEAR = 68
"""Two-digit years up to this one are 20xx, later ones 19xx (the POSIX rule)."""

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "sv", "da")
"""Languages whose months are known. Those whose dates are written in other scripts or orders are not among them."""

_ALSO_MONTHS = {"sept": 9, "setembre": 9}
_VERBS = ("may", "march")
_SHORTEST_FOREIGN = 4
"""Letters of a foreign month that is read without its year: 'out' and 'set' are months in Portuguese and Italian."""

_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth"),
    *("nineteenth", "twentieth", "twenty-first", "twenty-second", "twenty-third", "twenty-fourth", "twenty-fifth"),
    *("twenty-sixth", "twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first"),
)
_DAY_WORDS = {word: number for number, word in enumerate(_ORDINALS, start=1)}
_YEAR = r"(?P<year>(?:1[5-9]|2[01])\d\d)(?!\d|\s*(?:hours?|hrs?)\b)"
_SHORT = r"-(?P<short>\d\d)(?!\d)|,?\s?'(?P<quoted>\d\d)(?!\d)"
_BEFORE_YEAR = r"(?:of\s+|del?\s+(?:ano\s+)?|in\s+the\s+year\s+|a\.?\s?d\.?\s+)?"
_DAY = r"(?P<day>\d{1,2})(?!\d)(?:s\s?t|n\s?d|r\s?d|t\s?h|er|\.|o(?![a-z])|°)?"
_DAY_WORD = rf"(?P<dayword>{'|'.join(sorted(_ORDINALS, key=len, reverse=True)).replace('-', '[ -]')})"
_MONTH = r"(?P<name>[a-z]{3,12}+)(?![a-z])\.?"
_GAP = r"[\s,.\-/]{0,3}"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<![\d/.-])(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?![\d/-])",
        # A dash before or behind it may join it to another such date; a letter is a digit that OCR misread (20l9).
        r"(?:(?<![\d/.-])(?<!\b[a-z])|(?<=[/.]\d{4}-)|(?<=[/.]\d\d-))"
        r"(?P<a>\d{1,2})(?P<mark>[-/.])\s?(?P<b>\d{1,2})(?P=mark)\s?"
        r"(?P<y>\d{4}|\d\d(?![a-su-z]|t(?!\d)))(?!\d|/|-(?!\d{1,2}[/.]\d))",
        rf"(?<![\w/.:-])(?:{_DAY}|{_DAY_WORD})(?:\s*\(\d{{1,2}}(?:st|nd|rd|th)?\))?[\s-]{{0,2}}"
        rf"(?:day\s+of[\s-]+|of\s+|de\s+)?{_MONTH}(?:{_GAP}{_BEFORE_YEAR}{_YEAR}|{_SHORT})?",
        rf"(?<![a-z]){_MONTH}[\s,-]{{0,3}}(?:the\s+)?(?:{_DAY}|{_DAY_WORD})(?:{_GAP}{_BEFORE_YEAR}{_YEAR}|{_SHORT})?",
        rf"(?<![a-z]){_MONTH}{_GAP}{_BEFORE_YEAR}{_YEAR}",
        r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])(?!\d)",
        r"(?<![\d/.-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\d-])",
        rf"(?<![\d/.,-]){_YEAR}(?![/.,-]?\d)",
    )
)
_TIME_OF_DAY = re.compile(r"[T ]\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?\s*(?:Z|[+-]\d\d:?\d\d)?$")


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A date of which some parts may be unknown (None), never all."""

    year: int | None
    month: int | None
    day: int | None

    @property
    def iso(self) -> str | None:
        """Write it as precisely as it is known: 2019-03-03, 2019-03, 2019; None without a year."""
        if self.year is None:
            return None
        month = f"-{self.month:02}" if self.month else ""
        return f"{self.year:04}{month}" + (f"-{self.day:02}" if month and self.day else "")

    def agreement(self, mention: PartialDate, *, year_is_known: bool) -> float:
        """Score how well a mention in the text supports this value: 0 (not at all) to 1.

        A mention that is more precise supports a value that is less so. One without its year ('on March 3')
        supports a full date only if `year_is_known`, that is, the year stands elsewhere in the document.
        """
        pairs = ((self.month, mention.month), (self.day, mention.day))
        if any(mine is not None and mine != other for mine, other in pairs):
            return 0.0
        if self.year is None or self.year == mention.year:
            return 0.97 if self.day is not None else 0.9
        return 0.8 if mention.year is None and self.day is not None and year_is_known else 0.0


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date in a text. `begin` and `end` are half-open in the plain text.

    `date` is None where it can be read in two ways or is no day of the calendar; `problem` says so, and what is
    missing or read in a way that needs a look.
    """

    date: PartialDate | None
    begin: int
    end: int
    problem: str | None = None

    @property
    def iso(self) -> str | None:
        """Return the date as PartialDate.iso does."""
        return self.date.iso if self.date else None

    @property
    def is_whole(self) -> bool:
        """Say whether it is one day."""
        return self.date is not None and None not in _parts(self.date)


def parse_date(text: str, order: str = USUAL_ORDER) -> PartialDate | None:
    """Read a whole text as a date, or return None; a time of day behind it is ignored."""
    text = _TIME_OF_DAY.sub("", plain(text))
    whole = (m.date for m in date_mentions(text, order) if (m.begin, m.end) == (0, len(text)))
    return next(whole, None)


def dates_in(text: str) -> Iterator[tuple[PartialDate, int, int]]:
    """Yield each date of a plain text that names a month or a day, with its half-open character range.

    3/4/2019 is March 4 (USUAL_ORDER), 13/4/2019 April 13.
    """
    for mention in _mentions(text, USUAL_ORDER):
        if mention.date is not None and mention.date.month is not None:
            yield mention.date, mention.begin, mention.end


def date_mentions(text: str, order: str = "") -> list[DateMention]:
    """List the dates a text names, in order of place; `order` reads 03/04/2024 ("": it is a problem)."""
    return _mentions(plain(text), order)


def _mentions(text: str, order: str) -> list[DateMention]:
    folded = _fold_in_place(text)
    mentions = [
        (_unknown_parts(mention), number, mention)
        for number, pattern in enumerate(_PATTERNS)
        for match in pattern.finditer(folded)
        if (mention := _read(match, text, order)) is not None
    ]
    # `paragraph 5 March 3, 2019` is March 3: of two that overlap the one that says more counts.
    chosen: list[DateMention] = []
    taken = bytearray(len(text))
    for _, _, mention in sorted(mentions, key=lambda item: item[:2]):
        if not any(taken[mention.begin : mention.end]):
            taken[mention.begin : mention.end] = b"\1" * (mention.end - mention.begin)
            chosen.append(mention)
    return sorted(chosen, key=lambda mention: mention.begin)


@functools.cache
def month_numbers() -> Mapping[str, int]:
    """Map names of months in any of LANGUAGES, folded and without a final point, to 1..12 (CLDR, through Babel).

    Names that mean two months are left out.
    """
    numbers: dict[str, set[int]] = {name: {number} for name, number in _ALSO_MONTHS.items()}
    for language in LANGUAGES:
        for name, number in _months_of(language):
            numbers.setdefault(name, set()).add(number)
    return {name: min(those) for name, those in numbers.items() if len(those) == 1 and not name.isdigit()}


@functools.cache
def _english_months() -> frozenset[str]:
    return frozenset({"sept", *(name for name, _ in _months_of("en"))})


def _months_of(language: str) -> Iterator[tuple[str, int]]:
    from babel import Locale  # noqa: PLC0415 - 20 ms, for texts with dates only

    months = Locale(language).months
    for form in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for number, name in months[form][width].items():
                yield fold(name).rstrip("."), number


def _fold_in_place(text: str) -> str:
    folded = fold(text)
    if len(folded) == len(text):
        return folded
    return "".join(letter if len(letter := fold(c)) == 1 else c for c in text)


def _unknown_parts(mention: DateMention) -> int:
    date = mention.date
    return 0 if date is None else _parts(date).count(None)


def _parts(date: PartialDate) -> tuple[int | None, int | None, int | None]:
    return date.year, date.month, date.day


def _read(match: re.Match[str], text: str, order: str) -> DateMention | None:
    groups = match.groupdict()
    if groups.get("a"):
        return _numeric(match, order)
    day_text, word = groups.get("day"), groups.get("dayword")
    day = int(day_text) if day_text else _DAY_WORDS[word.replace(" ", "-")] if word else None
    short = groups.get("short") or groups.get("quoted")
    year = int(groups["year"]) if groups.get("year") else _full_year(short)
    if groups.get("name"):
        month = month_numbers().get(groups["name"])
        if month is None or (
            year is None and not _is_month_without_year(text[match.start("name") : match.end("name")])
        ):
            return None
    else:
        month = int(groups["month"]) if groups.get("month") else None
    return _mention(match, PartialDate(year, month, day), _short_note(short, year))


def _is_month_without_year(word: str) -> bool:
    """Tell `May 5` and `3. Januar` from the verbs (`may 5`) and from words that are months in other languages."""
    name = fold(word)
    if name in _english_months():
        return not (word.islower() and name in _VERBS)
    return len(name) >= _SHORTEST_FOREIGN


def _numeric(match: re.Match[str], order: str) -> DateMention | None:
    a, b, digits = int(match["a"]), int(match["b"]), match["y"]
    year = int(digits) if len(digits) == 4 else _full_year(digits)
    note = _short_note(digits if len(digits) == 2 else None, year)
    readings = {"DMY": PartialDate(year, b, a), "MDY": PartialDate(year, a, b)}
    if order == "YMD" and len(match["a"]) == len(digits) == 2:
        readings["YMD"] = PartialDate(_full_year(match["a"]), b, int(digits))
    possible = {name: date for name, date in readings.items() if _exists(date)}
    if not possible:
        return DateMention(None, match.start(), match.end(), f"there is no day {match[0]}")
    if order in possible:
        short = match["a"] if order == "YMD" else digits
        return _mention(match, possible[order], _short_note(short if len(digits) == 2 else None, possible[order].year))
    if len(set(possible.values())) == 1:
        date = next(iter(possible.values()))
        other = f"{match[0]} is no day in the declared order {order}" if order and len(possible) == 1 else None
        return _mention(match, date, "; ".join(filter(None, [note, other])) or None)
    dates = " or ".join(str(date.iso) for date in possible.values())
    problem = f"{match[0]} may be {dates}: no order of day and month is declared, as in date(order=DMY)"
    return DateMention(None, match.start(), match.end(), problem)


def _mention(match: re.Match[str], date: PartialDate, note: str | None) -> DateMention:
    place = match.start(), match.end()
    if not _exists(date):
        return DateMention(None, *place, f"there is no day {match[0].strip()}")
    if date.year is None:
        return DateMention(date, *place, "no year is written")
    missing = "only a year is written" if not date.month else "no day is written" if not date.day else None
    return DateMention(date, *place, missing or note)


def _exists(date: PartialDate) -> bool:
    written = zip(_parts(date), (2000, 1, 1), strict=True)
    try:
        datetime.date(*(usual if part is None else part for part, usual in written))
    except ValueError:
        return False
    return True


def _full_year(digits: str | None) -> int | None:
    if digits is None:
        return None
    return int(digits) + (2000 if int(digits) <= LATEST_SHORT_YEAR else 1900)


def _short_note(digits: str | None, year: int | None) -> str | None:
    return f"the year {digits} is read as {year}" if digits is not None else None


def text_before(text: str, mention: DateMention) -> str:
    """Return the text before a mention, folded."""
    return _fold_in_place(plain(text))[: mention.begin]
