"""Lines that hold the words looked for, with the words marked; activating one opens its page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPalette, QTextCharFormat, QTextLayout
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from desktop.text_shape import reads_from_right, shaped, units
from desktop.theme import hit_colour
from desktop.workspace import Workspace
from engine.worker.contract import search
from engine.worker.contract.search import FoundLine, FoundLines

PAGE_HITS = 100
Index = QModelIndex | QPersistentModelIndex
HIT_ROLE: Final = int(Qt.ItemDataRole.UserRole)


class HitsModel(QAbstractListModel):
    """Fetches found lines a page at a time as the view scrolls (Qt's fetchMore)."""

    counted = Signal(int, bool)
    """How many lines are here, and whether there are more."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._rows: list[FoundLine] = []
        self._words, self._only, self._has_more, self._question = "", dict[str, Any](), False, ""
        self._is_given_up = False
        self.is_fuzzy = False
        """No line has the words as they are written: these have similar ones."""

    def look_for(self, words: str, only: dict[str, Any]) -> None:
        """Look for words in the documents that fit a filter; empty words find nothing."""
        self.stop()
        self.beginResetModel()
        self._rows, self._words, self._only, self._has_more = [], words.strip(), only, bool(words.strip())
        self.endResetModel()
        self.fetchMore(QModelIndex())

    def stop(self) -> None:
        """Give up what is on its way."""
        if self._question:
            self._workspace.client.forget(self._question)
            self._question, self._is_given_up = "", True

    def go_on(self) -> None:
        """Ask again for the lines that were given up."""
        if self._is_given_up:
            self.fetchMore(QModelIndex())

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        """Return how many lines are here."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a line as text, or whole."""
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == HIT_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return f"{row.name}, page {row.page}: {''.join(text for text, _ in row.pieces)}"
        return None

    def canFetchMore(self, parent: Index) -> bool:
        """Say whether there are more lines that are not being fetched."""
        return self._has_more and not self._question

    def fetchMore(self, parent: Index) -> None:
        """Ask for the next lines."""
        if not self.canFetchMore(parent):
            return
        self._is_given_up = False
        parameters = {"words": self._words, "only": self._only, "offset": len(self._rows), "limit": PAGE_HITS}
        self._question = self._workspace.ask(search.LINES, self._take, self._failed, **parameters)

    def _take(self, batch: FoundLines) -> None:
        self._question, self._has_more = "", batch.has_more
        self.is_fuzzy = batch.is_fuzzy
        if batch.rows:
            first = len(self._rows)
            self.beginInsertRows(QModelIndex(), first, first + len(batch.rows) - 1)
            self._rows += batch.rows
            self.endInsertRows()
        self.counted.emit(len(self._rows), self._has_more)

    def _failed(self, message: str, advice: str) -> None:
        self._question, self._has_more = "", False
        self._workspace.said.emit(message, advice)


class _HitDelegate(QStyledItemDelegate):
    """Draws a hit in two lines: where it is, and the words in their line."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        metrics = option.fontMetrics
        return QSize(100, 2 * metrics.height() + 10)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(HIT_ROLE)
        area, palette, metrics = option.rect, option.palette, option.fontMetrics
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        if is_selected:
            painter.fillRect(area, palette.color(QPalette.ColorRole.Highlight))
        ink = palette.color(QPalette.ColorRole.HighlightedText if is_selected else QPalette.ColorRole.Text)
        faint = ink if is_selected else palette.color(QPalette.ColorRole.PlaceholderText)
        x, y, height = area.left() + 8, area.top() + 4, metrics.height()
        painter.setClipRect(area)
        painter.setPen(faint)
        painter.drawText(x, y + metrics.ascent(), f"{row.name}   page {row.page}, line {row.line}")
        painter.setPen(ink)
        layout, marks = line_of_hit(row.pieces, option.font, hit_colour())
        wide = layout.boundingRect().width()
        begins = area.right() - 8 - wide if reads_from_right(layout.text()) else float(x)
        layout.draw(painter, QPointF(begins, y + height), [] if is_selected else marks)
        painter.restore()


def line_of_hit(
    pieces: Sequence[tuple[str, bool]], font: QFont, ground: QColor
) -> tuple[QTextLayout, list[QTextLayout.FormatRange]]:
    """Set a line in the order in which it is read; return it with its hits, each on a ground of their own."""
    text = "".join(piece for piece, _ in pieces)
    layout, _ = shaped(text, font, from_right=reads_from_right(text))
    marks, begin = [], 0
    for piece, is_hit in pieces:
        if is_hit:
            look = QTextCharFormat()
            look.setBackground(ground)
            mark = QTextLayout.FormatRange()
            mark.start, mark.length, mark.format = begin, units(piece, len(piece)), look
            marks.append(mark)
        begin += units(piece, len(piece))
    return layout, marks


class HitsView(QListView):
    """The list of lines found."""

    chosen = Signal(str, int, int)
    """Document, page and line that a person wants to see."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hits = HitsModel(workspace)
        self.setModel(self.hits)
        self.setItemDelegate(_HitDelegate(self))
        self.setUniformItemSizes(True)
        self.setAccessibleName("Lines found")
        self.activated.connect(self._choose)
        self.clicked.connect(self._choose)

    def _choose(self, index: QModelIndex) -> None:
        row = index.data(HIT_ROLE)
        self.chosen.emit(row.document, row.page, row.line)
