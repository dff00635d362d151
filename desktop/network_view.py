"""A network drawn by ourselves: what most rows name is largest; wheel and mouse zoom and move, a click picks."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QEvent, QLineF, QObject, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QPolygonF,
    QResizeEvent,
    QTransform,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

from desktop.plain_text import plain
from desktop.words import counted
from engine.worker.contract.network import ShownNode

_COLOURS: Final = {
    "person": ("#1b5fa8", "#5aa2e6"),
    "organization": ("#a3541a", "#e59a5c"),
    "thing": ("#1f7a4d", "#5fbf8f"),
    "document": ("#6b6b66", "#a5a5a0"),
}
"""By kind of node, on a light and on a dark ground."""
KIND_NAMES: Final = {
    "person": "Person",
    "organization": "Organization",
    "thing": "Other thing",
    "document": "Document",
}
_SMALLEST, _LARGEST = 4.0, 15.0
_MARGIN = 46.0
_NEAR_NODE = 3.0
_NEAR_LINK = 5.0
"""So many pixels beside a node or a link still pick it."""
_MOST_NAMES = 140
_LONGEST_NAME = 190.0
_SEEN = 0.5
"""Opacity of a link that can be told from its ground (3 to 1), light or dark; of very many, each is fainter."""
_SMOOTH_LINKS = 1500
"""Up to so many links are drawn without steps, which takes longer."""
_LINES_AT_ONCE = 100
_SLICE_SECONDS = 0.008
"""So long the window draws before it looks at anything else. Another thread would not do: each call of Qt in either
waits for the other to give up Python."""
_DARK = 128
_WHEEL_STEP = 240.0
_LEAST_ZOOM, _MOST_ZOOM = 0.5, 40.0


@dataclass(frozen=True, slots=True)
class NetworkLink:
    """Two places of nodes, and how many rows link them."""

    first: int
    second: int
    rows: int


@dataclass(frozen=True, slots=True)
class Placement:
    """How places of the layout become points of a picture: scaled, then moved."""

    scale: float
    across: float
    down: float

    def point(self, node: ShownNode) -> QPointF:
        """Return where a node is drawn."""
        return QPointF(node.x * self.scale + self.across, node.y * self.scale + self.down)


class NetworkDrawing:
    """Nodes and links, which do not change. Places are scaled to a rectangle; `zoom` and `moved` go on from there."""

    def __init__(self, title: str, nodes: Sequence[ShownNode] = (), links: Sequence[NetworkLink] = ()) -> None:
        self.title, self.nodes, self.links = title, tuple(nodes), tuple(links)
        most = max((node.rows for node in nodes), default=1)
        xs, ys = [node.x for node in nodes] or [0.0], [node.y for node in nodes] or [0.0]
        self._bounds = min(xs), min(ys), max(xs), max(ys)
        self.of_kind = {kind: [n for n, node in enumerate(nodes) if node.kind == kind] for kind in _COLOURS}
        self.radii = [
            _SMALLEST + (_LARGEST - _SMALLEST) * math.sqrt(node.rows / most) * (0.6 if node.kind == "document" else 1)
            for node in nodes
        ]

    def placement(self, size: QSize, zoom: float = 1.0, moved: QPointF | None = None) -> Placement:
        """Return where nodes are in a rectangle of this size."""
        left, top, right, bottom = self._bounds
        room = max(size.width(), 120) - 3 * _MARGIN, max(size.height(), 120) - 2 * _MARGIN
        scale = zoom * min(room[0] / max(right - left, 1.0), room[1] / max(bottom - top, 1.0))
        shift = moved or QPointF()
        across = size.width() / 2 + shift.x() - (left + right) / 2 * scale
        return Placement(scale, across, size.height() / 2 + shift.y() - (top + bottom) / 2 * scale)

    def points(self, placement: Placement) -> list[QPointF]:
        """Return where each node is drawn."""
        return [placement.point(node) for node in self.nodes]

    def draw(self, painter: QPainter, size: QSize, colours: QPalette) -> None:
        """Draw all of it, as large as `size`."""
        places = self.points(self.placement(size))
        for _ in self.link_steps(painter, places, colours):
            pass
        for _ in self.node_steps(painter, places, QRectF(0, 0, size.width(), size.height()), colours):
            pass

    def link_steps(self, painter: QPainter, places: Sequence[QPointF], colours: QPalette) -> Iterator[None]:
        """Draw the links in steps, those of more rows thicker."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, len(self.links) <= _SMOOTH_LINKS)
        ink = colours.color(QPalette.ColorRole.Text)
        weakest = _SEEN if len(self.links) <= _SMOOTH_LINKS else 0.0
        for least, most, width, strength in ((1, 2, 1.0, 0.22), (2, 4, 1.6, 0.32), (4, 1 << 60, 2.6, 0.45)):
            line = QColor(ink)
            line.setAlphaF(max(strength, weakest))
            painter.setPen(QPen(line, width))
            lines = [QLineF(places[k.first], places[k.second]) for k in self.links if least <= k.rows < most]
            for begin in range(0, len(lines), _LINES_AT_ONCE):
                painter.drawLines(lines[begin : begin + _LINES_AT_ONCE])
                yield

    def node_steps(
        self, painter: QPainter, places: Sequence[QPointF], seen: QRectF, colours: QPalette
    ) -> Iterator[None]:
        """Draw the nodes that are seen, in steps, and as many names as have room: the largest first, documents last."""
        ink, ground = colours.color(QPalette.ColorRole.Text), colours.color(QPalette.ColorRole.Base)
        is_dark = ground.lightness() < _DARK
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        near = seen.adjusted(-_LARGEST, -_LARGEST, _LARGEST, _LARGEST)
        painter.setPen(QPen(ground, 1.0))
        for kind, pair in _COLOURS.items():
            painter.setBrush(QColor(pair[is_dark]))
            for place in self.of_kind[kind]:
                if near.contains(places[place]):
                    _draw_node(painter, places[place], self.radii[place], kind)
                    yield
        yield from self._name_steps(painter, places, seen, ink, ground)

    def _name_steps(
        self, painter: QPainter, places: Sequence[QPointF], seen: QRectF, ink: QColor, ground: QColor
    ) -> Iterator[None]:
        letters = QFontMetricsF(painter.font())
        high, room, written = letters.height(), _Room(letters.height()), 0
        halo = QColor(ground)
        halo.setAlphaF(0.75)
        documents = self.of_kind["document"]
        for place in (*(n for n in range(len(self.nodes)) if self.nodes[n].kind != "document"), *documents):
            node = self.nodes[place]
            if written >= _MOST_NAMES:
                return
            if not seen.contains(places[place]):
                continue
            text = letters.elidedText(node.name, Qt.TextElideMode.ElideRight, _LONGEST_NAME)
            wide, beside = letters.horizontalAdvance(text) + 4, self.radii[place] + 3
            x, y = places[place].x(), places[place].y()
            for left, top in (
                (x + beside, y - high / 2),
                (x - beside - wide, y - high / 2),
                (x - wide / 2, y + beside),
            ):
                if seen.left() <= left and left + wide <= seen.right() and room.take(left, left + wide, top):
                    area = QRectF(left, top, wide, high)
                    painter.fillRect(area, halo)
                    painter.setPen(ink)
                    painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
                    written += 1
                    break
            yield


