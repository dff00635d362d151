"""Find dates by value: 2019-03-03 is 'March 3, 2019', '3/3/19', 'MAR 03 2019' and '3rd day of March, 2019'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LATEST_SHORT_YEAR = 68
"""Two-digit years up to this one are 20xx, later ones 19xx (the POSIX rule)."""

_MONTH_NUMBERS = {
    **{"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6},
    **{"jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12},
}
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])\.?"
)
_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])(?!\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:1[89]|20)\d\d)(?!\d)"
_NUMERIC_END = r"(?!\d|[/-]\d)"

_ISO = re.compile(rf"(?<![\d/-]){_YEAR}[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_NUMERIC_END}")
_NUMERIC = re.compile(
    rf"(?<![\d/.-])(?P<a>\d{{1,2}})(?P<mark>[/.-])(?P<b>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}|\d\d){_NUMERIC_END}"
)
_NAME_FIRST = re.compile(
    rf"(?<![a-z]){_MONTH}[\s,-]{{0,3}}{_DAY}(?:(?:[\s,.]{{1,3}}|-){_YEAR}|-(?P<short>\d\d)(?!\d))?", re.IGNORECASE
)
_DAY_FIRST = re.compile(
    rf"(?<![\w/.:-]){_DAY}[\s-]{{0,2}}(?:day of |of )?{_MONTH}(?:[\s,.-]{{0,3}}{_YEAR}|-(?P<short>\d\d)(?!\d))?",
    re.IGNORECASE,
)
_NAME_AND_YEAR = re.compile(rf"(?<![a-z]){_MONTH}(?: of)?[\s,.-]{{1,3}}{_YEAR}", re.IGNORECASE)
_YEAR_AND_MONTH = re.compile(rf"{_YEAR}[-/](?P<month>0[1-9]|1[0-2])")
_YEAR_ALONE = re.compile(_YEAR)
_TIME_OF_DAY = re.compile(r"[T ]\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?\s*(?:Z|[+-]\d\d:?\d\d)?$")
_IN_TEXT = (_ISO, _NUMERIC, _NAME_FIRST, _DAY_FIRST, _NAME_AND_YEAR)
_AS_VALUE = (*_IN_TEXT, _YEAR_AND_MONTH, _YEAR_ALONE)


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A date of which some parts may be unknown (None), never all."""

    year: int | None
    month: int | None
    day: int | None

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


def parse_date(text: str) -> PartialDate | None:
    """Read a whole text as a date, or return None; a time of day behind it is ignored."""
    text = _TIME_OF_DAY.sub("", text.strip())
    for pattern in _AS_VALUE:
        match = pattern.fullmatch(text)
        date = _read(match) if match else None
        if date is not None:
            return date
    return None


def date_mentions(text: str) -> Iterator[tuple[PartialDate, int, int]]:
    """Yield each date in a plain text with its half-open character range. 3/4/2019 is March 4, 13/4/2019 April 13."""
    for pattern in _IN_TEXT:
        for match in pattern.finditer(text):
            date = _read(match)
            if date is not None:
                yield date, match.start(), match.end()


def _read(match: re.Match[str]) -> PartialDate | None:
    groups = match.groupdict()
    if groups.get("name") in ("may", "march"):
        return None  # the verbs; a month has a capital
    day = int(groups["day"]) if groups.get("day") else None
    month = _month(groups)
    if "a" in groups:
        month, day = int(groups["a"]), int(groups["b"])
        if month > 12:
            month, day = day, month
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return None
    return PartialDate(_year(groups.get("year") or groups.get("short")), month, day)


def _month(groups: dict[str, str | None]) -> int | None:
    name, number = groups.get("name"), groups.get("month")
    if name:
        return _MONTH_NUMBERS[name[:3].lower()]
    return int(number) if number else None


def _year(digits: str | None) -> int | None:
    if digits is None or len(digits) > 2:
        return int(digits) if digits else None
    return int(digits) + (2000 if int(digits) <= LATEST_SHORT_YEAR else 1900)
