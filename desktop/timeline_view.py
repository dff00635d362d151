"""A timeline drawn by ourselves: an entry a line, the space between two as long as the time between them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from desktop.labels import in_bold
from desktop.plain_text import plain
from desktop.words import counted
from engine.worker.contract.timeline import ShownEntry

_MARGIN = 14.0
_ROW = 24.0
"""The least height of a line."""
_SPACE = 6.0
"""Around the letters of a line, above and below together."""
_DOT = 4.5
_TEXT_GAP = 18.0
_PLACE_SHARE = 0.32
_LEAST_WIDTH = 380
_LABELLED_GAP = 30.0
"""The least height of a gap that has a label."""
_GAPS_PER_ENTRY = 12.0
_LEAST_GAPS = 360.0
"""All gaps together are as high as so much for each entry, but not less than that."""


class TimelineDrawing:
    """Moments with their heights; it does not change. `dated` of them come first, then those without a sure date.

    A line is `row` pixels high.
    """

    def __init__(
        self, title: str, moments: Sequence[ShownEntry] = (), dated: int = 0, note: str = "", *, row: float = _ROW
    ) -> None:
        self.title, self.moments, self.dated, self.note = title, tuple(moments), dated, note
        self.row = row
        self.heights: list[float] = []
        self.gaps: dict[int, float] = {}
        """The height of the gap above a moment, by its place."""
        self._lay_out()

    @property
    def height(self) -> int:
        """Return how high all of it is."""
        end = self.heights[-1] + self.row if self.heights else self._top
        return round(end + (self.row if self.note else 0.0) + _MARGIN)

    def moment_at(self, height: float) -> int:
        """Return which moment is at a height, -1 for none."""
        place = bisect_right(self.heights, height) - 1
        return place if place >= 0 and height < self.heights[place] + self.row else -1

    def area(self, place: int, width: float) -> QRectF:
        """Return where a moment is."""
        return QRectF(0.0, self.heights[place], width, self.row)

    def draw(self, painter: QPainter, size: QSize, colours: QPalette, seen: QRectF | None = None) -> None:
        """Draw it; what lies outside `seen` may be left out."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        letters = QFontMetricsF(painter.font())
        dates = max(map(letters.horizontalAdvance, {moment.date for moment in self.moments}), default=0.0)
        axis = _MARGIN + dates + _TEXT_GAP
        first, last = self._between(seen)
        if first == 0:
            _write_heading(painter, QPointF(_MARGIN, self._top - self.row / 2), self.title, colours)
        for place in range(first, last):
            if place < self.dated:
                self._draw_axis(painter, place, axis, colours)
            elif place == self.dated:
                heading = f"Without a sure date ({len(self.moments) - self.dated:,})"
                _write_heading(painter, QPointF(_MARGIN, self.heights[place] - 8), heading, colours)
            self._draw_moment(painter, place, axis, float(size.width()), colours)
        if self.note and last == len(self.moments):
            painter.setPen(colours.color(QPalette.ColorRole.PlaceholderText))
            painter.drawText(QPointF(_MARGIN, self.height - _MARGIN), self.note)

    @property
    def _top(self) -> float:
        """Return where the first line begins, below the title."""
        return _MARGIN + self.row + 2.0

    def _lay_out(self) -> None:
        """Give every moment its height: a line each, and above it a gap in proportion to its days."""
        days = sum(moment.gap_days for moment in self.moments)
        scale = max(_LEAST_GAPS, _GAPS_PER_ENTRY * self.dated) / days if days else 0.0
        if labelled := [moment.gap_days for moment in self.moments if moment.gap]:
            scale = max(scale, max(_LABELLED_GAP, self.row + _SPACE) / min(labelled))
        top = self._top
        for place, moment in enumerate(self.moments):
            if place == self.dated:
                top += self.row + _MARGIN
            if moment.gap_days:
                self.gaps[place] = moment.gap_days * scale
                top += self.gaps[place]
            self.heights.append(top)
            top += self.row

    def _between(self, seen: QRectF | None) -> tuple[int, int]:
        """Return which moments lie in a rectangle: the first, and the one behind the last."""
        if seen is None:
            return 0, len(self.moments)
        first = max(bisect_right(self.heights, seen.top() - 3 * self.row) - 1, 0)
        return first, min(bisect_left(self.heights, seen.bottom() + 3 * self.row) + 1, len(self.moments))

    def _draw_axis(self, painter: QPainter, place: int, x: float, colours: QPalette) -> None:
        """Draw the line from the moment before, dashed and labelled where the gap is long, and the dot."""
        y, gap = self.heights[place] + self.row / 2, self.moments[place].gap
        accent, faint = colours.color(QPalette.ColorRole.Highlight), colours.color(QPalette.ColorRole.PlaceholderText)
        if place:
            before = self.heights[place - 1] + self.row / 2
            style = Qt.PenStyle.DashLine if gap else Qt.PenStyle.SolidLine
            painter.setPen(QPen(faint if gap else accent, 1.5, style))
            painter.drawLine(QPointF(x, before + _DOT), QPointF(x, y - _DOT))
        if gap:
            painter.setPen(faint)
            middle = (self.heights[place - 1] + self.row + self.heights[place]) / 2
            painter.drawText(QPointF(x + _TEXT_GAP, middle + self.row / 5), gap)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(accent)
        painter.drawEllipse(QPointF(x, y), _DOT, _DOT)

    def _draw_moment(self, painter: QPainter, place: int, axis: float, width: float, colours: QPalette) -> None:
        moment, top, is_dated = self.moments[place], self.heights[place], place < self.dated
        letters = QFontMetricsF(painter.font())
        right, left = Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignLeft
        begin = axis + _TEXT_GAP if is_dated else _MARGIN
        room = width - begin - _MARGIN
        place_width = min(letters.horizontalAdvance(moment.place) + 4, room * _PLACE_SHARE)

        def write(where: QRectF, side: Qt.AlignmentFlag, text: str) -> None:
            short = letters.elidedText(text, Qt.TextElideMode.ElideRight, where.width())
            painter.drawText(where, side | Qt.AlignmentFlag.AlignVCenter, short)

        painter.setPen(colours.color(QPalette.ColorRole.Text))
        if is_dated and (place == 0 or moment.date != self.moments[place - 1].date):
            write(QRectF(_MARGIN, top, axis - _TEXT_GAP - _MARGIN + 4, self.row), right, moment.date)
        text = moment.text or f"Row {moment.number}"
        what = text if is_dated else f"{text}  ({moment.reason})"
        write(QRectF(begin, top, room - place_width - 12, self.row), left, what)
        painter.setPen(colours.color(QPalette.ColorRole.PlaceholderText))
        write(QRectF(width - _MARGIN - place_width, top, place_width, self.row), right, moment.place)


