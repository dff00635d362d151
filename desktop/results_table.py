"""The view of results: filters above the columns; columns that are pinned, hidden, moved, and keep their widths."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSettings,
    QSignalBlocker,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QHideEvent, QKeyEvent, QPainter, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOption,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from desktop.labels import in_bold, with_name
from desktop.results_model import HEADING_ROLE, ResultsModel
from desktop.rows_model import ROW_ROLE
from desktop.tables import fit_rows
from engine.worker.contract.results import ColumnInfo, ShownHeading, ShownRow

_LAYOUT = "results_columns"
_WIDTHS = {"review": 120, "number": 84, "flag": 72, "date": 104, "text": 190, "list": 240}
_KEEP_MILLISECONDS = 500
_MOST_KEPT = 500
_FIT = 3
"""So many columns and the review can be seen at once."""
_ROW_SPACE = 8


class ResultsTable(QTableView):
    """Shows a ResultsModel. Pinned columns lie in a second view over the left edge, which has the same selection."""

    filtered = Signal()
    layout_changed = Signal()
    """Columns were hidden, shown, pinned or moved."""

    def __init__(
        self, model: ResultsModel, settings: QSettings, parent: QWidget | None = None, *, has_filters: bool = True
    ) -> None:
        super().__init__(parent)
        self._results, self._settings = model, settings
        self._pinned_names: list[str] = []
        self._places: dict[str, int] = {}  # of the columns that a person moved
        self._is_arranging = False
        self._unfiltered = 1 if has_filters else sys.maxsize
        self._header = FilterHeader(self, unfiltered=self._unfiltered)
        self.setHorizontalHeader(self._header)
        self._held: tuple[int, list[str], str, int] | None = None  # what is typed into a row whose place goes
        self._row_id = ""  # of the current row, empty where it is not known
        self._count = 0  # of the rows that fitted the filters when it was noted
        self._rows_go = False  # and the current row becomes another one by that, not by a person
        model.dataChanged.connect(lambda *changed: self._follow_row())
        model.modelAboutToBeReset.connect(self._tell_typed)  # before the views hear of it, which close their editors
        model.modelAboutToBeReset.connect(self._keep_now)
        model.modelReset.connect(self._forget_row)
        model.rowsAboutToBeRemoved.connect(self._hold_typed)
        self.setModel(model)
        self._pinned = self._make_pinned()
        self._keeping = QTimer(self, interval=_KEEP_MILLISECONDS, singleShot=True)
        self._keeping.timeout.connect(self._keep_layout)
        _set_up(self)
        self.setAccessibleName("Results")
        self.setSortingEnabled(True)
        self._header.sortIndicatorChanged.connect(self._show_order)
        self._header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self._header.setSortIndicatorClearable(True)
        self._header.setSectionsMovable(True)
        self._header.setFirstSectionMovable(False)  # the review stands at the left of those that are pinned
        self._header.filtered.connect(self.filtered)
        self._header.sectionResized.connect(self._section_resized)
        self._header.sectionMoved.connect(self._section_moved)
        self.verticalHeader().geometriesChanged.connect(self._lay_pinned)
        model.modelReset.connect(self._lay_pinned)
        model.rowsRemoved.connect(lambda *removed: self._type_on())
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
        name = _name_column(self._results.columns)
        self._pinned_names = [
            c.name for c in self._results.columns if kept.get(c.name, {}).get("pinned", c.name == name)
        ]
        self._places = {
            c.name: int(kept[c.name]["place"]) for c in self._results.columns if "place" in kept.get(c.name, {})
        }
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
        """Put the cursor into the box of the current column; where that is hidden, of the one beside it."""
        number = self._shown_near(max(self.currentIndex().column(), 1))
        cell = self._results.index(max(self.currentIndex().row(), 0), number)
        if cell.isValid():
            self.scrollTo(cell)
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
        cell = self._results.index(row, min(column, self._results.columnCount() - 1))
        if cell.isValid():
            self.selectionModel().setCurrentIndex(cell, QItemSelectionModel.SelectionFlag.ClearAndSelect)
            self.scrollTo(cell)

    def edit_cell(self, cell: QModelIndex) -> None:
        """Begin to type into a cell, in the view where it is seen: of a pinned column, that over the left edge."""
        is_pinned = self._title(cell.column()) in self._pinned_names and self._pinned.isVisible()
        view: QTableView = self._pinned if is_pinned else self
        view.edit(cell)

    def changeEvent(self, event: QEvent) -> None:
        """Make rows as high as other letters."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_pinned"):
            for view in (self, self._pinned):
                fit_rows(view, _ROW_SPACE)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Fold or unfold a heading with Return."""
        current, keys = self.currentIndex(), (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if event.key() in keys and current.isValid() and self._results.heading(current.row()) is not None:
            self._results.fold(current.row())
        else:
            super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Keep how the columns are before the window goes, or another run comes."""
        super().hideEvent(event)
        self._keep_now()

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
        self._over = FilterHeader(pinned, unfiltered=self._unfiltered)
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
        pinned.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # the table itself shows its menu
        pinned.clicked.connect(self.clicked)
        pinned.activated.connect(self.activated)
        self._over.filtered.connect(self.filtered)
        self._over.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self._over.setSortIndicatorShown(True)
        self._over.setSortIndicatorClearable(True)
        self._over.sortIndicatorChanged.connect(self.sortByColumn)
        self._over.sectionResized.connect(self._pinned_resized)
        pinned.hide()
        return pinned

    def _choose_delegates(self) -> None:
        """Have cells drawn by Qt alone where that will do: a method of ours for each of them slows scrolling down."""
        numbers = {number for number, column in enumerate(self._results.columns, 1) if column.kind == "number"}
        for drawing in self._drawing:
            drawing.choose(numbers, self._results.columnCount(), is_grouped=bool(self._results.group_column))

    def _show_order(self, number: int, order: Qt.SortOrder) -> None:
        """Show above the pinned columns, too, by which one the rows are sorted."""
        with QSignalBlocker(self._over):
            self._over.setSortIndicator(number, order)

    def _arrange(self) -> None:
        """Bring the columns into their order, and show those that are pinned in the second view."""
        texts = {**self._header.texts(), **self._over.texts()}
        self._is_arranging = True
        for place, number in enumerate(self._ordered()):
            self._header.moveSection(self._header.visualIndex(number), place)
        self._is_arranging = False
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

    def _ordered(self) -> list[int]:
        """Return the columns from the left: the review, those pinned, the others where the run has them or a person."""
        pinned = [self._number(name) for name in self._pinned_names]
        moved = {self._number(name): place for name, place in self._places.items() if name not in self._pinned_names}
        every = dict.fromkeys((0, *pinned, *range(self._results.columnCount())))
        order = [number for number in every if number not in moved]
        for number in sorted(moved, key=lambda number: moved[number]):
            order.insert(max(moved[number], len(pinned) + 1), number)
        return order

    def _section_moved(self, number: int, old: int, new: int) -> None:
        """Note where a person moved a column to, and where those stand since that were moved before."""
        if self._is_arranging or not number:
            return
        for name in {*self._places, str(self._title(number))}:
            if name not in self._pinned_names:
                self._places[name] = self._header.visualIndex(self._number(name))
        if new <= len(self._pinned_names):
            self._arrange()  # else those that are pinned would lie over it
        self._keeping.start()

    def _editor(self) -> QLineEdit | None:
        """Return the box in which the current cell is being corrected, None where it is not."""
        boxes = (view.indexWidget(self.currentIndex()) for view in (self, self._pinned))
        return next((box for box in boxes if isinstance(box, QLineEdit)), None)

    def _tell_typed(self) -> None:
        """Tell what is being typed into a cell, as when it is left: other rows come, or another order."""
        if (editor := self._editor()) is not None and self._results.can_edit:
            cell = self.currentIndex()
            self.itemDelegateForIndex(cell).setModelData(editor, self._results, cell)

    def _hold_typed(self, parent: QModelIndex, first: int, last: int) -> None:
        """Note what is being typed into a row whose place goes: its editor closes."""
        self._rows_go = True
        cell, editor = self.currentIndex(), self._editor()
        if first <= cell.row() <= last and editor is not None and (begun := editor.property(_BEGUN)) is not None:
            self._held = cell.column(), begun, editor.text(), editor.cursorPosition()
            editor.setProperty(_BEGUN, None)  # half of a word is no correction

    def _type_on(self) -> None:
        """Let a person go on typing in the row that is the last one now; it corrects the row that it was begun on."""
        held, self._held = self._held, None
        if held is None:
            return
        column, begun, text, position = held
        self.go_to(self._results.rowCount() - 1, column)
        cell = self.currentIndex()
        if cell.flags() & Qt.ItemFlag.ItemIsEditable:
            self.edit_cell(cell)
        if (editor := self._editor()) is not None:
            editor.setText(text)
            editor.setCursorPosition(position)
            editor.setProperty(_BEGUN, begun)
        elif text != begun[1]:
            self._results.edited.emit(begun[0], str(self._title(column)), text)

    def currentChanged(self, current: Any, previous: Any) -> None:
        """Note which row a person goes to."""
        super().currentChanged(current, previous)
        if not self._rows_go:
            self._note_row()

    def _forget_row(self) -> None:
        self._row_id, self._rows_go = "", False

    def _note_row(self) -> None:
        row = self.currentIndex().data(ROW_ROLE)
        self._row_id = row.id if isinstance(row, ShownRow) else ""
        self._count = self._results.selected

    def _follow_row(self) -> None:
        """Let the current row be the same one where others came to its place, as where a correction was sorted anew.

        Else the next key would judge a row that nobody has looked at. Where it has left the rows that are shown, the
        next one is the current row; where it stands too far away to be here, none is.
        """
        self._rows_go = False
        index = self.currentIndex()
        row = self._results.row(index.row()) if index.isValid() else None
        if row is None or self._editor() is not None:
            return
        has_left = self._results.selected < self._count
        if self._row_id and (not isinstance(row, ShownRow) or row.id != self._row_id):
            loaded = self._results.loaded()
            place = next((n for n, other in loaded if isinstance(other, ShownRow) and other.id == self._row_id), -1)
            if place >= 0:
                self.go_to(place, index.column())
            elif not has_left:
                self.selectionModel().clear()
        self._note_row()

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

    def _shown_near(self, number: int) -> int:
        """Return a column, or where it is hidden that beside it which is shown."""
        shown = [n for n in range(1, self._results.columnCount()) if not self.isColumnHidden(n)]
        place = self._header.visualIndex
        return min(shown, key=lambda n: abs(place(n) - place(number)), default=number)

    def _kept(self) -> dict[str, dict[str, Any]]:
        try:
            kept = json.loads(str(self._settings.value(_LAYOUT, "{}")))
        except ValueError:  # written by another version, or by hand
            return {}
        return kept if isinstance(kept, dict) else {}

    def _keep_now(self) -> None:
        """Keep at once what was changed a moment ago."""
        if self._keeping.isActive():
            self._keeping.stop()
            self._keep_layout()

    def _keep_layout(self) -> None:
        kept = self._kept()
        for number in range(self._results.columnCount()):
            name = str(self._title(number)) if number else ""
            before = kept.pop(name, {})  # what was kept last is forgotten last
            hidden = self.isColumnHidden(number)
            width = self.columnWidth(number) or before.get("width", _WIDTHS["text"])
            place = {"place": self._places[name]} if name in self._places else {}
            kept[name] = {"width": width, "hidden": hidden, "pinned": name in self._pinned_names, **place}
        recent = dict(list(kept.items())[-_MOST_KEPT:])
        self._settings.setValue(_LAYOUT, json.dumps(recent))


