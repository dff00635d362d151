"""Pictures written to files beside the window: a large one takes longer than a window may wait."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QObject, QRect, QRunnable, QSize, Qt, QThreadPool, Signal
from PySide6.QtGui import QFont, QImage, QPainter, QPalette
from PySide6.QtSvg import QSvgGenerator

from desktop.chart_view import paper

_MOST_PIXELS = 32_000
"""A picture that is longer on one side cannot be drawn by Qt."""


class Drawing(Protocol):
    """What can be drawn in another thread: it does not change."""

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
        """Begin to write a picture of this size; `written` is emitted when that is done."""
        QThreadPool.globalInstance().start(_Write(self, drawing, path, size, font))


class _Write(QRunnable):
    def __init__(self, writer: PictureWriter, drawing: Drawing, path: str, size: QSize, font: QFont) -> None:
        super().__init__()
        self._writer, self._drawing, self._path, self._size, self._font = writer, drawing, path, size, QFont(font)

    def run(self) -> None:
        """Draw and write."""
        write = self._svg if self._path.lower().endswith(".svg") else self._image
        self._writer.written.emit(self._path, write())

    def _svg(self) -> bool:
        generator = QSvgGenerator()
        generator.setFileName(self._path)
        generator.setTitle(self._drawing.title)
        generator.setSize(self._size)
        generator.setViewBox(QRect(0, 0, self._size.width(), self._size.height()))
        painter = QPainter()
        if not painter.begin(generator):
            return False
        self._paint(painter)
        return painter.end()

    def _image(self) -> bool:
        longest = max(self._size.width(), self._size.height())
        if longest > _MOST_PIXELS:
            return False
        scale = 2 if longest * 2 <= _MOST_PIXELS else 1
        image = QImage(self._size * scale, QImage.Format.Format_RGB32)
        if image.isNull():
            return False
        image.setDevicePixelRatio(float(scale))
        painter = QPainter(image)
        self._paint(painter)
        painter.end()
        return image.save(self._path)

    def _paint(self, painter: QPainter) -> None:
        painter.fillRect(QRect(0, 0, self._size.width(), self._size.height()), Qt.GlobalColor.white)
        painter.setFont(self._font)
        self._drawing.draw(painter, self._size, paper())
