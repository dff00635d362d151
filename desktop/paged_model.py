"""A table whose rows stay with the worker: a page of them is fetched when it is looked at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from PySide6.QtCore import QModelIndex, QObject, QTimer, Signal

from desktop.client import Ask
from desktop.rows_model import Column, ColumnsModel, Index, Row
from engine.worker.contract import Query

PAGE_ROWS = 100
KEPT_PAGES = 50
_SEEN_PAGES = 2
"""Pages that a view shows at once, at most: they are kept in any case."""
_NOT_HERE = (
    "Some of the selected rows are not here yet; nothing was done.",
    "They are being fetched: try again in a moment.",
)
_TOO_MANY = (
    "The selected rows are too many for this, or lie too far apart; nothing was done.",
    "Select fewer, or use Export.",
)
Row_co = TypeVar("Row_co", covariant=True)


class Page(Protocol[Row_co]):
    """An answer with some of `total` rows."""

    @property
    def total(self) -> int:
        """Return how many rows there are."""

    @property
    def rows(self) -> tuple[Row_co, ...]:
        """Return those that were asked for."""


class PagedModel(ColumnsModel[Row]):
    """Rows are known by number from the first answer on; their cells come when a view asks for them.

    The worker's answer has `total` and `rows`. A subclass may say what is asked besides `offset` and `limit`
    (`question`).
    """

    total_changed = Signal(int)
    """How many rows there are; of rows that are asked for, not before the worker has told."""
    loading_failed = Signal(str, str)

    def __init__(
        self,
        ask: Ask,
        forget: Callable[[str], None],
        query: Query[Page[Row]],
        columns: Sequence[Column[Row]],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(columns, parent)
        self._ask = ask
        self._forget = forget
        self._query = query
        self._total = 0
        self._pages: OrderedDict[int, tuple[Row, ...]] = OrderedDict()
        self._latest = -1  # the page that was looked at last, where that is known
        self._stale: set[int] = set()
        self._coming: dict[int, str] = {}
        self._outdated: set[int] = set()
        """Pages on their way as they were before the last refresh: they are shown, and asked for once more."""
        self._wanted: set[int] = set()
        self._round = 0
        self._is_begun = False
        self.is_known = False
        """The worker has told how many rows there are."""
        self._asking = QTimer(self, interval=0, singleShot=True)
        self._asking.timeout.connect(self._ask_wanted)

    def question(self) -> Mapping[str, Any]:
        """Return what is asked besides `offset` and `limit`."""
        return {}

    def taken(self, result: Page[Row]) -> None:
        """Look at an answer before its rows are shown."""

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        """Return how many rows there are."""
        return 0 if parent.isValid() else self._total

    def row(self, number: int) -> Row | None:
        """Return a row, or None and have it fetched."""
        page, place = divmod(number, PAGE_ROWS)
        rows = self._pages.get(page)
        if rows is None or page in self._stale:
            self._want(page)
        if rows is None or place >= len(rows):
            return None
        if page != self._latest:  # of the rows that are drawn nearly all lie in one page
            self._pages.move_to_end(page)
            self._latest = page
        return rows[place]

    def loaded(self) -> Iterator[tuple[int, Row]]:
        """Go through the rows that are here, each with its number; none is fetched."""
        for page, rows in self._pages.items():
            yield from enumerate(rows, page * PAGE_ROWS)

    def refusal(self, spans: Iterable[tuple[int, int]]) -> tuple[str, str] | None:
        """Say why rows cannot be used now, and what to do; None where all are here.

        `spans` are first and last rows. What is not here is fetched, if all of it can be kept at once.
        """
        lasts: dict[int, int] = {}  # of the rows that are wanted, by page
        for first, last in spans:
            for page in range(first // PAGE_ROWS, last // PAGE_ROWS + 1):
                lasts[page] = max(lasts.get(page, 0), min(last, (page + 1) * PAGE_ROWS - 1))
        if len(lasts) > KEPT_PAGES - _SEEN_PAGES:
            return _TOO_MANY
        return _NOT_HERE if None in [self.row(last) for last in lasts.values()] else None

    def begin(self) -> None:
        """Show what there is now: before this, nothing is asked."""
        self._is_begun = True
        self.restart()

    def restart(self) -> None:
        """Forget all rows and begin anew: another case, order or filter."""
        self.beginResetModel()
        self.stop()
        self._pages.clear()
        self._latest = -1
        self._stale.clear()
        self._total, self.is_known = 0, False
        self.endResetModel()
        if not self._is_begun:
            self.total_changed.emit(0)
        self._want(0)

    def refresh(self) -> None:
        """Ask anew for what is shown; until answers come the old rows stay."""
        self._stale = set(self._pages)
        self._outdated = set(self._coming)
        last = next(reversed(self._pages), 0)
        self._want(last)

    def stop(self) -> None:
        """Give up what is on its way."""
        self._round += 1
        for id in self._coming.values():
            self._forget(id)
        self._coming.clear()
        self._outdated.clear()
        self._wanted.clear()

    def end(self) -> None:
        """Show no rows; nothing is asked before the next `begin`."""
        self._is_begun = False
        self.restart()

    def _want(self, page: int) -> None:
        if self._is_begun and page not in self._coming:
            self._wanted.add(page)
            if not self._asking.isActive():
                self._asking.start()

    def _ask_wanted(self) -> None:
        """Ask for what views wanted in one turn of the event loop."""
        wanted, self._wanted = self._wanted, set()
        for page in sorted(wanted):
            number = self._round
            self._coming[page] = self._ask(
                self._query,
                partial(self._take, page, number),
                partial(self._failed, page, number),
                offset=page * PAGE_ROWS,
                limit=PAGE_ROWS,
                **self.question(),
            )

    def _failed(self, page: int, number: int, message: str, advice: str) -> None:
        if number == self._round:
            self._coming.pop(page, None)
            self._stale.discard(page)
            self._outdated.discard(page)
            self.loading_failed.emit(message, advice)

    def _take(self, page: int, number: int, result: Page[Row]) -> None:
        if number != self._round:
            return
        self._coming.pop(page, None)
        self._stale.discard(page)
        if page in self._outdated:
            self._outdated.discard(page)
            self._stale.add(page)
            self._want(page)
        self.taken(result)
        was_known, self.is_known = self.is_known, True
        self._resize(result.total)
        if not was_known and not result.total:
            self.total_changed.emit(0)
        if result.rows:
            self._pages[page] = result.rows
            self._pages.move_to_end(page)
            self._latest = page
            while len(self._pages) > KEPT_PAGES:
                self._pages.popitem(last=False)
            first = page * PAGE_ROWS
            last = min(first + len(result.rows), self._total) - 1
            self.dataChanged.emit(self.index(first, 0), self.index(last, self.columnCount() - 1))

    def _resize(self, total: int) -> None:
        old = self._total
        if total == old:
            return
        if total > old:
            self.beginInsertRows(QModelIndex(), old, total - 1)
            self._total = total
            self.endInsertRows()
        else:
            self.beginRemoveRows(QModelIndex(), total, old - 1)
            self._total = total
            self._pages = OrderedDict((p, rows) for p, rows in self._pages.items() if p * PAGE_ROWS < total)
            self._latest = -1
            self.endRemoveRows()
        self.total_changed.emit(total)
