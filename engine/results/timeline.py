"""Rows in the order of the dates that a column names, with the time between them; no date is guessed."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from engine.errors import UsageError
from engine.language.position import did_you_mean
from engine.results.values import is_empty, shown
from engine.text.dates import PartialDate, date_mentions, parse_date
from engine.values.base import PROBLEM
from engine.values.cells import dated_parts, is_typed
from storage.export.table import ResultTable, free_name

SAMPLED_CELLS = 200
"""Filled cells that tell whether a column holds dates."""
SHARE_OF_DATES = 0.5
"""From which share of them on a column of texts does. A column of numbers must have years in all of them."""
_LONGEST_DATE = 60
_LONG_GAP_DAYS = 7
_LONG_GAP_SHARE = 0.05
"""A gap is long from so many days on that are this share of all the time between first and last date."""
_MONTHS_IN_WORDS = 2
_YEARS_IN_WORDS = 24
_WEEKS_IN_WORDS = 14


@dataclass(frozen=True, slots=True)
class Entry:
    """One date of one row: `date` as precisely as it is written (2019, 2019-03, 2019-03-04), its first and last day.

    `path` leads to it inside a cell that holds a list or object (`acts[0].date`), else it is the column.
    `gap_days` are the days before it on which nothing is dated; `gap` says so where they are many.
    """

    row: str
    path: str
    date: str
    first: datetime.date
    last: datetime.date
    gap_days: int = 0
    gap: str = ""


@dataclass(frozen=True, slots=True)
class Undated:
    """A text that is no sure date, and why; `text` is empty for an empty cell."""

    row: str
    path: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The dates of a column, earliest first, and what is no sure date, in the order of the rows.

    A row with several dates has an entry for each; every row is in one of the two, or in both.
    """

    column: str
    entries: tuple[Entry, ...]
    undated: tuple[Undated, ...]


def make_timeline(rows: Iterable[tuple[str, Any]], column: str) -> Timeline:
    """Order rows, given as id and cell of the column, by the dates in the cell."""
    items = [item for row, value in rows for item in _read(row, column, value)]
    entries = [item for item in items if isinstance(item, Entry)]
    entries.sort(key=lambda entry: (entry.first, entry.last))  # equal dates stay in the order of the rows
    return Timeline(column, tuple(_with_gaps(entries)), tuple(item for item in items if isinstance(item, Undated)))


