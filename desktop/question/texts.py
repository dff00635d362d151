"""Editors of texts of several lines: prompts, and the YAML with its line numbers and problems."""

from __future__ import annotations

import re
from typing import Any

from PySide6.QtCore import QEvent, QMimeData, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip, QWidget

from desktop.plain_text import plain
from desktop.text_shape import units
from desktop.theme import fixed_font, is_dark

ERROR = {False: "#b3261e", True: "#f2a09a"}
WARNING = {False: "#8a5a00", True: "#e8c06a"}
"""By whether the theme is dark."""

_HISTORY_KEYS = (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo)


def problem_colour(severity: str) -> QColor:
    """Return the colour of problems of this severity."""
    return QColor((ERROR if severity == "error" else WARNING)[is_dark()])


class SharedHistoryEdit(QPlainTextEdit):
    """A text that leaves undo and redo to the window, where they go over the cards too."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setUndoRedoEnabled(False)

    def event(self, event: QEvent) -> bool:
        """Let the window have the keys of undo and redo."""
        is_override = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if is_override and any(event.matches(key) for key in _HISTORY_KEYS):  # type: ignore[attr-defined]
            event.ignore()
            return False
        return super().event(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Leave files that are dropped to the window, which reads them."""
        is_files = any(url.isLocalFile() for url in source.urls())
        return not is_files and super().canInsertFromMimeData(source)

    def replace_text(self, text: str) -> None:
        """Show another text; only what differs is replaced, so that place and cursor stay."""
        old = self.toPlainText()
        if text == old:
            return
        start = next((n for n, (a, b) in enumerate(zip(old, text, strict=False)) if a != b), min(len(old), len(text)))
        most = min(len(old), len(text)) - start
        same = next((n for n in range(most) if old[-1 - n] != text[-1 - n]), most)
        cursor = QTextCursor(self.document())
        cursor.setPosition(units(old, start))
        cursor.setPosition(units(old, len(old) - same), QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(text[start : len(text) - same])


class PromptEdit(SharedHistoryEdit):
    """A prompt: grows with its text between some lines and some more, {{ variables }} in colour."""

    LEAST_LINES, MOST_LINES = 3, 12

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)
        self._highlighter = PromptHighlighter(self.document())
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.document().documentLayout().documentSizeChanged.connect(lambda size: self._fit())
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Colour anew in other colours, and be as high as other letters need."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_highlighter"):
            self._highlighter.rehighlight()
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Be as high as the lines that it has at this width."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        lines = min(max(round(self.document().size().height()), self.LEAST_LINES), self.MOST_LINES)
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + 2 * self.frameWidth() + 10)