class _Room:
    """Where names of one height stand already."""

    def __init__(self, height: float) -> None:
        self._height = height
        self._taken: dict[int, list[tuple[float, float]]] = {}

    def take(self, left: float, right: float, top: float) -> bool:
        """Take a place if nothing is there; say whether that was done."""
        bands = (int(top // self._height), int(top // self._height) + 1)
        if any(left < end and begin < right for band in bands for begin, end in self._taken.get(band, ())):
            return False
        for band in bands:
            self._taken.setdefault(band, []).append((left, right))
        return True


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A picture to draw: what, where, how large, and the zoom and move that it is for."""

    drawing: NetworkDrawing
    placement: Placement
    size: QSize
    ratio: float
    palette: QPalette
    font: QFont
    zoom: float
    moved: QPointF


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Two pictures to lay over each other: the links, and nodes and names with nothing behind them."""

    wanted: _Wanted
    links: QImage
    nodes: QImage


class _Painter(QObject):
    """Draws networks between other events, one at a time; of those that wait only the last is drawn."""

    drawn = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._waiting: _Wanted | None = None
        self._drawing: Iterator[_Drawn | None] | None = None
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._go_on)

    def want(self, wanted: _Wanted) -> None:
        """Draw this next."""
        if self._drawing is None:
            self._drawing = _steps(wanted)
            self._timer.start()
        else:
            self._waiting = wanted

    def _go_on(self) -> None:
        assert self._drawing is not None
        until, done = time.perf_counter() + _SLICE_SECONDS, None
        while done is None and time.perf_counter() < until:
            done = next(self._drawing)
        if done is None:
            return
        wanted, self._waiting, self._drawing = self._waiting, None, None
        self._timer.stop()
        if wanted is not None:
            self.want(wanted)
        self.drawn.emit(done)


def _steps(wanted: _Wanted) -> Iterator[_Drawn | None]:
    """Draw both pictures in steps; the last one gives them."""
    places = wanted.drawing.points(wanted.placement)
    links, nodes = _blank(wanted), _blank(wanted)
    with _painting(links) as painter:
        for _ in wanted.drawing.link_steps(painter, places, wanted.palette):
            yield None
    with _painting(nodes) as painter:
        painter.setFont(wanted.font)
        seen = QRectF(0, 0, wanted.size.width(), wanted.size.height())
        for _ in wanted.drawing.node_steps(painter, places, seen, wanted.palette):
            yield None
    yield _Drawn(wanted, links, nodes)


@contextlib.contextmanager
def _painting(picture: QImage) -> Iterator[QPainter]:
    """End the painter before its picture goes, also where the drawing is given up half way."""
    painter = QPainter(picture)
    try:
        yield painter
    finally:
        painter.end()


def _blank(wanted: _Wanted) -> QImage:
    picture = QImage(wanted.size * wanted.ratio, QImage.Format.Format_ARGB32_Premultiplied)
    picture.setDevicePixelRatio(wanted.ratio)
    picture.fill(Qt.GlobalColor.transparent)
    return picture


class NetworkView(QWidget):
    """Shows a network. Arrow keys walk from node to node, Return picks one; + and - zoom, 0 shows all of it."""

    node_picked = Signal(int)
    link_picked = Signal(int)
    """A node, or a link, was picked: its place."""
    painted = Signal()
    """The picture of what is shown is there."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.drawing = NetworkDrawing("")
        self.hint = ""
        """What is said in place of a network."""
        self._current = -1
        self._link = -1
        self._zoom, self._moved = 1.0, QPointF()
        self._placement = self.drawing.placement(self.size())
        self._pictures: _Drawn | None = None
        self._painter = _Painter(self)
        self._painter.drawn.connect(self._take)
        self._pressed: QPointF | None = None
        self._was_moved = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(260, 240)
        self.setAccessibleName("Network")

    def show_network(self, drawing: NetworkDrawing, hint: str = "") -> None:
        """Show another network, whole; `hint` is shown where it has no node."""
        self.drawing, self.hint = drawing, hint
        self._current, self._link, self._pictures = -1, -1, None
        self.setAccessibleName(f"Network: {drawing.title}")
        largest = "; ".join(described(node) for node in drawing.nodes[:12])
        summary = f"{counted(len(drawing.nodes), 'node')}, {counted(len(drawing.links), 'link')}. {largest}"
        self.setAccessibleDescription(summary if drawing.nodes else hint)
        self.show_all()

    def show_all(self) -> None:
        """Make the network as large as the widget."""
        self._zoom, self._moved = 1.0, QPointF()
        self._lay_out()

    def zoom(self, factor: float, around: QPointF | None = None) -> None:
        """Make it larger, around a point that stays where it is (the middle if none is given)."""
        new = min(max(self._zoom * factor, _LEAST_ZOOM), _MOST_ZOOM)
        middle = QPointF(self.width() / 2, self.height() / 2)
        from_middle = (around or middle) - middle
        self._moved = from_middle - (from_middle - self._moved) * (new / self._zoom)
        self._zoom = new
        self._lay_out()

    def place_of(self, node: int) -> QPointF:
        """Return where a node is drawn."""
        return self._placement.point(self.drawing.nodes[node])

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the pictures that are there, and between them what is chosen."""
        painter = QPainter(self)
        painter.fillRect(event.rect(), self.palette().color(QPalette.ColorRole.Base))
        if not self.drawing.nodes:
            painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            how = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.rect().adjusted(20, 20, -20, -20), how, self.hint)
        if self.hasFocus() and self._current < 0:
            painter.setPen(self.palette().color(QPalette.ColorRole.Text))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        if self._pictures is None:
            painter.end()
            return
        painter.setTransform(self._to_now(self._pictures.wanted))
        painter.drawImage(0, 0, self._pictures.links)
        painter.resetTransform()
        self._draw_chosen(painter)
        painter.setTransform(self._to_now(self._pictures.wanted))
        painter.drawImage(0, 0, self._pictures.nodes)
        painter.end()

    def _draw_chosen(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        accent = self.palette().color(QPalette.ColorRole.Highlight)
        chosen = [self._link] if self._link >= 0 else []
        if self._current >= 0:
            chosen = [n for n, k in enumerate(self.drawing.links) if self._current in (k.first, k.second)]
        painter.setPen(QPen(accent, 2.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for number in chosen:
            link = self.drawing.links[number]
            painter.drawLine(self.place_of(link.first), self.place_of(link.second))
        ends = [end for n in chosen[:1] for end in (self.drawing.links[n].first, self.drawing.links[n].second)]
        for place in [self._current] if self._current >= 0 else ends:
            radius = self.drawing.radii[place] + 3
            painter.drawEllipse(self.place_of(place), radius, radius)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the network anew."""
        super().resizeEvent(event)
        self._lay_out()

    def changeEvent(self, event: QEvent) -> None:
        """Draw anew in other colours or letters."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._lay_out()

    def event(self, event: QEvent) -> bool:
        """Say what is under the mouse."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            node, link = self._node_at(QPointF(event.pos())), self._link_at(QPointF(event.pos()))
            text = described(self.drawing.nodes[node]) if node >= 0 else self.told_link(link) if link >= 0 else ""
            QToolTip.showText(event.globalPos(), plain(text), self)
            return True
        return super().event(event)

    def told_link(self, place: int) -> str:
        """Describe a link in words."""
        link = self.drawing.links[place]
        names = self.drawing.nodes[link.first].name, self.drawing.nodes[link.second].name
        return f"{names[0]} and {names[1]}: {counted(link.rows, 'row')}"

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom around the mouse."""
        self.zoom(2.0 ** (event.angleDelta().y() / _WHEEL_STEP), event.position())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to move."""
        self._pressed, self._was_moved = event.position(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the network with the mouse."""
        if self._pressed is None or not event.buttons() & Qt.MouseButton.LeftButton:
            return
        step = event.position() - self._pressed
        if self._was_moved or step.manhattanLength() >= QApplication.startDragDistance():
            self._was_moved = True
            self._moved += step
            self._pressed = event.position()
            self._lay_out()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Pick what was clicked, unless the network was moved."""
        self._pressed = None
        if self._was_moved:
            return
        node = self._node_at(event.position())
        if node >= 0:
            self._go(node)
            self.node_picked.emit(node)
        elif (link := self._link_at(event.position())) >= 0:
            self._current, self._link = -1, link
            self.setAccessibleDescription(self.told_link(link))
            self.update()
            self.link_picked.emit(link)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Walk, pick and zoom."""
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}
        if event.key() in steps and self.drawing.nodes:
            step = steps[Qt.Key(event.key())]
            self._go(min(max(self._current + step, 0), len(self.drawing.nodes) - 1))
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._current >= 0:
            self.node_picked.emit(self._current)
        elif event.text() in ("+", "-"):
            self.zoom(1.25 if event.text() == "+" else 0.8)
        elif event.text() == "0":
            self.show_all()
        else:
            super().keyPressEvent(event)

    def _go(self, node: int) -> None:
        self._current, self._link = node, -1
        self.setAccessibleDescription(described(self.drawing.nodes[node]))
        self.update()

    def _lay_out(self) -> None:
        self._placement = self.drawing.placement(self.size(), self._zoom, self._moved)
        if self.drawing.nodes:
            palette, font = QPalette(self.palette()), QFont(self.font())
            ratio, moved = self.devicePixelRatioF(), QPointF(self._moved)
            self._painter.want(
                _Wanted(self.drawing, self._placement, self.size(), ratio, palette, font, self._zoom, moved)
            )
        self.update()

    def _take(self, drawn: _Drawn) -> None:
        if drawn.wanted.drawing is self.drawing:
            self._pictures = drawn
            self.update()
            self.painted.emit()

    def _to_now(self, wanted: _Wanted) -> QTransform:
        """Return how a picture for another zoom and place has to be moved to be nearly right until the next comes."""
        scale = self._zoom / wanted.zoom
        middle = QPointF(wanted.size.width() / 2, wanted.size.height() / 2)
        moved = QPointF(self.width() / 2, self.height() / 2) + self._moved - (middle + wanted.moved) * scale
        return QTransform(scale, 0, 0, scale, moved.x(), moved.y())

    def _node_at(self, point: QPointF) -> int:
        """Return the nearest node within _NEAR_NODE of its edge, -1 for none."""
        scale = self._placement.scale
        x, y = self._in_layout(point)
        best, nearest = -1, _NEAR_NODE
        for number, (node, radius) in enumerate(zip(self.drawing.nodes, self.drawing.radii, strict=True)):
            away = math.hypot(node.x - x, node.y - y) * scale - radius
            if away < nearest:
                best, nearest = number, away
        return best

    def _link_at(self, point: QPointF) -> int:
        """Return the nearest link within _NEAR_LINK, -1 for none."""
        nodes, spot = self.drawing.nodes, self._in_layout(point)
        best, nearest = -1, _NEAR_LINK / self._placement.scale
        for number, link in enumerate(self.drawing.links):
            first, second = nodes[link.first], nodes[link.second]
            distance = _distance(spot, (first.x, first.y), (second.x, second.y))
            if distance < nearest:
                best, nearest = number, distance
        return best

    def _in_layout(self, point: QPointF) -> tuple[float, float]:
        placement = self._placement
        return (point.x() - placement.across) / placement.scale, (point.y() - placement.down) / placement.scale


def described(node: ShownNode) -> str:
    """Describe a node in words."""
    return f"{KIND_NAMES[node.kind]}: {node.name}, {counted(node.rows, 'row')}"


def _draw_node(painter: QPainter, centre: QPointF, radius: float, kind: str) -> None:
    """Draw a person round, an organization with four corners up, a thing as a diamond, a document as a sheet."""
    match kind:
        case "person":
            painter.drawEllipse(centre, radius, radius)
        case "organization":
            painter.drawRect(QRectF(centre.x() - radius * 0.9, centre.y() - radius * 0.9, radius * 1.8, radius * 1.8))
        case "thing":
            corners = [QPointF(0, -1), QPointF(1, 0), QPointF(0, 1), QPointF(-1, 0)]
            painter.drawPolygon(QPolygonF([centre + corner * radius * 1.15 for corner in corners]))
        case _:
            painter.drawRect(QRectF(centre.x() - radius * 0.75, centre.y() - radius, radius * 1.5, radius * 2))


def _distance(point: tuple[float, float], start: tuple[float, float], end: tuple[float, float]) -> float:
    """Return how far a point is from a line between two others."""
    across, down = end[0] - start[0], end[1] - start[1]
    x, y = point[0] - start[0], point[1] - start[1]
    length = across * across + down * down
    share = min(max((x * across + y * down) / length, 0.0), 1.0) if length else 0.0
    return math.hypot(x - share * across, y - share * down)