def date_columns(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the columns that hold dates, judged by their first filled cells."""
    return tuple(column for column in columns if _holds_dates(column, rows))


def choose_dates(wanted: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the column that is named, or for no name the first that holds dates; raises UsageError."""
    if wanted:
        if wanted not in columns:
            raise UsageError(f"the results have no column {wanted!r}", advice=did_you_mean(wanted, columns))
        return wanted
    if not (dates := date_columns(columns, rows)):
        raise UsageError("no column of the results holds dates", advice=f"Columns: {', '.join(columns)}.")
    return dates[0]


def timeline_table(table: ResultTable, column: str) -> ResultTable:
    """Return the rows of a table by date, with their citations; those without a sure date come last and say why.

    The columns before its own are the date, the days without an entry before it, and why there is no date.
    """
    by_id = {row.id: row for row in table.rows}
    timeline = make_timeline(((row.id, row.values.get(column)) for row in table.rows), column)
    added: list[str] = []
    for name in ("timeline_date", "days_without_entry", "no_sure_date"):
        added.append(free_name(name, {*table.columns, *added}))
    said: list[tuple[str, tuple[Any, ...]]] = [(e.row, (e.date, e.gap_days, None)) for e in timeline.entries]
    said += [(u.row, (None, None, f"{u.text}: {u.reason}" if u.text else u.reason)) for u in timeline.undated]
    rows = [replace(by_id[id], values={**by_id[id].values, **dict(zip(added, new, strict=True))}) for id, new in said]
    return replace(table, columns=(*added, *table.columns), rows=tuple(rows), plain=table.plain | frozenset(added))


def gap_in_words(before: datetime.date, after: datetime.date) -> str:
    """Say how long nothing is dated between two days, in whole years, months, weeks or days.

    >>> gap_in_words(datetime.date(2019, 3, 4), datetime.date(2019, 6, 10))
    '3 months without an entry'
    """
    months = (after.year - before.year) * 12 + after.month - before.month - (after.day < before.day)
    days = (after - before).days - 1
    if months >= _YEARS_IN_WORDS:
        return f"{months // 12} years without an entry"
    if months >= _MONTHS_IN_WORDS:
        return f"{months} months without an entry"
    if days >= _WEEKS_IN_WORDS:
        return f"{days // 7} weeks without an entry"
    return f"{days} {'day' if days == 1 else 'days'} without an entry"


def _with_gaps(entries: Sequence[Entry]) -> Iterator[Entry]:
    if not entries:
        return
    span = (max(entry.last for entry in entries) - entries[0].first).days
    latest = entries[0].last
    yield entries[0]
    for entry in entries[1:]:
        days = max((entry.first - latest).days - 1, 0)
        is_long = days >= max(_LONG_GAP_DAYS, span * _LONG_GAP_SHARE)
        yield replace(entry, gap_days=days, gap=gap_in_words(latest, entry.first) if is_long else "")
        latest = max(latest, entry.last)


def _read(row: str, path: str, value: Any) -> Iterator[Entry | Undated]:
    """Yield the dates in a cell, and each text in it that is none; an empty cell is one of these."""
    if is_typed(value):
        yield _of_typed(row, path, value)
    elif is_empty(value):
        yield Undated(row, path, "", "the cell is empty")
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _read(row, f"{path}[{number}]", item)
    elif isinstance(value, dict):
        yield from _of_object(row, path, value)
    else:
        yield _of_text(row, path, shown(value))


def _of_object(row: str, path: str, value: Mapping[str, Any]) -> Iterator[Entry | Undated]:
    """Yield the dates of an object; only where it has none, what it holds is listed, whole."""
    inner = [item for key, each in value.items() for item in _read(row, f"{path}.{key}", each)]
    dates = [item for item in inner if isinstance(item, Entry)]
    if dates:
        doubtful = [item for item in inner if isinstance(item, Undated) and item.reason.startswith(_TWO_READINGS)]
        yield from dates
        yield from doubtful
    else:
        yield Undated(row, path, shown(dict(value)), "it names no date")


def _of_typed(row: str, path: str, value: Mapping[str, Any]) -> Entry | Undated:
    """Read the parts of a date: a range is one entry from its first day to its last. Badges and sums are no years."""
    dates = [date for part in dated_parts(value) if (date := _sure(part)) is not None]
    if not dates:
        return Undated(row, path, shown(value), _two_readings(str(value[PROBLEM] or "it names no date")))
    firsts, lasts = [_first_day(date) for date in dates], [_last_day(date) for date in dates]
    written = " to ".join(dict.fromkeys(str(date.iso) for date in dates))
    return Entry(row, path, written, min(firsts), max(lasts))


def _of_text(row: str, path: str, text: str) -> Entry | Undated:
    if len(text) > _LONGEST_DATE:
        return Undated(row, path, text, "it is more than a date")
    date = _sure(text)
    if date is None:
        return Undated(row, path, text, _why_not(text))
    return Entry(row, path, str(date.iso), _first_day(date), _last_day(date))


_TWO_READINGS = "it may be "
_MAY_BE = " may be "


def _why_not(text: str) -> str:
    mentions = date_mentions(text)
    for mention in mentions:
        if mention.date is None and mention.problem and _MAY_BE in mention.problem:
            return _two_readings(mention.problem)
        if mention.date is None or mention.date.year is None:
            return mention.problem or "no year is written"
    return "it is more than a date" if mentions else "it names no date"


def _two_readings(problem: str) -> str:
    """Word the problem of a date that can be read in two ways as all lists do; return any other as it is."""
    readings = problem.partition(_MAY_BE)[2].partition(":")[0]
    if not date_mentions(readings):
        return problem
    return f"{_TWO_READINGS}{readings}: no order of day and month is declared"


def _sure(text: str) -> PartialDate | None:
    """Read a text that is a date with its year and can be read in one way."""
    date = parse_date(text, order="") if len(text) <= _LONGEST_DATE else None
    return date if date is not None and date.year is not None else None


def _first_day(date: PartialDate) -> datetime.date:
    return datetime.date(date.year or 1, date.month or 1, date.day or 1 if date.month else 1)


def _last_day(date: PartialDate) -> datetime.date:
    year, month = date.year or 1, date.month or 12
    last = calendar.monthrange(year, month)[1]
    return datetime.date(year, month, (date.day or last) if date.month else last)


def _holds_dates(column: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    filled = list(islice((v for row in rows if not is_empty(v := row.get(column))), SAMPLED_CELLS))
    if not filled or any(isinstance(value, bool) for value in filled):
        return False
    dates = sum(map(_may_be_date, filled))
    if all(isinstance(value, int | float) for value in filled):
        return dates == len(filled)
    return dates >= len(filled) * SHARE_OF_DATES


def _may_be_date(value: Any) -> bool:
    """Say whether a cell names a date, be it one that can be read in two ways."""
    return any(isinstance(f, Entry) or f.reason.startswith(_TWO_READINGS) for f in _read("", "", value))
