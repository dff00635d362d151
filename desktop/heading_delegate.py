"""How cells of results are drawn, and headings of groups among them: one bar over all columns, with a mark."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, Qt
from PySide6.QtGui import QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOption, QStyleOptionViewItem, QTableView

from desktop.results_model import HEADING_ROLE

_MARK = 12
_GAP = 6
_LINE = 3
_APART = "\u2002"


class NumberDelegate(QStyledItemDelegate):
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
        font = painter.font()
        font.setBold(True)
        painter.setFont(font)
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

    def _draw_mark(self, painter: QPainter, where: QRect, palette: QPalette, heading: dict[str, object]) -> None:
        mark = QStyleOption()
        mark.rect = where
        mark.palette = palette
        mark.state = QStyle.StateFlag.State_Enabled
        arrow = QStyle.PrimitiveElement
        shape = arrow.PE_IndicatorArrowRight if heading["is_folded"] else arrow.PE_IndicatorArrowDown
        self._view.style().drawPrimitive(shape, mark, painter, self._view)


class CellDrawing:
    """The delegates of one view: Qt's own for cells that need no more, for a method of ours slows scrolling down."""

    def __init__(self, view: QTableView) -> None:
        self._view = view
        self._plain = QStyledItemDelegate(view)
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
