"""One page as a picture with marks, or as lines of text where the kind has no pages. Coordinates are points."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QGuiApplication, QImage, QMouseEvent, QPainter, QPen, QPixmap
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsPixmapItem,
    QGraphicsRectItem,
    QGraphicsScene,
    QGraphicsView,
    QStyleOptionGraphicsItem,
    QWidget,
)

from desktop.plain_text import plain
from desktop.text_shape import edges_of, has_letters_from_right, reads_from_right, span_of, width_of

_EVIDENCE = (QColor(255, 196, 0, 90), QColor(200, 60, 20))
_FOUND = (QColor(90, 170, 255, 80), QColor(30, 100, 190))
_SELECTED = (QColor(60, 120, 220, 90), QColor(0, 0, 0, 0))
_HIDDEN, _HIDDEN_GROUND = QColor(200, 20, 20), QColor(255, 255, 255)
"""The colour of the dashes, and of the line under them, without which a black box would swallow them."""

_HIDDEN_HOW = {
    "covered": "under a box or a picture",
    "invisible": "invisible",
    "white": "in the colour of its background",
    "off_page": "off the page",
    "tiny": "in letters under two points",
}
"""Why a reader of the page does not see a text, in words."""

_EDGE = 4.0
_BESIDE_TEXT = 2.0
_OCR_GROUND = QColor(255, 255, 240, 235)
_TEXT_POINTS = 11.0
_MARGIN = 24.0
_LINE_GAP = 1.35
_PARAGRAPH_GAP = 0.5
_FEWEST_CHARACTERS = 36
"""In a line of text, however narrow the page is."""
_LONG_WORD = 4


@dataclass(frozen=True, slots=True)
class ViewLine:
    """A line to show. `box` is given for every line: pages without boxes are laid out first (`lay_out`).

    `hidden` says why a reader of the page does not see it. `goes_on`: it is a further part of the line above, which was
    too long for the page; it begins at character `begin` of the whole. `from_right`: text without boxes of its own that
    is read from right to left.
    """

    number: int
    text: str
    box: Box
    hidden: str | None = None
    goes_on: bool = False
    begin: int = 0
    from_right: bool = False


def lay_out(
    lines: Sequence[tuple[int, str, str | None]], page_width: float = 612.0
) -> tuple[list[ViewLine], float, float]:
    """Put the lines of a file without pages below each other; return them with the width and height in points.

    A line is its number, its text, and how it is hidden, if it is. One that is too long for the page goes on below it.
    One that is read from right to left begins at the right margin.
    """
    font = text_font()
    metrics = QFontMetricsF(font)
    height, width = _TEXT_POINTS * _LINE_GAP, metrics.horizontalAdvance("n")
    most = max(int((page_width - 2 * _MARGIN) / width), _FEWEST_CHARACTERS)
    whole_width = max(_MARGIN * 2 + most * width, page_width)
    shown: list[ViewLine] = []
    top = _MARGIN
    for number, text, hidden in lines:
        begin, from_right = 0, reads_from_right(text)
        for part in wrapped(text.expandtabs(4), most):
            letters = part.rstrip() or "n"
            wide = len(letters) * width if letters.isascii() else width_of(letters, font)
            left = whole_width - _MARGIN - wide if from_right else _MARGIN
            box = (left, top, left + wide, top + height)
            shown.append(ViewLine(number, part, box, hidden, begin > 0, begin, from_right))
            begin += len(part)
            top += height
        top += height * _PARAGRAPH_GAP * (begin > most)
    return shown, whole_width, max(top + _MARGIN, 200.0)


def wrapped(text: str, most: int) -> list[str]:
    """Cut a text into parts of at most `most` characters, behind spaces where there are any; joined, they are it."""
    parts = []
    while len(text) > most:
        space = text.rfind(" ", 0, most + 1)
        end = space + 1 if space > 0 else most
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


def stretches_of(text: str, wanted: str) -> list[tuple[int, int]]:
    """Return where `wanted` stands in a text, as it is written but for spaces and letters' case.

    Where it does not, the longer words of it that do: a form of a name, a date in other words. Empty for nothing.
    """
    words = [re.escape(word) for word in wanted.split()]
    if words and (whole := list(re.finditer(r"\s+".join(words), text, re.IGNORECASE))):
        return [match.span() for match in whole]
    long = {word for word in re.findall(r"\w+", wanted) if len(word) >= _LONG_WORD}
    if not long:
        return []
    pattern = rf"\b(?:{'|'.join(map(re.escape, sorted(long)))})\b"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]


def text_font() -> QFont:
    """Return the font of text files: every letter of one width."""
    font = QFont("monospace")
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setPixelSize(round(_TEXT_POINTS))
    return font


class _Lines(QGraphicsItem):
    """Draws the lines that can be seen: as the page itself, or as the OCR layer over the picture."""

    def __init__(self, lines: Sequence[ViewLine], area: QRectF, *, is_layer: bool) -> None:
        super().__init__()
        self._lines, self._area, self._is_layer = lines, area, is_layer
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemUsesExtendedStyleOption)

    def boundingRect(self) -> QRectF:
        return self._area

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        seen = option.exposedRect
        painter.setPen(QPen(QColor("#161616")))
        if not self._is_layer:
            painter.setFont(text_font())
        for line in self._lines:
            x0, y0, x1, y1 = line.box
            if y1 < seen.top() or y0 > seen.bottom():
                continue
            where = QRectF(x0, y0, x1 - x0, y1 - y0)
            if self._is_layer:
                painter.fillRect(where, _OCR_GROUND)
                font = QFont(painter.font())
                font.setPixelSize(max(round(where.height() * 0.72), 1))
                painter.setFont(font)
                width = QFontMetricsF(font).horizontalAdvance(line.text)
                painter.save()
                painter.translate(where.left(), where.top())
                painter.scale(where.width() / width if width else 1.0, 1.0)
                painter.drawText(QRectF(0, 0, width + 4, where.height()), Qt.AlignmentFlag.AlignVCenter, line.text)
                painter.restore()
            elif line.from_right:
                painter.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # which also begins it at the right
                painter.drawText(where.adjusted(-400, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, line.text.rstrip())
                painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
            else:
                painter.drawText(where.adjusted(0, 0, 400, 0), Qt.AlignmentFlag.AlignVCenter, line.text.rstrip())


class _Marks(QGraphicsItem):
    """Boxes over the page, all drawn by one item."""

    def __init__(self, boxes: Sequence[Box], colours: tuple[QColor, QColor], area: QRectF) -> None:
        super().__init__()
        self._boxes, self._colours, self._area = list(boxes), colours, area

    def boundingRect(self) -> QRectF:
        return self._area

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        fill, edge = self._colours
        painter.setBrush(fill)
        pen = QPen(edge, 1.5)
        pen.setCosmetic(True)
        painter.setPen(pen)
        for x0, y0, x1, y1 in self._boxes:
            painter.drawRect(QRectF(x0 - 1, y0 - 1, x1 - x0 + 2, y1 - y0 + 2))


class PageView(QGraphicsView):
    """Shows one page. Dragging with the mouse selects words, which `copy` puts on the clipboard."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._page = QGraphicsScene(self)
        self.setScene(self._page)
        self.setAccessibleName("Page")
        self.viewport().setAccessibleName("Page")
        self.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorUnderMouse)
        self.lines: Sequence[ViewLine] = ()
        self.selection: Stretch | None = None
        """What is selected, by places in `lines` and characters."""
        self._area = QRectF()
        self._picture: QGraphicsPixmapItem | None = None
        self._text: _Lines | None = None
        self._marks: dict[str, _Marks] = {}
        self._pressed: Spot | None = None
        self.hidden_boxes: list[QGraphicsRectItem] = []
        """Around text that the page does not show."""

    def show_page(self, width: float, height: float, lines: Sequence[ViewLine], *, is_text: bool) -> None:
        """Show an empty page of this size in points, or the text itself; the picture comes later."""
        self._page.clear()
        self.hidden_boxes = []
        self._picture, self._text, self._marks, self.selection = None, None, {}, None
        self.lines, self._area = lines, QRectF(0, 0, width, height)
        self._page.setSceneRect(self._area.adjusted(-8, -8, 8, 8))
        sheet = self._page.addRect(self._area, QPen(QColor("#b0b0b0")), QColor("#ffffff"))
        sheet.setZValue(-2)
        if is_text:
            self._add(_Lines(lines, self._area, is_layer=False), -1)
        for line in lines:
            if line.hidden:
                self._outline_hidden(line, is_text=is_text)

    def show_picture(self, image: QImage) -> None:
        """Put the picture of the page on it, in place of an earlier one."""
        pixmap = QPixmap.fromImage(image)
        if self._picture is None:
            self._picture = self._page.addPixmap(pixmap)
            self._picture.setTransformationMode(Qt.TransformationMode.SmoothTransformation)
            self._picture.setZValue(-1)
        self._picture.setPixmap(pixmap)
        self._picture.setScale(self._area.width() / max(pixmap.width(), 1))

    def show_text_layer(self, on: bool) -> None:
        """Lay the text that was read over the picture, or take it away."""
        if self._text is not None:
            self._page.removeItem(self._text)
            self._text = None
        if on:
            self._text = _Lines(self.lines, self._area, is_layer=True)
            self._add(self._text, 1)

    def mark_evidence(self, boxes: Sequence[Box]) -> None:
        """Mark where something was found out; the first box is brought into view."""
        self._mark("evidence", boxes, _EVIDENCE)
        self._bring_into_view(boxes)

    def mark_found(self, boxes: Sequence[Box]) -> None:
        """Mark what was looked for; the first box is brought into view."""
        self._mark("found", boxes, _FOUND)
        self._bring_into_view(boxes)

    def boxes_of(self, numbers: Sequence[int]) -> list[Box]:
        """Return the boxes of lines by their numbers, those that are on this page."""
        wanted = set(numbers)
        return [line.box for line in self.lines if line.number in wanted]

    def boxes_of_words(self, numbers: Sequence[int], words: str) -> list[Box]:
        """Return the boxes of words in lines of text, those of the whole lines where the words are not in them."""
        boxes: list[Box] = []
        for number in dict.fromkeys(numbers):
            parts = [line for line in self.lines if line.number == number]
            text = "".join(part.text for part in parts)
            for begin, end in stretches_of(text, words):
                boxes += [box for part in parts if (box := _part_box(part, begin, end)) is not None]
        return boxes or self.boxes_of(numbers)

    def marked(self, what: str) -> int:
        """Count the boxes of one kind of mark: evidence, found or selected."""
        return len(self._marks[what]._boxes) if what in self._marks else 0

    def selected_text(self) -> str:
        """Return the selected text."""
        if self.selection is None:
            return ""
        goes_on = [line.goes_on for line in self.lines]
        return text_of(self._texts(), self.selection, goes_on)

    def select_all(self) -> None:
        """Select every line of the page."""
        if self.lines:
            self._select(whole(self._texts()))

    def copy(self) -> None:
        """Put the selected text on the clipboard."""
        if text := self.selected_text():
            QGuiApplication.clipboard().setText(text)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to select."""
        self._pressed = self._spot_at(self.mapToScene(event.position().toPoint()))
        self._mark("selected", (), _SELECTED)
        self.selection = None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Select the words between here and where it began."""
        here = self._spot_at(self.mapToScene(event.position().toPoint()))
        if self._pressed is not None and here is not None:
            self._select(words_between(self._texts(), self._pressed, here))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Select the word here."""
        if here := self._spot_at(self.mapToScene(event.position().toPoint())):
            self._select(words_between(self._texts(), here, here))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End selecting."""
        self._pressed = None

    def _select(self, stretch: Stretch) -> None:
        self.selection = stretch
        boxes = boxes_of(self._texts(), [line.box for line in self.lines], stretch)
        self._mark("selected", boxes, _SELECTED)

    def _texts(self) -> list[str]:
        return [line.text for line in self.lines]

    def _spot_at(self, point: QPointF) -> Spot | None:
        """Return the place in the text nearest to a point."""

        def distance(line: ViewLine) -> float:
            x0, y0, x1, y1 = line.box
            beside = max(x0 - point.x(), 0.0, point.x() - x1)
            return beside + 4 * max(y0 - point.y(), 0.0, point.y() - y1)

        if not self.lines:
            return None
        nearest = min(range(len(self.lines)), key=lambda place: distance(self.lines[place]))
        return spot_in(self.lines[nearest].text, self.lines[nearest].box, nearest, point.x())

    def _outline_hidden(self, line: ViewLine, *, is_text: bool) -> None:
        """Draw a dashed box where text is that the page does not show; what is off the page gets it at its edge."""
        beside = _BESIDE_TEXT if is_text else 0.0
        x0, y0, x1, y1 = line.box[0] - beside, line.box[1], line.box[2] + beside, line.box[3]
        right, bottom = self._area.width(), self._area.height()
        left, top = min(max(x0, 0.0), right - _EDGE), min(max(y0, 0.0), bottom - _EDGE)
        pen = QPen(_HIDDEN, 1.5, Qt.PenStyle.DashLine)
        pen.setCosmetic(True)
        width, height = max(min(x1, right) - left, _EDGE), max(min(y1, bottom) - top, _EDGE)
        ground = QPen(_HIDDEN_GROUND, 3.5)
        ground.setCosmetic(True)
        if not is_text:
            self._page.addRect(QRectF(left, top, width, height), ground).setZValue(3)
        box = self._page.addRect(QRectF(left, top, width, height), pen)
        box.setZValue(4)
        how = _HIDDEN_HOW.get(line.hidden or "", line.hidden)
        box.setToolTip(plain(f"Line {line.number}: text that the page does not show, {how}."))
        self.hidden_boxes.append(box)

    def _mark(self, what: str, boxes: Sequence[Box], colours: tuple[QColor, QColor]) -> None:
        if (old := self._marks.pop(what, None)) is not None:
            self._page.removeItem(old)
        if boxes:
            self._marks[what] = _Marks(boxes, colours, self._area)
            self._add(self._marks[what], 2)

    def _add(self, item: QGraphicsItem, height: float) -> None:
        item.setZValue(height)
        self._page.addItem(item)

    def _bring_into_view(self, boxes: Sequence[Box]) -> None:
        for x0, y0, x1, y1 in boxes[:1]:
            self.ensureVisible(QRectF(x0, y0, x1 - x0, y1 - y0), 40, 80)


Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in points from the top left of the page."""

_WORD = re.compile(r"\S+")
_FONT_PIXELS = 40


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the text of a page: which line (its place in the list), and before which of its characters."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `first` up to and excluding `last`'s character; both may be in one line."""

    first: Spot
    last: Spot


