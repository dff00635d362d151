"""Reads pictures in threads of Qt's pool: decoding a large page would hold up the window."""

from __future__ import annotations

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal
from PySide6.QtGui import QImage


class PictureLoader(QObject):
    """`load` a file; `loaded` brings its name and the picture, which is null where it could not be read."""

    loaded = Signal(str, QImage)

    def load(self, file: str) -> None:
        """Begin to read a file."""
        QThreadPool.globalInstance().start(_Load(file, self))

    def wait(self) -> None:
        """Wait for what has begun; that takes a fraction of a second."""
        QThreadPool.globalInstance().waitForDone()


class _Load(QRunnable):
    def __init__(self, file: str, loader: PictureLoader) -> None:
        super().__init__()
        self._file, self._loader = file, loader

    def run(self) -> None:
        self._loader.loaded.emit(self._file, QImage(self._file))
