"""Pictures written to files beside the window: a large one takes longer than a window may wait."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject, QRect, QSize, Qt, QThreadPool, Signal
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QPalette
from PySide6.QtSvg import QSvgGenerator

_MOST_PIXELS = 32_000
"""A picture that is longer on one side cannot be drawn by Qt."""


class Drawing(Protocol):
    """What can be drawn into a file."""

    @property
    def title(self) -> str:
        """Return what the picture is called."""
        ...

    def draw(self, painter: QPainter, size: QSize, colours: QPalette) -> None:
        """Draw all of it."""
        ...


class PictureWriter(QObject):
    """Writes drawings as .png or .svg, black on white, in another thread."""

    written = Signal(str, bool)
    """A picture was written, or could not be: its path, and whether it is there."""

    def write(self, drawing: Drawing, path: str, size: QSize, font: QFont) -> None:
        """Begin to write a drawing that does not change, in this size; `written` is emitted when that is done."""
        letters, write = QFont(font), _write_svg if path.lower().endswith(".svg") else write_image
        QThreadPool.globalInstance().start(lambda: self.written.emit(path, write(drawing, path, size, letters)))


def _write_svg(drawing: Drawing, path: str, size: QSize, font: QFont) -> bool:
    generator = QSvgGenerator()
    generator.setFileName(path)
    generator.setTitle(drawing.title)
    generator.setSize(size)
    generator.setViewBox(QRect(0, 0, size.width(), size.height()))
    painter = QPainter()
    if not painter.begin(generator):
        return False
    _paint(painter, drawing, size, font)
    return painter.end()


def write_image(drawing: Drawing, path: str, size: QSize, font: QFont) -> bool:
    """Write a picture as an image, black on white; say whether that was done."""
    longest = max(size.width(), size.height())
    if longest > _MOST_PIXELS:
        return False
    scale = 2 if longest * 2 <= _MOST_PIXELS else 1
    image = QImage(size * scale, QImage.Format.Format_RGB32)
    if image.isNull():
        return False
    image.setDevicePixelRatio(float(scale))
    painter = QPainter(image)
    _paint(painter, drawing, size, font)
    painter.end()
    return image.save(path)


def _paint(painter: QPainter, drawing: Drawing, size: QSize, font: QFont) -> None:
    painter.fillRect(QRect(0, 0, size.width(), size.height()), Qt.GlobalColor.white)
    painter.setFont(font)
    drawing.draw(painter, size, paper())


def paper() -> QPalette:
    """Return the colours of a printed chart."""
    palette = QPalette(QColor("#ffffff"))
    for role, colour in (
        (QPalette.ColorRole.Text, "#111111"),
        (QPalette.ColorRole.Base, "#ffffff"),
        (QPalette.ColorRole.Highlight, "#1b5fa8"),
        (QPalette.ColorRole.PlaceholderText, "#555555"),
    ):
        palette.setColor(role, QColor(colour))
    return palette