def spot_in(text: str, box: Box, line: int, x: float) -> Spot:
    """Return the place in a line that is nearest to x."""
    edges = _edges(text, box)
    return Spot(line, min(range(len(edges)), key=lambda place: abs(edges[place] - x)))


def words_between(texts: Sequence[str], one: Spot, other: Spot) -> Stretch:
    """Return the stretch of whole words that two spots are in, or between, in whichever order they are given."""
    first, last = sorted((one, other), key=lambda spot: (spot.line, spot.character))
    if first == last:
        touched = [m.span() for m in _WORD.finditer(texts[first.line]) if m.start() <= first.character <= m.end()]
        begin, end = touched[0] if touched else (first.character, first.character)
    else:
        begin = next((m.start() for m in _WORD.finditer(texts[first.line]) if m.end() > first.character), -1)
        begin = len(texts[first.line]) if begin < 0 else begin
        end = max((m.end() for m in _WORD.finditer(texts[last.line]) if m.start() < last.character), default=0)
        if first.line == last.line:
            end = max(begin, end)
    return Stretch(Spot(first.line, begin), Spot(last.line, end))


def whole(texts: Sequence[str]) -> Stretch:
    """Return the stretch of all lines."""
    return Stretch(Spot(0, 0), Spot(len(texts) - 1, len(texts[-1])))


