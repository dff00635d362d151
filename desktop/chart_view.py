"""Charts drawn by ourselves: bars, columns over time, a matrix. On screen, on paper, and for those who hear them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QEvent, QMarginsF, QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPagedPaintDevice,
    QPageSize,
    QPainter,
    QPaintEvent,
    QPalette,
    QPdfWriter,
)
from PySide6.QtWidgets import QToolTip, QWidget

from desktop.labels import in_bold
from desktop.pictures import paper, write_image
from desktop.plain_text import plain

Shape = Literal["bars", "columns", "matrix"]

_BAR = 24.0
_GAP = 6.0
_SPACE = 6.0
"""Around the letters of a bar or a cell, above and below together."""
_LABEL = 230.0
_MARGIN = 12.0
_COLUMN = 34.0
_PLOT = 320.0
_CELL = 26.0
_SLANTED = 130.0
_TOLD = 12
_DARK, _LIGHT = 0.4, 128
"""From which share on a cell is so full of a dark accent colour that its number is white."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One bar or cell: what it stands for, how many, and the filter that picking it sets (value and document)."""

    label: str
    count: int
    value: str
    document: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """What to draw. A matrix has `rows` and `columns` of labels and its marks row by row."""

    shape: Shape
    title: str
    marks: tuple[Mark, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    note: str = ""

    @property
    def described(self) -> str:
        """Describe the chart in words; one without a title is on its way."""
        if not self.title:
            return ""
        largest = sorted(self.marks, key=lambda mark: -mark.count)[:_TOLD]
        counts = "; ".join(f"{mark.label}: {mark.count}" for mark in largest if mark.count)
        return f"{self.title}. {counts or 'Nothing to show'}. {self.note}".strip()


class ChartView(QWidget):
    """Shows one chart. Arrow keys walk from mark to mark, Return picks one, as a click does."""

    picked = Signal(str, str)
    """A mark was picked: its value, and its document if it stands for one. One that stands for neither is not."""
    reached = Signal(int, int)
    """The keyboard or the mouse went to a mark; where it is, from the left and from above."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chart = Chart("bars", "")
        self._current = -1
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("Chart")
        self._fit()

    def show_chart(self, chart: Chart) -> None:
        """Show another chart."""
        self.chart, self._current = chart, -1
        self.setAccessibleName(f"Chart: {chart.title}")
        self.setAccessibleDescription(chart.described)
        self._fit()

    def sizeHint(self) -> QSize:
        """Return the size that the whole chart takes."""
        return self._size().toSize()

    def changeEvent(self, event: QEvent) -> None:
        """Make room for other letters."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def _fit(self) -> None:
        """Take the size of the chart, whose bars and cells are as high as the letters need."""
        letters = QFontMetricsF(self.font()).height() + _SPACE
        self._bar, self._cell = max(_BAR, letters), max(_CELL, letters)
        self.setMinimumSize(self.sizeHint())
        self.updateGeometry()
        self.update()

    @property
    def title(self) -> str:
        """Return what the chart is called."""
        return self.chart.title

    def draw(self, painter: QPainter, size: QSize, colours: QPalette) -> None:
        """Draw the chart, as wide as `size`, in these colours."""
        width = float(size.width())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = colours.color(QPalette.ColorRole.Text)
        painter.setPen(ink)
        font = painter.font()
        painter.setFont(in_bold(font))
        painter.drawText(
            QRectF(_MARGIN, _MARGIN, width - 2 * _MARGIN, self._bar), Qt.AlignmentFlag.AlignLeft, self.chart.title
        )
        painter.setFont(font)
        accent = colours.color(QPalette.ColorRole.Highlight)
        most = max((mark.count for mark in self.chart.marks), default=0)
        for place, mark in enumerate(self.chart.marks):
            self._draw_mark(painter, place, mark, most, width, ink, accent)
        if self.chart.shape == "matrix":
            self._draw_labels(painter, ink)
        if self.chart.note:
            painter.setPen(colours.color(QPalette.ColorRole.PlaceholderText))
            foot = QRectF(_MARGIN, self._size().height() - self._bar - 4, width - 2 * _MARGIN, self._bar)
            painter.drawText(foot, Qt.AlignmentFlag.AlignLeft, self.chart.note)

    def print_to(self, device: QPagedPaintDevice) -> bool:
        """Draw the chart on one page, as large as it fits there; say whether that was done."""
        size, painter = self._size(), QPainter(device)
        if not painter.isActive():
            return False
        scale = min(device.width() / size.width(), device.height() / size.height())
        painter.scale(scale, scale)
        font = painter.font()
        font.setPixelSize(13)
        painter.setFont(font)
        self.draw(painter, size.toSize(), paper())
        return painter.end()

    def save(self, path: str) -> bool:
        """Write the chart as a picture (.png) or a page (.pdf), black on white; say whether that was done."""
        size = self._size()
        if path.lower().endswith(".pdf"):
            writer = QPdfWriter(path)
            writer.setTitle(self.chart.title)
            writer.setPageSize(QPageSize(size, QPageSize.Unit.Point))
            writer.setPageMargins(QMarginsF(0, 0, 0, 0))
            return self.print_to(writer)
        return write_image(self, path, size.toSize(), self.font())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw on the screen."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.palette().color(QPalette.ColorRole.Base))
        painter.setFont(self.font())
        self.draw(painter, self.size(), self.palette())
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(self.palette().color(QPalette.ColorRole.Text))
            whole = QRectF(self.rect()).adjusted(0, 0, -1, -1)
            painter.drawRect(self._area(self._current, float(self.width())) if self._current >= 0 else whole)
        painter.end()

    def event(self, event: QEvent) -> bool:
        """Show what a mark stands for under the mouse."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = self._mark_at(QPointF(event.pos()))
            text = _told(self.chart.marks[place]) if place >= 0 else ""
            QToolTip.showText(event.globalPos(), plain(text), self)
            return True
        return super().event(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Pick what was clicked."""
        place = self._mark_at(event.position())
        if place >= 0:
            self._go(place)
            self._pick()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk and pick."""
        across = len(self.chart.columns) if self.chart.shape == "matrix" else 1
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Down: across, Qt.Key.Key_Up: -across}
        if event.key() in steps and self.chart.marks:
            self._go(min(max(self._current + steps[Qt.Key(event.key())], 0), len(self.chart.marks) - 1))
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._pick()
        else:
            super().keyPressEvent(event)

    def _go(self, place: int) -> None:
        self._current = place
        self.setAccessibleDescription(f"{_told(self.chart.marks[place])}. {self.chart.described}")
        area = self._area(place, float(self.width()))
        self.reached.emit(round(area.left()), round(area.center().y()))
        self.update()

    def _pick(self) -> None:
        if 0 <= self._current < len(self.chart.marks):
            mark = self.chart.marks[self._current]
            if mark.value or mark.document:
                self.picked.emit(mark.value, mark.document)

    def _size(self) -> QSizeF:
        foot = self._bar + _MARGIN
        match self.chart.shape:
            case "bars":
                return QSizeF(560.0, 2 * _MARGIN + self._bar + len(self.chart.marks) * (self._bar + _GAP) + foot)
            case "columns":
                return QSizeF(
                    max(2 * _MARGIN + len(self.chart.marks) * (_COLUMN + _GAP), 480.0),
                    _PLOT + _SLANTED / 2 + 3 * self._bar + foot,
                )
        width = _LABEL + len(self.chart.columns) * self._cell + _SLANTED + 2 * _MARGIN
        return QSizeF(width, _SLANTED + self._bar + len(self.chart.rows) * self._cell + 2 * _MARGIN + foot)

    def _area(self, place: int, width: float) -> QRectF:
        """Return where a mark is drawn: the whole of its strip or cell."""
        top, bar, cell = _MARGIN + self._bar + _GAP, self._bar, self._cell
        match self.chart.shape:
            case "bars":
                return QRectF(_MARGIN, top + place * (bar + _GAP), width - 2 * _MARGIN, bar)
            case "columns":
                return QRectF(_MARGIN + place * (_COLUMN + _GAP), top, _COLUMN, _PLOT + bar)
        row, column = divmod(place, max(len(self.chart.columns), 1))
        return QRectF(_LABEL + column * cell, top + _SLANTED + row * cell, cell, cell)

    def _mark_at(self, point: QPointF) -> int:
        width = float(self.width())
        return next((n for n in range(len(self.chart.marks)) if self._area(n, width).contains(point)), -1)

    def _draw_mark(  # noqa: PLR0913, PLR0917 - what drawing takes
        self, painter: QPainter, place: int, mark: Mark, most: int, width: float, ink: QColor, accent: QColor
    ) -> None:
        area, share = self._area(place, width), mark.count / most if most else 0.0
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(accent)
        text = QFontMetricsF(painter.font())
        match self.chart.shape:
            case "bars":
                count = max(text.horizontalAdvance(f"{most:,}") + 12.0, 60.0)
                room = max(area.width() - _LABEL - count, 40.0)
                bar = QRectF(area.left() + _LABEL, area.top() + 3, max(room * share, 1.0), area.height() - 6)
                painter.drawRect(bar)
                painter.setPen(ink)
                label = text.elidedText(mark.label, Qt.TextElideMode.ElideRight, _LABEL - 10)
                side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                painter.drawText(QRectF(area.left(), area.top(), _LABEL - 8, area.height()), side, label)
                painter.drawText(
                    bar.adjusted(bar.width() + 6, -3, count + 20, 3), Qt.AlignmentFlag.AlignVCenter, f"{mark.count:,}"
                )
            case "columns":
                height = _PLOT * share
                painter.drawRect(
                    QRectF(area.left() + 3, area.top() + self._bar + _PLOT - height, area.width() - 6, height)
                )
                painter.setPen(ink)
                over = QRectF(area.left() - 8, area.top() + _PLOT - height, area.width() + 16, self._bar)
                if mark.count:
                    painter.drawText(over, Qt.AlignmentFlag.AlignCenter, f"{mark.count:,}")
                _draw_slanted(painter, QPointF(area.center().x() - 4, area.bottom() + 8), mark.label, 45.0)
            case "matrix":
                shade = QColor(accent)
                shade.setAlphaF(0.15 + 0.85 * share if mark.count else 0.04)
                painter.setBrush(shade)
                painter.drawRect(area.adjusted(1, 1, -1, -1))
                if mark.count:
                    painter.setPen(QColor("#ffffff") if share > _DARK and accent.lightness() < _LIGHT else ink)
                    painter.drawText(area, Qt.AlignmentFlag.AlignCenter, f"{mark.count:,}")

    def _draw_labels(self, painter: QPainter, ink: QColor) -> None:
        painter.setPen(ink)
        text = QFontMetricsF(painter.font())
        top, cell = _MARGIN + self._bar + _GAP + _SLANTED, self._cell
        for number, label in enumerate(self.chart.columns):
            start = QPointF(_LABEL + (number + 0.6) * cell, top - 4)
            shown = text.elidedText(label, Qt.TextElideMode.ElideRight, _SLANTED * 1.35)
            _draw_slanted(painter, start, shown, -45.0)
        for number, label in enumerate(self.chart.rows):
            where = QRectF(_MARGIN, top + number * cell, _LABEL - _MARGIN - 8, cell)
            shown = text.elidedText(label, Qt.TextElideMode.ElideRight, where.width())
            painter.drawText(where, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, shown)


def _told(mark: Mark) -> str:
    return f"{mark.label}: {mark.count:,}"


def _draw_slanted(painter: QPainter, start: QPointF, text: str, degrees: float) -> None:
    painter.save()
    painter.translate(start)
    painter.rotate(degrees)
    painter.drawText(QPointF(0, 0), text)
    painter.restore()
