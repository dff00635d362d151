"""Labels that never interpret markup, and accessible names for screen readers."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from desktop.layouts import in_column
from desktop.plain_text import plain

_TITLE_SCALE = 1.6
Widget = TypeVar("Widget", bound=QWidget)


def with_name(widget: Widget, name: str) -> Widget:
    """Give a widget the name that a screen reader tells, and return it."""
    widget.setAccessibleName(name)
    return widget


def plain_label(text: str = "", *, wraps: bool = False, centred: bool = False, of: QWidget | None = None) -> QLabel:
    """Make a text; `of`: the field that it stands beside, and that a letter marked with & leads to."""
    label = QLabel(text, wordWrap=wraps, textFormat=Qt.TextFormat.PlainText)
    if centred:
        label.setAlignment(Qt.AlignmentFlag.AlignCenter)
    if of is not None:
        label.setBuddy(of)
    return label


def in_bold(font: QFont) -> QFont:
    """Return the same letters, but bold."""
    bold = QFont(font)
    bold.setBold(True)
    return bold


class TitleLabel(QWidget):
    """The title of a place: larger than other letters, whatever size these have.

    Its own letters are those of the others, so that Qt tells when they change; those of the label in it are larger.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._label = plain_label(text)
        in_column(self._label, on=self)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Follow the size of other letters."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def _fit(self) -> None:
        font = self.font()
        font.setPointSizeF(font.pointSizeF() * _TITLE_SCALE)
        self._label.setFont(font)


class SaidLabel(QLabel):
    """A text that changes and has a name, such as the state of a run: a screen reader is told both.

    Of a label with an accessible name Qt tells the name alone, so the text is part of it.
    """

    def __init__(self, name: str, text: str = "", *, wraps: bool = False) -> None:
        super().__init__(wordWrap=wraps, textFormat=Qt.TextFormat.PlainText)
        self._name = name
        self.setText(text)

    def setText(self, text: str) -> None:
        """Show another text."""
        super().setText(text)
        self.setAccessibleName(f"{self._name}: {text}" if text else self._name)

    def clear(self) -> None:
        """Show no text."""
        self.setText("")


class ElidedLabel(QLabel):
    """A one-line label, elided to the available width; its tool tip has the whole text."""

    def __init__(self) -> None:
        super().__init__(textFormat=Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def sizeHint(self) -> QSize:
        """Want room for all of it, and for what is rounded."""
        size = super().sizeHint()
        return QSize(size.width() + 2, size.height())

    def minimumSizeHint(self) -> QSize:
        """Need no width."""
        return QSize(0, super().minimumSizeHint().height())

    def setText(self, text: str) -> None:
        """Show another text."""
        super().setText(text)
        self.setToolTip(plain(text))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw what there is room for."""
        painter = QPainter(self)
        fitting = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.contentsRect().width())
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), self.alignment(), fitting)
