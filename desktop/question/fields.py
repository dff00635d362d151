"""Editors of single keys of an operator: each shows a value, and says when a person has written another one."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from desktop.abstract import QtABCMeta
from desktop.buttons import choice_box
from desktop.check_boxes import CheckBox
from desktop.layouts import in_column
from desktop.question.texts import PromptEdit

TYPING_MILLISECONDS = 350
"""What is typed is taken this long after the last key."""


class KeyEditor(QWidget, metaclass=QtABCMeta):
    """Base of all editors. `edited` carries the value, None for the default; `show_value` never makes it speak.

    What a person types is not overwritten by `show_value` before it has been told.
    """

    edited = Signal(object)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = name
        self._typing = QTimer(self, singleShot=True)
        self._typing.timeout.connect(self.flush)
        self._shown: Any = None
        self._is_showing = False
        self._is_typed = False

    def show_value(self, value: Any, written: str = "") -> None:
        """Show a value; `written` is the same as YAML in one line, for lists and mappings."""
        if self._is_typed:
            return
        self._shown, self._is_showing = value, True
        self._show(value, written)
        self._is_showing = False

    def flush(self) -> None:
        """Tell now what was typed, if anything."""
        self._typing.stop()
        was_typed, self._is_typed = self._is_typed, False
        value = self._value()
        if was_typed and value != self._shown:
            self._shown = value
            self.edited.emit(value)

    def _touched(self, wait: int = TYPING_MILLISECONDS) -> None:
        if not self._is_showing:
            self._is_typed = True
            self._typing.start(wait)

    def _hold(self, widget: QWidget) -> None:
        widget.setAccessibleName(self.name)
        in_column(widget, on=self)
        self.setFocusProxy(widget)

    @abstractmethod
    def _show(self, value: Any, written: str) -> None:
        """Put a value into the widget."""

    @abstractmethod
    def _value(self) -> Any:
        """Read the value off the widget, None for the default."""


class LineEditor(KeyEditor):
    """Text in one line; an empty one is the default."""

    def __init__(self, name: str, default: Any = None) -> None:
        super().__init__(name)
        self._line = QLineEdit(placeholderText="" if default in (None, "") else str(default))
        self._line.textEdited.connect(lambda text: self._touched())
        self._line.editingFinished.connect(self.flush)
        self._hold(self._line)

    def _show(self, value: Any, written: str) -> None:
        text = "" if value is None else written or _plain(value)
        if text != self._line.text():
            self._line.setText(text)

    def _value(self) -> Any:
        return self._line.text() or None


class NumberEditor(LineEditor):
    """A number; what is none is told as text, so that the check can say so."""

    def __init__(self, name: str, default: Any = None, *, whole: bool = True) -> None:
        super().__init__(name, default)
        self._whole = whole
        self._line.setMaximumWidth(160)

    def _value(self) -> Any:
        text = self._line.text().strip()
        try:
            return (int(text) if self._whole else _number(text)) if text else None
        except ValueError:
            return text


class ListEditor(LineEditor):
    """Some names with commas between them."""

    def _show(self, value: Any, written: str) -> None:
        names = value if isinstance(value, list) else [] if value is None else [value]
        text = ", ".join(map(_plain, names))
        if text != self._line.text():
            self._line.setText(text)

    def _value(self) -> Any:
        return [name.strip() for name in self._line.text().split(",") if name.strip()] or None


class YamlValueEditor(LineEditor):
    """Any value, as YAML in one line. What it tells is that text."""

    def show_value(self, value: Any, written: str = "") -> None:
        """Show a value; texts that YAML would read as something else are shown in quotation marks."""
        super().show_value(None if value is None else written or _as_yaml(value))


class PromptEditor(KeyEditor):
    """A text of several lines."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.text = PromptEdit()
        self.text.textChanged.connect(self._touched)
        self._hold(self.text)

    def _show(self, value: Any, written: str) -> None:
        if value != self._value():  # line ends at the end stay as they were typed
            self.text.replace_text("" if value is None else str(value).removesuffix("\n"))

    def _value(self) -> Any:
        text = self.text.toPlainText().rstrip("\n")
        ends = "\n" if "\n" in text or str(self._shown or "").endswith("\n") else ""
        return text + ends if text.strip() else None


class LinesEditor(KeyEditor):
    """A list of expressions, one a line."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._text = QPlainTextEdit(placeholderText="one a line")
        self._text.setTabChangesFocus(True)
        self._text.setFixedHeight(3 * self._text.fontMetrics().lineSpacing() + 12)
        self._text.textChanged.connect(self._touched)
        self._hold(self._text)

    def _show(self, value: Any, written: str) -> None:
        lines = value if isinstance(value, list) else [] if value is None else [value]
        text = "\n".join(map(str, lines))
        if text != self._text.toPlainText():
            self._text.setPlainText(text)

    def _value(self) -> Any:
        return [line.strip() for line in self._text.toPlainText().split("\n") if line.strip()] or None


class ChoiceEditor(KeyEditor):
    """One of some words; the default is one of them, or the first, empty one."""

    def __init__(self, name: str, choices: list[str], default: Any) -> None:
        super().__init__(name)
        self._default = default
        self._box = choice_box(name)
        self._box.addItems(choices if default in choices else ["", *choices])
        self._box.activated.connect(lambda index: self._touched(0))
        self._hold(self._box)

    def _show(self, value: Any, written: str) -> None:
        text = str(self._default or "") if value is None else str(value)
        if self._box.findText(text) < 0:
            self._box.addItem(text)
        self._box.setCurrentText(text)

    def _value(self) -> Any:
        text = self._box.currentText()
        return None if text == (self._default or "") else text


class YesNoEditor(KeyEditor):
    """A box to check."""

    def __init__(self, name: str, default: Any) -> None:
        super().__init__(name)
        self._default = bool(default)
        self._box = CheckBox("yes")
        self._box.clicked.connect(lambda checked: self._touched(0))
        self._hold(self._box)

    def _show(self, value: Any, written: str) -> None:
        self._box.setChecked(self._default if value is None else bool(value))

    def _value(self) -> Any:
        checked = self._box.isChecked()
        return None if checked == self._default else checked


def make_editor(key: Mapping[str, Any], name: str) -> KeyEditor:
    """Make the editor of a key (engine.frame.forms.FormKey); schemas have one of their own."""
    default = key["default"]
    makers: dict[str, Callable[[], KeyEditor]] = {
        "prompt": lambda: PromptEditor(name),
        "integer": lambda: NumberEditor(name, default, whole=True),
        "number": lambda: NumberEditor(name, default, whole=False),
        "boolean": lambda: YesNoEditor(name, default),
        "choice": lambda: ChoiceEditor(name, key["choices"], default),
        "list": lambda: ListEditor(name),
        "lines": lambda: LinesEditor(name),
        "value": lambda: YamlValueEditor(name),
        "text": lambda: LineEditor(name, default),
    }
    return makers[key["editor"]]()


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _as_yaml(value: Any) -> str:
    if isinstance(value, str) and not value.replace("_", "").isalpha():
        return json.dumps(value, ensure_ascii=False)
    return _plain(value)


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("+-").isdigit() else float(text)
