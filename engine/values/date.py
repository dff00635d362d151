"""date and date_range: days by ISO 8601, beside the words of the document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from engine.errors import UsageError
from engine.language.position import did_you_mean
from engine.text.dates import DateMention, Order, date_mentions, month_numbers, text_before
from engine.text.normalise import fold, plain
from engine.values.base import Normalised, ValueType

_ORDERS = tuple(order for order in get_args(Order) if order)
_SAME_MONTH = re.compile(
    r"(?<![\w/.-])(?P<first>\d{1,2})(?:st|nd|rd|th|\.)?\s*(?:-|to|bis|au|until|through|and)\s*"
    r"(?P<rest>\d{1,2}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?[a-z.]{3,12},?\s+\d{4})"
)
_SAME_MONTH_NAME_FIRST = re.compile(
    r"(?P<month>[a-z]{3,12}\.?)\s+(?P<first>\d{1,2})(?:st|nd|rd|th)?\s*(?:-|to|through|and)\s*"
    r"(?P<last>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})"
)
_SAME_YEAR = re.compile(
    r"(?P<first>[a-z]{3,12}\.?\s+\d{1,2}|\d{1,2}\.?\s+[a-z]{3,12}\.?|[a-z]{3,12})\s*(?:-|to|through|until|bis)\s*"
    r"(?P<rest>(?:[a-z]{3,12}\.?\s+\d{1,2},?|\d{1,2}\.?\s+[a-z]{3,12}\.?|[a-z]{3,12})\s+(?P<year>\d{4}))"
)
_ENDS = re.compile(
    r"\b(?:until|till|through|to|before|ending|ends?|expir\w+|no later than|by|bis|jusqu'au)\W*"
    r"(?:and including\W*)?(?:the\s+)?$"
)
_INTERVAL = re.compile(r"(?<![\d/.-])(?P<start>\d{4}(?:-\d\d-\d\d)?)\s*[/-]\s*(?P<end>\d{4}(?:-\d\d-\d\d)?)(?![\d/.-])")


@dataclass(frozen=True, slots=True)
class _Ordered(ValueType):
    """A type whose days may be written as 03/04/2024: `order` says how that is meant."""

    option_names = ("order",)

    order: str = ""

    def __post_init__(self) -> None:
        if self.order not in get_args(Order):
            advice = did_you_mean(self.order, _ORDERS)
            raise UsageError(f"{self.order!r} is no order of day, month and year", advice=advice)


@dataclass(frozen=True, slots=True)
class Date(_Ordered):
    """A day, as `iso` (YYYY-MM-DD; YYYY-MM or YYYY where no more is written).

    `order` is how 03/04/2024 is meant; without it such a date has no `iso`, and the problem says why.
    """

    name = "date"
    parts = ("iso",)

    def text(self) -> str:
        """Write the type; `date` alone is the plain ISO day of a schema."""
        return f"date(order={self.order})" if self.order else "date()"

    def read(self, written: Any) -> Normalised:
        """Read the one day that the text names; several different ones are a problem."""
        original = str(written).strip()
        mentions = date_mentions(original, self.order)
        whole = [mention for mention in mentions if mention.is_whole]
        candidates = whole if whole and len({m.iso for m in whole}) == 1 and _only_years(mentions) else mentions
        if not candidates:
            return Normalised(None, original, "no date is written in it")
        if len({m.iso or m.problem for m in candidates}) > 1:
            days = ", ".join(m.iso or m.problem or "" for m in candidates)
            return Normalised(None, original, f"it names {len(candidates)} dates: {days}")
        mention = min(candidates, key=lambda m: m.problem is not None)  # 3/3/19 (March 3, 2019): one writes the year
        return Normalised({"iso": mention.iso} if mention.iso else None, original, mention.problem)

    def mentions(self, text: str) -> Sequence[tuple[int, int]]:
        """List the whole days of a text."""
        return [(day.begin, day.end) for day in date_mentions(text, self.order) if day.is_whole]


def _only_years(mentions: list[DateMention]) -> bool:
    """Say whether all that is no whole day is a bare year, which says nothing against the day."""
    return all(mention.is_whole or (mention.iso is not None and len(mention.iso) == 4) for mention in mentions)


@dataclass(frozen=True, slots=True)
class DateRange(_Ordered):
    """From `start` to `end`, both inclusive, as ISO days; one of them is null where it is not written as a date."""

    name = "date_range"
    parts = ("start", "end")
    tokens = 20

    def read(self, written: Any) -> Normalised:
        """Read the two days that the text names, or the one with the word (`from`, `until`) that says which it is."""
        original = str(written).strip()
        spelled = _spelled_out(original)
        mentions = date_mentions(spelled, self.order)
        if not mentions:
            return Normalised(None, original, "no date is written in it")
        if len(mentions) > 2:
            return Normalised(
                None, original, f"it names {len(mentions)} dates: {', '.join(m.iso or '?' for m in mentions)}"
            )
        problems = [mention.problem for mention in mentions if mention.problem]
        if len(mentions) == 1:
            part, other = ("end", "start") if _ENDS.search(text_before(spelled, mentions[0])) else ("start", "end")
            problems.append(f"no {other} is written as a date")
            days = {"start": None, "end": None, part: mentions[0].iso}
        else:
            days = {"start": mentions[0].iso, "end": mentions[1].iso}
        start, end = days["start"], days["end"]
        if start and end and start[: len(end)] > end[: len(start)]:
            problems.append(f"it ends ({end}) before it begins ({start})")
        return Normalised(days if start or end else None, original, "; ".join(problems) or None)


def _spelled_out(text: str) -> str:
    """Write both days of `3-5 March 2024` and `March 3 to April 5, 2024` in full."""
    spelled = _INTERVAL.sub(r"\g<start> to \g<end>", fold(plain(text)))
    if match := _SAME_MONTH.search(spelled):
        month = re.sub(r"^\d{1,2}(?:st|nd|rd|th|\.)?\s+", "", match["rest"])
        spelled = f"{spelled[: match.start()]}{match['first']} {month} to {match['rest']}{spelled[match.end() :]}"
    elif match := _first_with_month(_SAME_MONTH_NAME_FIRST, "month", spelled):
        days = (
            f"{match['month']} {match['first']}, {match['year']} to {match['month']} {match['last']}, {match['year']}"
        )
        spelled = f"{spelled[: match.start()]}{days}{spelled[match.end() :]}"
    elif match := _first_with_month(_SAME_YEAR, "first", spelled):
        spelled = (
            f"{spelled[: match.start()]}{match['first']}, {match['year']} to {match['rest']}{spelled[match.end() :]}"
        )
    return spelled


def _first_with_month(pattern: re.Pattern[str], group: str, text: str) -> re.Match[str] | None:
    """Find the first match whose group names a month: `valid through March 3, 2024` begins on no day."""
    months = month_numbers()
    words = re.compile(r"[a-z]+")
    return next((m for m in pattern.finditer(text) if any(w in months for w in words.findall(m[group]))), None)