def _is_detail(column: ColumnInfo) -> bool:
    """Say whether a column is hidden until somebody wants to see it.

    What the panel of answers shows, and how sure a model was of its word (`p_wrong`), which serves the steps alone.
    """
    is_odds = column.kind == "number" and column.name.startswith("p_")
    return is_odds or (bool(column.answer) and column.name == f"{column.answer}_items")


def _name_column(columns: Sequence[ColumnInfo]) -> str:
    """Return the column that names the rows, which stays in view with the review; none where all fit anyway."""
    named = [column.name for column in columns if column.name != "filename" and column.kind == "text"]
    return named[0] if named and len(columns) > _FIT else ""


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
    fit_rows(view, _ROW_SPACE)
    view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    view.setRootIndex(QModelIndex())


_TYPING_MILLISECONDS = 300
_HINT = (
    "Shows rows whose cell contains this.\n=text: the cell is exactly this; !=text: is not\n"
    "= alone: is empty; != alone: is not\n>10, <=5: numbers; >2019, <=2019-03: dates"
)


class FilterHeader(QHeaderView):
    """A horizontal header. `unfiltered` columns at the left have no box."""

    filtered = Signal()
    """What is typed has changed, and nothing was typed for a moment."""

    def __init__(self, view: QTableView, *, unfiltered: int = 0) -> None:
        super().__init__(Qt.Orientation.Horizontal, view)
        self._unfiltered = unfiltered
        self._boxes: list[QLineEdit] = []
        self._typing = QTimer(self, interval=_TYPING_MILLISECONDS, singleShot=True)
        self._typing.timeout.connect(self.filtered)
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.setMinimumSectionSize(40)
        for moved in (self.sectionResized, self.sectionMoved, view.horizontalScrollBar().valueChanged):
            moved.connect(self._place)

    def set_columns(self, titles: list[str]) -> None:
        """Make empty boxes for these columns, the first `unfiltered` of which get none."""
        for box in self._boxes:
            box.deleteLater()
        self._boxes = []
        for title in titles[self._unfiltered :]:
            box = with_name(QLineEdit(self, placeholderText="Filter", clearButtonEnabled=True), f"Filter {title}")
            box.setToolTip(_HINT)
            box.textChanged.connect(self._typing.start)
            box.returnPressed.connect(self._now)
            box.show()
            self._boxes.append(box)
        self.updateGeometries()
        self._place()

    def texts(self) -> dict[int, str]:
        """Return what is typed, by column, without empty boxes."""
        return {n: box.text() for n, box in enumerate(self._boxes, self._unfiltered) if box.text().strip()}

    def set_texts(self, texts: Mapping[int, str]) -> None:
        """Fill the boxes, quietly."""
        self._typing.stop()
        for number, box in enumerate(self._boxes, self._unfiltered):
            with QSignalBlocker(box):
                box.setText(texts.get(number, ""))

    def focus_box(self, column: int) -> None:
        """Put the cursor into the box of a column."""
        if 0 <= column - self._unfiltered < len(self._boxes):
            self._boxes[column - self._unfiltered].setFocus()

    def sizeHint(self) -> QSize:
        """Leave room for the boxes."""
        size = super().sizeHint()
        return QSize(size.width(), size.height() + self._box_height())

    def updateGeometries(self) -> None:
        """Keep the titles above the boxes."""
        self.setViewportMargins(0, 0, 0, self._box_height())
        super().updateGeometries()
        self._place()

    def _box_height(self) -> int:
        return self._boxes[0].sizeHint().height() if self._boxes else 0

    def _now(self) -> None:
        self._typing.stop()
        self.filtered.emit()

    def _place(self, *values: int) -> None:
        height = self._box_height()
        for number, box in enumerate(self._boxes, self._unfiltered):
            if number >= self.count():
                continue
            left, width = self.sectionViewportPosition(number), self.sectionSize(number)
            in_sight = not self.isSectionHidden(number) and left + width > 0 and left < self.width()
            box.setGeometry(left, self.height() - height, width, height)
            box.setVisible(in_sight)