def text_of(texts: Sequence[str], stretch: Stretch, goes_on: Sequence[bool] = ()) -> str:
    """Return the text of a stretch, its lines joined by newlines but where one `goes_on` from that above."""
    first, last = stretch.first, stretch.last
    if first.line == last.line:
        return texts[first.line][first.character : last.character]
    text = texts[first.line][first.character :]
    for line in range(first.line + 1, last.line + 1):
        part = texts[line] if line < last.line else texts[line][: last.character]
        text += part if goes_on and goes_on[line] else f"\n{part}"
    return text


def _part_box(part: ViewLine, begin: int, end: int) -> Box | None:
    """Return the box of characters of a whole line that stand in one part of it, None for none."""
    first, last = max(begin - part.begin, 0), min(end - part.begin, len(part.text.rstrip()))
    if first >= last:
        return None
    x0, y0, x1, y1 = part.box
    if not part.text.isascii():
        left, right = span_of(part.text.rstrip(), text_font(), first, last, from_right=part.from_right)
        return (x0 + left, y0, x0 + right, y1)
    step = (x1 - x0) / max(len(part.text.rstrip()), 1)
    return (x0 + first * step, y0, x0 + last * step, y1)


def boxes_of(texts: Sequence[str], boxes: Sequence[Box], stretch: Stretch) -> list[Box]:
    """Return a box for each line of a stretch, as wide as what is selected of it."""
    outlines = []
    for line in range(stretch.first.line, stretch.last.line + 1):
        edges, (_, y0, _, y1) = _edges(texts[line], boxes[line]), boxes[line]
        begin = stretch.first.character if line == stretch.first.line else 0
        end = stretch.last.character if line == stretch.last.line else len(texts[line])
        left, right = sorted((edges[begin], edges[end]))
        outlines.append((left, y0, right, y1))
    return outlines


def _edges(text: str, box: Box) -> list[float]:
    """Return the x of the edge at which each character begins, and of the end."""
    font = QFont()
    font.setPixelSize(_FONT_PIXELS)
    if has_letters_from_right(text):
        edges = edges_of(text, font)
        scale = (box[2] - box[0]) / max(*edges, 1.0)
        return [box[0] + place * scale for place in edges]
    metrics = QFontMetricsF(font)
    places, at = [0.0], 0.0
    for character in text:
        at += metrics.horizontalAdvance(character)
        places.append(at)
    scale = (box[2] - box[0]) / at if at else 0.0
    return [box[0] + place * scale for place in places]
