"""Colours in prompts and in YAML."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette, QSyntaxHighlighter, QTextCharFormat

VARIABLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")
_KEY = re.compile(r"^\s*(?:- +)?([\w.\"' -]+?)\s*:(?=\s|$)")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")


class PromptHighlighter(QSyntaxHighlighter):
    """Shows what is filled in: {{ variables }} and {% tags %}."""

    def highlightBlock(self, text: str) -> None:
        """Colour one line."""
        for found in VARIABLE.finditer(text):
            self.setFormat(found.start(), len(found[0]), variable_format())


class YamlHighlighter(QSyntaxHighlighter):
    """Shows keys, texts, comments and variables."""

    def highlightBlock(self, text: str) -> None:
        """Colour one line."""
        if found := _KEY.match(text):
            self.setFormat(found.start(1), len(found[1]), _format(QPalette.ColorRole.Link))
        for one in _TEXT.finditer(text):
            self.setFormat(one.start(), len(one[0]), _format(QPalette.ColorRole.PlaceholderText))
        for one in VARIABLE.finditer(text):
            self.setFormat(one.start(), len(one[0]), variable_format())
        comment = _COMMENT.search(text)
        if comment and not any(comment.start() in range(*one.span()) for one in _TEXT.finditer(text)):
            style = _format(QPalette.ColorRole.PlaceholderText)
            style.setFontItalic(True)
            self.setFormat(comment.start(), len(comment[0]), style)


def variable_format() -> QTextCharFormat:
    """Return how a variable looks."""
    style = _format(QPalette.ColorRole.Link)
    style.setFontWeight(QFont.Weight.DemiBold)
    return style


def follow_theme(event: QEvent, highlighters: Sequence[QSyntaxHighlighter]) -> None:
    """Colour anew when the palette changes; called from changeEvent."""
    if event.type() == QEvent.Type.PaletteChange:
        for one in highlighters:
            one.rehighlight()


def _format(role: QPalette.ColorRole) -> QTextCharFormat:
    style = QTextCharFormat()
    style.setForeground(QColor(QGuiApplication.palette().color(role)))
    return style
