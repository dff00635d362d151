"""Functions of expressions over days: ISO texts (2024-03-15), or typed dates of a schema."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any


class Unknown(ValueError):
    """A value that an expression needs is not known, and why; the expression has no value then."""


def read_day(value: Any) -> datetime.date:
    """Read a day; raises Unknown for null, a date that could not be read or has no day, and TypeError for others."""
    if isinstance(value, Mapping) and "iso" in value:
        if value["iso"] is None:
            raise Unknown(f"the date {value.get('original')!r} is not known: {value.get('problem')}")
        value = value["iso"]
    if value is None:
        raise Unknown("a date is null")
    if not isinstance(value, str):
        raise TypeError(f"a date is a text YYYY-MM-DD, not {type(value).__name__}")
    with suppress(ValueError):
        if len(text := value.strip()) > 10:
            datetime.datetime.fromisoformat(text)  # a day with its time, and nothing else
        if len(text) >= 10:
            return datetime.date.fromisoformat(text[:10])
    raise Unknown(f"{value!r} is no whole day, YYYY-MM-DD")


def days_between(start: Any, end: Any) -> int:
    """Count the days from `start` to `end`; negative where it ends before it starts."""
    return (read_day(end) - read_day(start)).days


def months_between(start: Any, end: Any) -> int:
    """Count the whole months from `start` to `end`: 1 from 31 January to 29 February 2024, its last day."""
    first, last = read_day(start), read_day(end)
    if last < first:
        return -months_between(end, start)
    months = (last.year - first.year) * 12 + last.month - first.month
    return months if _moved(first, months) <= last else months - 1


def years_between(start: Any, end: Any) -> int:
    """Count the whole years from `start` to `end`, as one counts an age."""
    months = months_between(start, end)
    return months // 12 if months >= 0 else -(-months // 12)


def add_days(day: Any, days: int) -> str:
    """Return the day so many days later."""
    return (read_day(day) + datetime.timedelta(days=int(days))).isoformat()


def add_months(day: Any, months: int) -> str:
    """Return the same day so many months later, or the last one of a month that has no such day."""
    return _moved(read_day(day), int(months)).isoformat()


def _moved(day: datetime.date, months: int) -> datetime.date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return datetime.date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


DATE_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "days_between": days_between,
    "months_between": months_between,
    "years_between": years_between,
    "add_days": add_days,
    "add_months": add_months,
}