class YamlEditor(SharedHistoryEdit):
    """The YAML, with line numbers; lines with a problem are marked, and say it when pointed at."""

    typed = Signal(str)
    """A person changed the text."""
    line_entered = Signal(int)
    """The cursor came to another line, from 1."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("YAML of the pipeline")
        self.setFont(fixed_font())
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._highlighter = YamlHighlighter(self.document())
        self._problems: dict[int, list[dict[str, Any]]] = {}
        self._numbers = _LineNumbers(self)
        self._is_ours = False
        self._line = 0
        self.blockCountChanged.connect(lambda count: self._make_room())
        self.updateRequest.connect(self._scrolled)
        self.textChanged.connect(self._tell)
        self.cursorPositionChanged.connect(self._moved)
        self._make_room()

    def show_text(self, text: str) -> None:
        """Show a text that came from elsewhere."""
        self._is_ours = True
        self.replace_text(text)
        self._is_ours = False

    def show_problems(self, problems: list[dict[str, Any]]) -> None:
        """Mark the lines that have problems."""
        self._problems = {}
        for problem in problems:
            self._problems.setdefault(problem["line"] or 1, []).append(problem)
        self.setExtraSelections([self._underlined(line, faults) for line, faults in self._problems.items()])
        self._numbers.update()

    def problems_at(self, line: int) -> list[dict[str, Any]]:
        """Return the problems of a line, from 1."""
        return self._problems.get(line, [])

    def go_to(self, line: int) -> None:
        """Put the cursor on a line, from 1, in the middle of what can be seen."""
        cursor = QTextCursor(self.document().findBlockByNumber(line - 1))
        self.setTextCursor(cursor)
        self.centerCursor()

    def changeEvent(self, event: QEvent) -> None:
        """Colour anew in other colours, and make room for other letters."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_highlighter"):
            self._highlighter.rehighlight()
            self.show_problems([problem for problems in self._problems.values() for problem in problems])
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_numbers"):
            self._make_room()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the numbers beside the text."""
        super().resizeEvent(event)
        area = self.contentsRect()
        self._numbers.setGeometry(QRect(area.left(), area.top(), self.number_width(), area.height()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Indent with spaces: YAML knows no tabs; a new line begins below the last one."""
        if event.key() == Qt.Key.Key_Tab and not event.modifiers():
            self.insertPlainText("  ")
        elif event.key() == Qt.Key.Key_Return and not event.modifiers():
            line = self.textCursor().block().text()
            self.insertPlainText("\n" + line[: len(line) - len(line.lstrip(" "))])
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Say the problems of the line that is pointed at."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            line = self.cursorForPosition(self.viewport().mapFrom(self, event.pos())).blockNumber() + 1
            QToolTip.showText(event.globalPos(), plain(problem_text(self.problems_at(line))), self)
            return True
        return super().event(event)

    def number_width(self) -> int:
        """Return how wide the line numbers are."""
        return self.fontMetrics().horizontalAdvance("9") * max(len(str(self.blockCount())), 2) + 22

    def paint_numbers(self, event: QPaintEvent) -> None:
        """Draw the line numbers, and a mark at those with problems."""
        painter = QPainter(self._numbers)
        painter.fillRect(event.rect(), self.palette().color(QPalette.ColorRole.AlternateBase))
        block, height = self.firstVisibleBlock(), self.fontMetrics().height()
        while block.isValid():
            area = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if area.top() > event.rect().bottom():
                break
            problems = self._problems.get(block.blockNumber() + 1)
            colour = self.palette().color(QPalette.ColorRole.PlaceholderText)
            if problems:
                colour = problem_colour(worst(problems))
                painter.setBrush(colour)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.drawEllipse(5, int(area.top()) + height // 2 - 3, 7, 7)
            painter.setPen(colour)
            width = self._numbers.width() - 6
            number = str(block.blockNumber() + 1)
            painter.drawText(0, int(area.top()), width, height, Qt.AlignmentFlag.AlignRight, number)
            block = block.next()
        painter.end()

    def _underlined(self, line: int, problems: list[dict[str, Any]]) -> QTextEdit.ExtraSelection:
        selection = QTextEdit.ExtraSelection()
        style = QTextCharFormat()
        style.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        style.setUnderlineColor(problem_colour(worst(problems)))
        style.setProperty(QTextFormat.Property.FullWidthSelection, False)
        selection.format = style
        cursor = QTextCursor(self.document().findBlockByNumber(line - 1))
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        selection.cursor = cursor
        return selection

    def _tell(self) -> None:
        if not self._is_ours:
            self.typed.emit(self.toPlainText())

    def _moved(self) -> None:
        line = self.textCursor().blockNumber() + 1
        if line != self._line:
            self._line = line
            if self.hasFocus():
                self.line_entered.emit(line)

    def _make_room(self) -> None:
        self.setTabStopDistance(2 * self.fontMetrics().horizontalAdvance(" "))
        self.setViewportMargins(self.number_width(), 0, 0, 0)

    def _scrolled(self, area: QRect, by: int) -> None:
        if by:
            self._numbers.scroll(0, by)
        else:
            self._numbers.update(0, area.y(), self._numbers.width(), area.height())


class _LineNumbers(QWidget):
    def __init__(self, editor: YamlEditor) -> None:
        super().__init__(editor)
        self._editor = editor

    def sizeHint(self) -> QSize:
        """Be as wide as the numbers."""
        return QSize(self._editor.number_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw them."""
        self._editor.paint_numbers(event)


def worst(problems: list[dict[str, Any]]) -> str:
    """Return the severity of the worst of some problems."""
    return "error" if any(problem["severity"] == "error" for problem in problems) else "warning"


def problem_text(problems: list[dict[str, Any]]) -> str:
    """Write problems with what to do, one below the other."""
    return "\n".join(f"{problem['message']}. {problem['advice']}".strip() for problem in problems)


VARIABLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}")
_KEY = re.compile(r"^\s*(?:- +)?([\w.\"' -]+?)\s*:(?=\s|$)")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")


class PromptHighlighter(QSyntaxHighlighter):
    """Shows what is filled in: {{ variables }} and {% tags %}."""

    def highlightBlock(self, text: str) -> None:
        """Colour one line."""
        for variable in VARIABLE.finditer(text):
            self.setFormat(variable.start(), len(variable[0]), variable_format())


class YamlHighlighter(QSyntaxHighlighter):
    """Shows keys, texts, comments and variables."""

    def highlightBlock(self, text: str) -> None:
        """Colour one line."""
        if key := _KEY.match(text):
            self.setFormat(key.start(1), len(key[1]), _format(QPalette.ColorRole.Link))
        for literal in _TEXT.finditer(text):
            self.setFormat(literal.start(), len(literal[0]), _format(QPalette.ColorRole.PlaceholderText))
        for variable in VARIABLE.finditer(text):
            self.setFormat(variable.start(), len(variable[0]), variable_format())
        comment = _COMMENT.search(text)
        if comment and not any(comment.start() in range(*literal.span()) for literal in _TEXT.finditer(text)):
            style = _format(QPalette.ColorRole.PlaceholderText)
            style.setFontItalic(True)
            self.setFormat(comment.start(), len(comment[0]), style)


def variable_format() -> QTextCharFormat:
    """Return how a variable looks."""
    style = _format(QPalette.ColorRole.Link)
    style.setFontWeight(QFont.Weight.DemiBold)
    return style


def _format(role: QPalette.ColorRole) -> QTextCharFormat:
    style = QTextCharFormat()
    style.setForeground(QColor(QGuiApplication.palette().color(role)))
    return style
