"""The results of a run in memory, with what reviewers said: what sorting, filtering, grouping and charts need."""

from __future__ import annotations

import functools
import operator
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from engine.errors import UsageError
from engine.language.position import did_you_mean
from engine.results.doubt import doubt_of
from engine.results.same_question import new_rows, runs_of_question
from engine.results.values import date_of, is_empty, items, leaves, number_of, shown, sort_key
from engine.values.base import ORIGINAL
from engine.values.cells import is_typed, parts
from storage.case import Case
from storage.folding import folded
from storage.result_rows import DeliveredRow
from storage.reviewed import NO_REVIEW, ReviewBook, RowReview, reviews_of_rows
from storage.reviews import RowIdentity

KEPT_TABLES = 2
KEPT_SELECTIONS = 8


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows, in which order: all that fit every part that is given.

    `sort` empty: the order of the run, or with `least_agreed_first` by the doubt about them (engine.results.doubt).
    `only_new`: rows that the last run of the question had not; all rows where there was none.
    """

    sort: str = ""
    descending: bool = False
    filters: tuple[ColumnFilter, ...] = ()
    only_not_located: bool = False
    only_unreviewed: bool = False
    only_new: bool = False
    least_agreed_first: bool = False
    document: str = ""
    without_rejected: bool = False

    @property
    def is_everything(self) -> bool:
        """Say whether it is all rows in the order of the run."""
        return self == ALL_ROWS


ALL_ROWS = Selection()


class ResultView:
    """All rows of one run. Used by several threads at once, and it does not change: reviews make another one."""

    def __init__(
        self,
        columns: Sequence[str],
        rows: Sequence[DeliveredRow],
        book: ReviewBook,
        new: frozenset[str] | None = None,
        runs: frozenset[str] = frozenset(),
        identities: Mapping[str, RowIdentity] | None = None,
    ) -> None:
        """Take the rows in their order; `new` are the ids of those that the last run of the question had not.

        `runs` are those of the question, this one too: what was reviewed in them and is not here is counted.
        `identities` are those of the rows, if they are known already.
        """
        self.columns = tuple(columns)
        self.new = new
        self.runs = runs
        self.rows = rows
        self._identities = identities
        self._numbers = {row.id: row.number for row in rows}
        self.reviews = self._review(book)
        self.values = [
            self.reviews[row.number].values(row.values) if row.number in self.reviews else row.values for row in rows
        ]
        self._selections: OrderedDict[Selection, list[int]] = OrderedDict()
        self._guard = threading.Lock()

    def with_reviews(self, book: ReviewBook) -> ResultView:
        """Return the same rows with other reviews."""
        return ResultView(self.columns, self.rows, book, self.new, self.runs, self._identities)

    def _review(self, book: ReviewBook) -> dict[int, RowReview]:
        """Look at the rows that edits were made on; at all rows where some were made on rows that are not here as such.

        A row is here as such with its id and its values: in another run its id may be that of another row.
        """
        self.unplaced = 0
        if not len(book):
            return {}
        numbers = {self._numbers[row_id] for row_id in book.row_ids & self._numbers.keys()}
        edited = frozenset(self.rows[number].identity(self.columns) for number in numbers)
        if not book.identities <= edited:
            identities, digests = self._all_identities(), book.row_digests
            numbers |= {self._numbers[i.id] for i in identities.values() if i.digest in digests}
        kept = reviews_of_rows((self.rows[number] for number in sorted(numbers)), self.columns, book, edited)
        placed = {self.rows[number].id for number in kept}
        self.unplaced = max(len(book.edited_in(self.runs)) - len(placed), 0)
        return kept

    def _all_identities(self) -> Mapping[str, RowIdentity]:
        if self._identities is None:
            self._identities = {row.id: row.identity(self.columns) for row in self.rows}
        return self._identities

    def review(self, number: int) -> RowReview:
        """Return what was said of a row."""
        return self.reviews.get(number, NO_REVIEW)

    @property
    def reviewed(self) -> int:
        """Count the rows that were judged."""
        return sum(review.is_reviewed for review in self.reviews.values())

    def select(self, wanted: Selection) -> list[int]:
        """Return the numbers of the rows that fit, in order; raises UsageError for a column that is not there."""
        with self._guard:
            if wanted in self._selections:
                self._selections.move_to_end(wanted)
                return self._selections[wanted]
        chosen = self._sorted(self._filtered(wanted), wanted)
        with self._guard:
            self._selections[wanted] = chosen
            while len(self._selections) > KEPT_SELECTIONS:
                self._selections.popitem(last=False)
        return chosen

    def _filtered(self, wanted: Selection) -> list[int]:
        numbers = list(range(len(self.rows)))
        if wanted.document:
            numbers = [n for n in numbers if wanted.document in self.rows[n].documents]
        if wanted.only_not_located:
            numbers = [n for n in numbers if self.rows[n].not_located]
        if wanted.only_new and self.new is not None:
            numbers = [n for n in numbers if self.rows[n].id in self.new]
        if wanted.without_rejected:
            numbers = [n for n in numbers if self.review(n).whole.verdict != "rejected"]
        if wanted.only_unreviewed:
            numbers = [n for n in numbers if not self.review(n).is_reviewed]
        for each in wanted.filters:
            if each.text.strip():
                self.check_column(each.column)
                fits = matcher(each.text)
                numbers = [n for n in numbers if fits(self.values[n].get(each.column))]
        return numbers

    def _sorted(self, numbers: list[int], wanted: Selection) -> list[int]:
        """Sort; rows that are equal keep their order, and empty cells come last either way."""
        if not wanted.sort and wanted.least_agreed_first:
            weights = {n: doubt_of(self.values[n], self.rows[n].not_located).weight for n in numbers}
            return sorted(numbers, key=lambda n: -weights[n])
        if not wanted.sort:
            return numbers[::-1] if wanted.descending else numbers
        self.check_column(wanted.sort)
        filled = [n for n in numbers if not is_empty(self.values[n].get(wanted.sort))]
        empty = [n for n in numbers if is_empty(self.values[n].get(wanted.sort))]
        keys: dict[str, tuple[int, Any]] = {}  # reading a text as a date takes long, and many cells say the same

        def key(number: int) -> tuple[int, Any]:
            value = self.values[number][wanted.sort]
            if not isinstance(value, str):
                return sort_key(value)
            cached = keys.get(value)
            if cached is None:
                cached = keys[value] = sort_key(value)
            return cached

        filled.sort(key=key, reverse=wanted.descending)
        return filled + empty

    def group(self, column: str, wanted: Selection) -> Counter[str]:
        """Count the rows that fit by what their cell of a column names; a list counts for each of its items.

        The empty text stands for empty cells. A filter of the column itself is left out.
        """
        self.check_column(column)
        others = tuple(each for each in wanted.filters if each.column != column)
        counts: Counter[str] = Counter()
        for number in self.select(replace(wanted, sort="", descending=False, filters=others)):
            counts.update(set(items(self.values[number].get(column))) or {""})
        return counts

    def check_column(self, column: str) -> None:
        """Raise UsageError unless the table has the column."""
        if column not in self.columns:
            raise UsageError(f"the results have no column {column!r}", advice=did_you_mean(column, self.columns))

    def cell(self, number: int, column: str) -> Any:
        """Return the value that holds, after corrections."""
        return self.values[number].get(column)


@dataclass(frozen=True)
class _Kept:
    stamp: tuple[Any, ...]
    reviews: tuple[int, int, int, str]
    view: ResultView


_kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
_loading = threading.Lock()


def result_view(case: Case, run_id: str) -> ResultView:
    """Return the results of a run in memory, read anew only when they or the reviews have changed.

    Raises NotInCase, or ExportError while the run has no results.
    """
    with _loading:
        key = str(case.path), run_id
        columns = case.result_rows.columns(run_id)
        run = case.runs.get(run_id)
        stamp = (columns, case.result_rows.count(run_id), run.started_at, run.finished_at, case.path.stat().st_ino)
        reviews = case.reviews.stamp()
        kept = _kept.get(key)
        if kept is None or kept.stamp != stamp:
            rows, book = list(case.result_rows.read(run_id)), ReviewBook(case.reviews.edits())
            runs = frozenset((run_id, *(run.id for run in runs_of_question(case.runs, run_id))))
            kept = _Kept(stamp, reviews, ResultView(columns, rows, book, new_rows(case, run_id), runs))
        elif kept.reviews != reviews:
            kept = _Kept(stamp, reviews, kept.view.with_reviews(ReviewBook(case.reviews.edits())))
        _kept[key] = kept
        _kept.move_to_end(key)
        while len(_kept) > KEPT_TABLES:
            _kept.popitem(last=False)
        return kept.view


Matches = Callable[[Any], bool]

_TYPED = re.compile(r"\s*(<=|>=|!=|<>|=|<|>)\s*(.*)", re.DOTALL)
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """What was typed above a column."""

    column: str
    text: str


def matcher(text: str) -> Matches:
    """Return the test that a typed filter is; empty text fits every cell."""
    typed = _TYPED.fullmatch(text)
    if typed is None:
        wanted = " ".join(folded(text).split())
        return lambda value: wanted in _searched(value)
    sign, rest = typed[1], typed[2].strip()
    if sign in _COMPARE:
        return _comparison(_COMPARE[sign], rest)
    is_wanted: Matches = functools.partial(_is, rest) if rest else _names_nothing
    return is_wanted if sign == "=" else (lambda value: not is_wanted(value))


def _searched(value: Any) -> str:
    """Return what a filter looks through: the cell as it is shown, and `true` or `false` as it is exported."""
    return folded(f"{shown(value)} {value}" if isinstance(value, bool) else shown(value))


def _names_nothing(value: Any) -> bool:
    """Say whether a cell is one of those that are counted as empty: null, blanks, a list of nothing."""
    return not any(items(value))


def _is(wanted: str, value: Any) -> bool:
    number, plain = number_of(wanted), " ".join(folded(wanted).split())
    if plain == folded(shown(value)) or (isinstance(value, bool) and plain in _searched(value).split()):
        return True
    if is_typed(value) and any(folded(shown(part)) == plain for part in (*parts(value), value[ORIGINAL] or "")):
        return True
    return any(folded(item) == plain or (number is not None and number_of(item) == number) for item in items(value))


def _comparison(holds: Callable[[Any, Any], bool], operand: str) -> Matches:
    number, date = number_of(operand), date_of(operand)

    def fits(leaf: Any) -> bool:
        if number is not None and (amount := number_of(leaf)) is not None:
            return holds(amount, number)
        day = date_of(leaf) if date is not None else None
        if date is None or day is None:
            return False
        parts = sum(part > 0 for part in date)  # 2019 is all of that year: only what was typed is compared
        return holds(day[:parts], date[:parts])

    return lambda value: any(fits(leaf) for leaf in leaves(value))
