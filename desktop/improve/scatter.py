"""Plans by accuracy and time: a picture that can be walked with the keyboard and is told in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
)
from PySide6.QtWidgets import QToolTip, QWidget

from desktop.plain_text import plain
from desktop.words import duration_text

LINE: Final = 18.0
"""The least height of a line of letters, in pixels."""
RIGHT: Final = 24.0
LABEL_LINES: Final = 5.6
"""How wide the label of a mark of the axis is, in heights of a line."""
LOWEST, HIGHEST = 1.0, 4.0
RADIUS: Final = 6.0
REACH: Final = 14.0
"""Pixels from a point within which a click means it."""
MOST_TICKS: Final = 4
STEPS: Final = (1.0, 2.0, 5.0, 10.0, 15.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0)
"""Seconds between marks of the axis: `duration_text` writes their multiples without rounding two to the same."""


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """A plan by its rating, 1 to 4, and the seconds that it takes for all documents."""

    plan: int
    name: str
    score: float
    seconds: float
    is_own: bool = False
    is_chosen: bool = False
    is_on_front: bool = False

    @property
    def described(self) -> str:
        """Describe the point in words."""
        chosen = ", chosen" if self.is_chosen else ""
        beaten = "" if self.is_on_front or self.is_own else ", another plan is better or faster"
        return f"{self.name}: rated {self.score:.2f} of 4, about {duration_text(self.seconds)} in all{chosen}{beaten}"


class Scatter(QWidget):
    """Shows points; arrow keys walk from the fastest to the slowest, a click or Return picks one."""

    walked = Signal(int)
    """Another point is the current one; its plan."""
    picked = Signal(int)
    """A point was picked, by Return or a double click; its plan."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.points: tuple[PlanPoint, ...] = ()
        self.current = 0
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(320, 200)
        self._describe()

    def sizeHint(self) -> QSize:
        """Return a size in which points stand apart."""
        return QSize(560, 330)

    def show_points(self, points: Sequence[PlanPoint], current: int = 0) -> None:
        """Show points; `current` is a plan, 0 for the one that was chosen."""
        self.points = tuple(sorted(points, key=lambda point: (point.seconds, point.score)))
        chosen = next((p.plan for p in self.points if p.is_chosen), self.points[0].plan if self.points else 0)
        self.current = current if any(p.plan == current for p in self.points) else chosen
        self._describe()
        self.update()

    def go_to(self, plan: int) -> None:
        """Make a plan the current one."""
        if plan != self.current and any(point.plan == plan for point in self.points):
            self.current = plan
            self._describe()
            self.update()
            self.walked.emit(plan)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk and pick."""
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: -1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: 1}
        ends = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: len(self.points) - 1}
        plans = [point.plan for point in self.points]
        place = plans.index(self.current) if self.current in plans else -1
        if event.key() in steps and plans:
            self.go_to(plans[min(max(place + steps[Qt.Key(event.key())], 0), len(plans) - 1)])
        elif event.key() in ends and plans:
            self.go_to(plans[ends[Qt.Key(event.key())]])
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and place >= 0:
            self.picked.emit(self.current)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to the point that is clicked."""
        if (point := self._near(event.position())) is not None:
            self.go_to(point.plan)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Pick the point that is clicked."""
        if (point := self._near(event.position())) is not None:
            self.picked.emit(point.plan)

    def event(self, event: QEvent) -> bool:
        """Say what a point under the mouse is."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            point = self._near(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), plain(point.described if point is not None else ""), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the axes, the line of the best, and the points."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), self.palette().color(QPalette.ColorRole.Base))
        painter.setFont(self.font())
        self._draw_axes(painter)
        accent = self.palette().color(QPalette.ColorRole.Highlight)
        front = [self.place(point) for point in self.points if point.is_on_front]
        painter.setPen(QPen(accent, 1.5, Qt.PenStyle.DashLine))
        painter.drawPolyline(front)
        for point in self.points:
            self._draw_point(painter, point, accent)
        painter.end()

    def place(self, point: PlanPoint) -> QPointF:
        """Return where a point is drawn."""
        field = self._field()
        across = point.seconds / self._ticks()[-1]
        up = (min(max(point.score, LOWEST), HIGHEST) - LOWEST) / (HIGHEST - LOWEST)
        return QPointF(field.left() + across * field.width(), field.bottom() - up * field.height())

    @property
    def line(self) -> float:
        """Return how high a line of letters is."""
        return max(LINE, QFontMetricsF(self.font()).height())

    @property
    def _left(self) -> float:
        """Return where the field begins: at its left are the ratings, and what they are, upright."""
        return 2 * self.line + 22.0

    def _field(self) -> QRectF:
        left, top, below = self._left, self.line - 2.0, 2 * self.line + 8.0
        return QRectF(left, top, self.width() - left - RIGHT, self.height() - top - below)

    def _ticks(self) -> list[float]:
        return ticks_up_to(max((point.seconds for point in self.points), default=60.0) * 1.05)

    def _near(self, where: QPointF) -> PlanPoint | None:
        def distance(point: PlanPoint) -> float:
            away = self.place(point) - where
            return math.hypot(away.x(), away.y())

        best = min(self.points, key=distance, default=None)
        return best if best is not None and distance(best) <= REACH else None

    def _draw_axes(self, painter: QPainter) -> None:
        field, colours, high = self._field(), self.palette(), self.line
        line = QColor(colours.color(QPalette.ColorRole.Text))
        line.setAlphaF(0.18)
        faint = colours.color(QPalette.ColorRole.PlaceholderText)
        for score in range(int(LOWEST), int(HIGHEST) + 1):
            y = field.bottom() - (score - LOWEST) / (HIGHEST - LOWEST) * field.height()
            painter.setPen(line)
            painter.drawLine(QPointF(field.left(), y), QPointF(field.right(), y))
            painter.setPen(faint)
            painter.drawText(QRectF(0, y - high / 2, self._left - 8, high), Qt.AlignmentFlag.AlignRight, str(score))
        ticks, below, wide = self._ticks(), field.bottom() + 4, LABEL_LINES * high
        painter.drawText(QRectF(field.left(), below, wide, high), Qt.AlignmentFlag.AlignLeft, "0")
        for tick in ticks:
            x = field.left() + tick / ticks[-1] * field.width()
            where, side = QRectF(x - wide / 2, below, wide, high), Qt.AlignmentFlag.AlignHCenter
            if tick == ticks[-1]:
                where, side = QRectF(x - wide + RIGHT - 2, below, wide, high), Qt.AlignmentFlag.AlignRight
            painter.drawText(where, side, duration_text(tick))
        painter.drawText(
            QRectF(field.left(), below + high, field.width(), high),
            Qt.AlignmentFlag.AlignHCenter,
            "Time for all documents",
        )
        painter.save()
        painter.translate(high / 2 + 5, field.center().y())
        painter.rotate(-90)
        painter.drawText(QRectF(-wide, -high / 2, 2 * wide, high), Qt.AlignmentFlag.AlignCenter, "Rating, 1 to 4")
        painter.restore()

    def _draw_point(self, painter: QPainter, point: PlanPoint, accent: QColor) -> None:
        """Draw the user's own plan as a square, others as circles; filled on the line of the best."""
        centre, ink = self.place(point), self.palette().color(QPalette.ColorRole.Text)
        painter.setPen(QPen(ink if point.is_own else accent, 2))
        painter.setBrush(accent if point.is_on_front else self.palette().color(QPalette.ColorRole.Base))
        box = QRectF(centre.x() - RADIUS, centre.y() - RADIUS, 2 * RADIUS, 2 * RADIUS)
        if point.is_own:
            painter.drawRect(box)
        else:
            painter.drawEllipse(box)
        if point.plan == self.current:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(ink, 2 if self.hasFocus() else 1))
            painter.drawEllipse(box.adjusted(-5, -5, 5, 5))
        if point.is_own or point.is_chosen or point.plan == self.current:
            self._draw_name(painter, point, centre, ink)

    def _draw_name(self, painter: QPainter, point: PlanPoint, centre: QPointF, ink: QColor) -> None:
        painter.setPen(ink)
        width = float(painter.fontMetrics().horizontalAdvance(point.name)) + 4
        is_left = centre.x() + 16 + width > self.width() - 4
        left = centre.x() - 16 - width if is_left else centre.x() + 16
        high = self.line
        for lift in (-high / 2, -high - 12.0, 12.0):
            where = QRectF(left, centre.y() + lift, width, high)
            others = (self.place(other) for other in self.points if other is not point)
            if not any(where.adjusted(-RADIUS, -RADIUS, RADIUS, RADIUS).contains(other) for other in others):
                break
        painter.drawText(where, Qt.AlignmentFlag.AlignLeft, point.name)

    def _describe(self) -> None:
        current = next((point.described for point in self.points if point.plan == self.current), "")
        self.setAccessibleName("Chart: plans by rating and time")
        others = "; ".join(point.described for point in self.points if point.plan != self.current)
        self.setAccessibleDescription(f"{current}. Others: {others}" if current else "No plan has been rated yet")


def ticks_up_to(seconds: float) -> list[float]:
    """Choose where an axis from 0 to so many seconds or more is marked: at most four marks, read as what they are."""
    step = next((step for step in STEPS if seconds <= MOST_TICKS * step), STEPS[-1])
    while seconds > MOST_TICKS * step:
        step *= 2
    return [step * number for number in range(1, max(1, math.ceil(seconds / step)) + 1)]
