"""A unified diff in colours, and texts with the lines marked that another one has not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette, QSyntaxHighlighter, QTextCharFormat
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from desktop.theme import fixed_font, is_dark

ADDED: Final = {False: "#d6f0da", True: "#1d4428"}
REMOVED: Final = {False: "#f8dcdc", True: "#542a2d"}
"""Behind lines, by whether the theme is dark; the signs before the lines say the same without colours."""


class DiffHighlighter(QSyntaxHighlighter):
    """Colours lines by their first sign: + added, - removed, @ where."""

    def highlightBlock(self, text: str) -> None:
        """Colour one line."""
        style = QTextCharFormat()
        if text.startswith(("+++", "---")):
            style.setForeground(_faint())
        elif text.startswith("+"):
            style.setBackground(QColor(ADDED[is_dark()]))
        elif text.startswith("-"):
            style.setBackground(QColor(REMOVED[is_dark()]))
        elif text.startswith("@"):
            style.setForeground(_faint())
            style.setFontItalic(True)
        else:
            return
        self.setFormat(0, len(text), style)


class OnlyHereHighlighter(QSyntaxHighlighter):
    """Marks lines that are not among `others`."""

    others: Collection[str] = ()
    colours: Mapping[bool, str] = ADDED

    def highlightBlock(self, text: str) -> None:
        """Colour one line."""
        if text.strip() and text.strip() not in self.others:
            style = QTextCharFormat()
            style.setBackground(QColor(self.colours[is_dark()]))
            style.setFontWeight(QFont.Weight.DemiBold)
            self.setFormat(0, len(text), style)


class TextView(QPlainTextEdit):
    """A text to be read, in letters of equal width, with a highlighter that follows the theme."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setAccessibleName(name)
        self.setFont(fixed_font())
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.highlighter: QSyntaxHighlighter | None = None

    def changeEvent(self, event: QEvent) -> None:
        """Colour anew in another theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self.highlighter is not None:
            self.highlighter.rehighlight()


class DiffView(TextView):
    """Shows what changed between two plans."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("What changed in the question", parent)
        self.highlighter = DiffHighlighter(self.document())

    def show_diff(self, diff: str) -> None:
        """Show a unified diff, without the lines that name its sides."""
        lines = diff.split("\n")
        self.setPlainText("\n".join(lines[2:] if diff.startswith("---") else lines))


def _faint() -> QColor:
    return QGuiApplication.palette().color(QPalette.ColorRole.PlaceholderText)