class TimelineView(QWidget):
    """Shows a timeline. Arrow keys walk from moment to moment, Return picks one, as a click does."""

    picked = Signal(str, str)
    """A moment was picked: its row, and where in the cell it stands."""
    reached = Signal(int)
    """The keyboard went to a moment; at which height it is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.drawing = TimelineDrawing("")
        self._current = -1
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Timeline")

    @property
    def moments(self) -> tuple[ShownEntry, ...]:
        """Return what is shown, from the top."""
        return self.drawing.moments

    @property
    def row(self) -> float:
        """Return how high a line has to be."""
        return max(_ROW, QFontMetricsF(self.font()).height() + _SPACE)

    def show_timeline(self, drawing: TimelineDrawing) -> None:
        """Show another timeline."""
        self.drawing, self._current = drawing, -1
        self.setAccessibleName(f"Timeline: {drawing.title}")
        undated = len(drawing.moments) - drawing.dated
        summary = f"{counted(drawing.dated, 'date')}, {undated:,} without a sure date. {drawing.note}"
        self.setAccessibleDescription(summary.strip() if drawing.title else "")  # without a title it is on its way
        self.setMinimumSize(self.sizeHint())
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Return the size that the whole timeline takes."""
        return QSize(_LEAST_WIDTH, self.drawing.height)

    def changeEvent(self, event: QEvent) -> None:
        """Make room for other letters."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            shown = self.drawing
            self.show_timeline(TimelineDrawing(shown.title, shown.moments, shown.dated, shown.note, row=self.row))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw what is seen."""
        painter = QPainter(self)
        painter.fillRect(event.rect(), self.palette().color(QPalette.ColorRole.Base))
        painter.setFont(self.font())
        if self._current >= 0:
            chosen = self.palette().color(QPalette.ColorRole.Highlight)
            chosen.setAlphaF(0.22 if self.hasFocus() else 0.14)
            painter.fillRect(self.drawing.area(self._current, float(self.width())), chosen)
        elif self.hasFocus():
            painter.setPen(self.palette().color(QPalette.ColorRole.Text))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        self.drawing.draw(painter, self.size(), self.palette(), QRectF(event.rect()))
        painter.end()

    def event(self, event: QEvent) -> bool:
        """Show the whole of a moment under the mouse."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = self.drawing.moment_at(event.pos().y())
            QToolTip.showText(event.globalPos(), plain(_described(self.moments[place])) if place >= 0 else "", self)
            return True
        return super().event(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Pick what was clicked."""
        place = self.drawing.moment_at(event.position().y())
        if place >= 0:
            self._go(place)
            self._pick()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk and pick."""
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}
        if event.key() in steps and self.moments:
            self._go(min(max(self._current + steps[Qt.Key(event.key())], 0), len(self.moments) - 1))
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._pick()
        else:
            super().keyPressEvent(event)

    def _go(self, place: int) -> None:
        self._current = place
        self.setAccessibleDescription(_described(self.moments[place]))
        self.reached.emit(round(self.drawing.heights[place]))
        self.update()

    def _pick(self) -> None:
        if 0 <= self._current < len(self.moments):
            moment = self.moments[self._current]
            self.picked.emit(moment.row, moment.path)


def _described(moment: ShownEntry) -> str:
    """Describe a moment in words."""
    when = moment.date or f"Without a sure date ({moment.reason})"
    return f"{when}. {moment.text or f'Row {moment.number}'}. {moment.place}".strip()


def _write_heading(painter: QPainter, where: QPointF, text: str, colours: QPalette) -> None:
    usual = painter.font()
    painter.setFont(in_bold(usual))
    painter.setPen(colours.color(QPalette.ColorRole.Text))
    painter.drawText(where, text)
    painter.setFont(usual)
