"""The view of results: filters above the columns; columns that are pinned, hidden, moved, and keep their widths."""

from __future__ import annotations

import json
from typing import Any

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QTableView, QWidget

from desktop.filter_header import FilterHeader
from desktop.heading_delegate import CellDrawing
from desktop.results_model import ResultColumn, ResultsModel

_LAYOUT = "results_columns"
_WIDTHS = {"review": 96, "number": 84, "flag": 72, "date": 104, "text": 190, "list": 240}
_KEEP_MILLISECONDS = 500
_MOST_KEPT = 500


class ResultsTable(QTableView):
    """Shows a ResultsModel. Pinned columns lie in a second view over the left edge, which has the same selection."""

    filtered = Signal()
    layout_changed = Signal()
    """Columns were hidden, shown, pinned or moved."""

    def __init__(self, model: ResultsModel, settings: QSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._results, self._settings = model, settings
        self._pinned_names: list[str] = []
        self._header = FilterHeader(self, unfiltered=1)
        self.setHorizontalHeader(self._header)
        self.setModel(model)
        self._pinned = self._make_pinned()
        self._keeping = QTimer(self, interval=_KEEP_MILLISECONDS, singleShot=True)
        self._keeping.timeout.connect(self._keep_layout)
        _set_up(self)
        self.setAccessibleName("Results")
        self.setSortingEnabled(True)
        self._header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self._header.setSortIndicatorClearable(True)
        self._header.setSectionsMovable(True)
        self._header.filtered.connect(self.filtered)
        self._header.sectionResized.connect(self._section_resized)
        self._header.sectionMoved.connect(lambda *moved: self._keeping.start())
        self.verticalHeader().geometriesChanged.connect(self._lay_pinned)
        model.modelReset.connect(self._lay_pinned)
        model.grouped.connect(self._choose_delegates)
        self._drawing = [CellDrawing(view) for view in (self, self._pinned)]

    def show_columns(self) -> None:
        """Set up the columns of the run that the model shows, as they were left the last time."""
        kept = self._kept()
        self._header.set_columns([str(self._title(n)) for n in range(self._results.columnCount())])
        self._header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.setColumnWidth(0, int(kept.get("", {}).get("width", _WIDTHS["review"])))
        self.setColumnHidden(0, False)
        for number, column in enumerate(self._results.columns, 1):
            layout = kept.get(column.name, {})
            self.setColumnWidth(number, int(layout.get("width", _WIDTHS.get(column.kind, _WIDTHS["text"]))))
            self.setColumnHidden(number, bool(layout.get("hidden", _is_detail(column))))
        self._pinned_names = [c.name for c in self._results.columns if kept.get(c.name, {}).get("pinned")]
        self._choose_delegates()
        self._arrange()

    @property
    def hidden_columns(self) -> list[str]:
        """Return the names of the columns that are hidden."""
        return [c.name for n, c in enumerate(self._results.columns, 1) if self.isColumnHidden(n)]

    @property
    def pinned_columns(self) -> list[str]:
        """Return the names of the columns that stay at the left."""
        return list(self._pinned_names)

    def hide_column(self, name: str, *, on: bool = True) -> None:
        """Hide a column, or show it again."""
        number = self._number(name)
        if number:
            self.setColumnHidden(number, on)
            self._arrange()
            self._keeping.start()
            self.layout_changed.emit()

    def show_all_columns(self) -> None:
        """Show the columns that are hidden."""
        for name in self.hidden_columns:
            self.hide_column(name, on=False)

    def pin_column(self, name: str, *, on: bool = True) -> None:
        """Keep a column at the left while the others are scrolled, or let it go again."""
        if self._number(name) and (name in self._pinned_names) != on:
            self._pinned_names = [*(n for n in self._pinned_names if n != name), *([name] if on else [])]
            self._arrange()
            self._keeping.start()
            self.layout_changed.emit()

    def filters(self) -> list[dict[str, str]]:
        """Return what is typed above the columns, as the worker takes it."""
        texts = {**self._header.texts(), **self._over.texts()}
        return [{"column": str(self._title(number)), "text": text} for number, text in sorted(texts.items())]

    def set_filter(self, name: str, text: str) -> None:
        """Type a filter above a column, in place of what is there; then `filtered` is told."""
        number = self._number(name)
        if number:
            texts = {**self._header.texts(), **self._over.texts(), number: text}
            self._set_texts(texts)
            self.filtered.emit()

    def clear_filters(self) -> None:
        """Empty the boxes, quietly."""
        self._set_texts({})

    def focus_filter(self) -> None:
        """Put the cursor into the box of the current column."""
        number = max(self.currentIndex().column(), 1)
        (self._over if self._title(number) in self._pinned_names else self._header).focus_box(number)

    def move_row(self, step: int) -> None:
        """Go so many rows down, over the headings of groups."""
        index = self.currentIndex()
        row = (index.row() if index.isValid() else -1) + step
        while 0 <= row < self._results.rowCount() and self._results.heading(row) is not None:
            row += step
        if 0 <= row < self._results.rowCount():
            self.go_to(row, max(index.column(), 1))

    def go_to(self, row: int, column: int) -> None:
        """Make a cell the current one, and select it alone."""
        there = self._results.index(row, min(column, self._results.columnCount() - 1))
        if there.isValid():
            self.selectionModel().setCurrentIndex(there, QItemSelectionModel.SelectionFlag.ClearAndSelect)
            self.scrollTo(there)

    def copy(self) -> None:
        """Put the selected cells on the clipboard, a line for each row, with tabs between cells."""
        chosen = sorted(self.selectionModel().selectedIndexes(), key=lambda i: (i.row(), i.column()))
        rows: dict[int, list[str]] = {}
        for index in chosen:
            rows.setdefault(index.row(), []).append(" ".join(str(index.data() or "").split()))
        if rows:
            QGuiApplication.clipboard().setText("\n".join("\t".join(cells) for cells in rows.values()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the pinned columns as high as the table."""
        super().resizeEvent(event)
        self._lay_pinned()

    def scrollTo(
        self, index: Any, hint: QAbstractItemView.ScrollHint = QAbstractItemView.ScrollHint.EnsureVisible
    ) -> None:
        """Bring a cell into view, and out from under the pinned columns."""
        super().scrollTo(index, hint)
        covered = self._pinned.width() if self._pinned.isVisible() else 0
        left = self.columnViewportPosition(index.column())
        if covered and self._title(index.column()) not in self._pinned_names and left < covered:
            bar = self.horizontalScrollBar()
            bar.setValue(bar.value() - (covered - left))

    def _make_pinned(self) -> QTableView:
        pinned = QTableView(self)
        self._over = FilterHeader(pinned, unfiltered=1)
        pinned.setHorizontalHeader(self._over)
        pinned.setModel(self._results)
        pinned.setSelectionModel(self.selectionModel())
        _set_up(pinned)
        pinned.setAccessibleName("Pinned columns")
        pinned.setFrameShape(QTableView.Shape.NoFrame)
        pinned.verticalHeader().hide()
        pinned.setFocusProxy(self)
        for bar in (pinned.horizontalScrollBar(), pinned.verticalScrollBar()):
            bar.setStyleSheet("max-width: 0px; max-height: 0px;")
        pinned.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        pinned.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalScrollBar().valueChanged.connect(pinned.verticalScrollBar().setValue)
        pinned.verticalScrollBar().valueChanged.connect(self.verticalScrollBar().setValue)
        pinned.clicked.connect(self.clicked)
        pinned.activated.connect(self.activated)
        self._over.filtered.connect(self.filtered)
        self._over.sectionClicked.connect(self._sort_by)
        self._over.sectionResized.connect(self._pinned_resized)
        pinned.hide()
        return pinned

    def _choose_delegates(self) -> None:
        """Have cells drawn by Qt alone where that will do: a method of ours for each of them slows scrolling down."""
        numbers = {number for number, column in enumerate(self._results.columns, 1) if column.kind == "number"}
        for drawing in self._drawing:
            drawing.choose(numbers, self._results.columnCount(), is_grouped=bool(self._results.group_column))

    def _sort_by(self, number: int) -> None:
        header = self._header
        again = header.sortIndicatorSection() == number
        down = again and header.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
        self.sortByColumn(number, Qt.SortOrder.DescendingOrder if down else Qt.SortOrder.AscendingOrder)

    def _arrange(self) -> None:
        """Bring pinned columns to the left, and show them in the second view."""
        texts = {**self._header.texts(), **self._over.texts()}
        for place, name in enumerate(self._pinned_names, 1):
            self._header.moveSection(self._header.visualIndex(self._number(name)), place)
        titles = [str(self._title(n)) for n in range(self._results.columnCount())]
        self._over.set_columns(titles)
        for number, title in enumerate(titles):
            is_pinned = title in self._pinned_names and number > 0 and not self.isColumnHidden(number)
            self._pinned.setColumnHidden(number, not (is_pinned or (number == 0 and bool(self._pinned_names))))
            self._pinned.setColumnWidth(number, self.columnWidth(number))
        for place, name in enumerate(self._pinned_names, 1):
            self._over.moveSection(self._over.visualIndex(self._number(name)), place)
        self._set_texts(texts)
        self._lay_pinned()

    def _set_texts(self, texts: dict[int, str]) -> None:
        pinned = {number for number in texts if self._title(number) in self._pinned_names}
        self._header.set_texts({number: text for number, text in texts.items() if number not in pinned})
        self._over.set_texts({number: text for number, text in texts.items() if number in pinned})

    def _lay_pinned(self) -> None:
        shown = [n for n in range(self._results.columnCount()) if not self._pinned.isColumnHidden(n)]
        self._pinned.setVisible(bool(self._pinned_names) and bool(shown))
        if self._pinned.isVisible():
            edge = self.frameWidth()
            width = sum(self.columnWidth(number) for number in shown)
            height = self.viewport().height() + self._header.height()
            self._pinned.setGeometry(self.verticalHeader().width() + edge, edge, width, height)
            self._over.setFixedHeight(self._header.height())
            self._pinned.verticalScrollBar().setValue(self.verticalScrollBar().value())

    def _section_resized(self, number: int, old: int, new: int) -> None:
        self._pinned.setColumnWidth(number, new)
        self._lay_pinned()
        self._keeping.start()

    def _pinned_resized(self, number: int, old: int, new: int) -> None:
        """Follow a pinned column; one that is hidden there has no width, and keeps its own here."""
        if new:
            self.setColumnWidth(number, new)

    def _title(self, number: int) -> Any:
        return self._results.headerData(number, Qt.Orientation.Horizontal)

    def _number(self, name: str) -> int:
        """Return the number of a column, 0 when there is none of that name."""
        names = [column.name for column in self._results.columns]
        return names.index(name) + 1 if name in names else 0

    def _kept(self) -> dict[str, dict[str, Any]]:
        try:
            kept = json.loads(str(self._settings.value(_LAYOUT, "{}")))
        except ValueError:  # written by another version, or by hand
            return {}
        return kept if isinstance(kept, dict) else {}

    def _keep_layout(self) -> None:
        kept = self._kept()
        for number in range(self._results.columnCount()):
            name = str(self._title(number)) if number else ""
            hidden = self.isColumnHidden(number)
            width = self.columnWidth(number) or kept.get(name, {}).get("width", _WIDTHS["text"])
            kept[name] = {"width": width, "hidden": hidden, "pinned": name in self._pinned_names}
        recent = dict(list(kept.items())[-_MOST_KEPT:])
        self._settings.setValue(_LAYOUT, json.dumps(recent))


def _is_detail(column: ResultColumn) -> bool:
    """Say whether a column holds what the panel of answers shows: it is hidden until somebody wants to see it."""
    return bool(column.answer) and column.name == f"{column.answer}_items"


def _set_up(view: QTableView) -> None:
    """Give a view the manners that both share."""
    view.setAlternatingRowColors(True)
    view.setWordWrap(False)
    view.setShowGrid(False)
    view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
    view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setTabKeyNavigation(False)
    rows = view.verticalHeader()
    rows.setDefaultSectionSize(view.fontMetrics().height() + 8)
    rows.setSectionResizeMode(rows.ResizeMode.Fixed)
    view.setRootIndex(QModelIndex())