_MARK = 12
_GAP = 6
_LINE = 3
_APART = "\u2002"
_BEGUN = "begun"
"""Property of an editor: the id of the row that it was opened on, and the text of the cell."""


class CellDelegate(QStyledItemDelegate):
    """Corrects the row that an editor was opened on, also when another row stands at its place by now."""

    def setEditorData(self, editor: QWidget, index: QModelIndex | QPersistentModelIndex) -> None:
        """Fill an editor once: rows that are asked for anew leave alone what a person types."""
        row = index.data(ROW_ROLE)
        if editor.property(_BEGUN) is None and isinstance(row, ShownRow):
            super().setEditorData(editor, index)
            editor.setProperty(_BEGUN, [row.id, _typed(editor)])

    def setModelData(
        self, editor: QWidget, model: QAbstractItemModel, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Tell of what was typed, if it is another text than the one that the editor was opened on."""
        begun, row = editor.property(_BEGUN), index.data(ROW_ROLE)
        if begun is None or _typed(editor) == begun[1]:
            return
        if isinstance(row, ShownRow) and row.id == begun[0]:
            super().setModelData(editor, model, index)
        elif isinstance(model, ResultsModel) and (column := model.column_of(index)) is not None:
            model.edited.emit(begun[0], column.name, _typed(editor))


def _typed(editor: QWidget) -> str:
    """Return the text in an editor of a cell, which is a line of text for all kinds of columns."""
    return editor.text() if isinstance(editor, QLineEdit) else ""


class NumberDelegate(CellDelegate):
    """Keeps numbers off the texts of the next column."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        """Put a space behind what stands at the right."""
        super().initStyleOption(option, index)
        if option.displayAlignment & Qt.AlignmentFlag.AlignRight:
            option.text += _APART


class HeadingDelegate(NumberDelegate):
    """Draws cells as they always are, and headings across them: each cell draws its part of the bar."""

    def __init__(self, view: QTableView) -> None:
        super().__init__(view)
        self._view = view

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draw a cell."""
        heading = index.data(HEADING_ROLE)
        if heading is None:
            super().paint(painter, option, index)
            return
        rect: QRect = option.rect
        palette: QPalette = option.palette
        state: QStyle.StateFlag = option.state
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setClipRect(rect)
        painter.fillRect(rect, palette.color(QPalette.ColorRole.Button))
        painter.setPen(palette.color(QPalette.ColorRole.Mid))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        if chosen:  # under the cell: the text of the bar goes on across cells that are not chosen
            line = QRect(rect.left(), rect.bottom() - _LINE, rect.width(), _LINE + 1)
            painter.fillRect(line, palette.color(QPalette.ColorRole.Highlight))
        left = self._view.columnViewportPosition(self._first()) + _GAP
        self._draw_mark(painter, QRect(left, rect.center().y() - _MARK // 2, _MARK, _MARK), palette, heading)
        painter.setFont(in_bold(painter.font()))
        painter.setPen(palette.color(QPalette.ColorRole.ButtonText))
        text = str(index.sibling(index.row(), 0).data() or "")
        whole = QRect(left + _MARK + _GAP, rect.top(), max(self._view.viewport().width(), 1), rect.height())
        painter.drawText(whole, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, " ".join(text.split()))
        painter.restore()

    def _first(self) -> int:
        """Return the column that is leftmost."""
        header = self._view.horizontalHeader()
        shown = (header.logicalIndex(place) for place in range(header.count()))
        return next((column for column in shown if not header.isSectionHidden(column)), 0)

    def _draw_mark(self, painter: QPainter, where: QRect, palette: QPalette, heading: ShownHeading) -> None:
        mark = QStyleOption()
        mark.rect = where
        mark.palette = palette
        mark.state = QStyle.StateFlag.State_Enabled
        arrow = QStyle.PrimitiveElement
        shape = arrow.PE_IndicatorArrowRight if heading.is_folded else arrow.PE_IndicatorArrowDown
        self._view.style().drawPrimitive(shape, mark, painter, self._view)


class CellDrawing:
    """The delegates of one view. Qt alone draws cells that need no more, for a method of ours slows scrolling down."""

    def __init__(self, view: QTableView) -> None:
        self._view = view
        self._plain = CellDelegate(view)
        self._number = NumberDelegate(view)
        self._heading = HeadingDelegate(view)
        self._columns = 0

    def choose(self, numbers: set[int], columns: int, *, is_grouped: bool) -> None:
        """Draw `numbers` of so many columns as numbers; `is_grouped`: there are headings among the rows."""
        self._view.setItemDelegate(self._heading if is_grouped else self._plain)
        for column in range(max(columns, self._columns)):
            usual = self._heading if is_grouped else self._plain
            is_number = column in numbers and not is_grouped
            self._view.setItemDelegateForColumn(column, self._number if is_number else usual)
        self._columns = columns
