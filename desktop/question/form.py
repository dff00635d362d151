"""The form of one operator, made from what the engine says of its type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFormLayout, QToolButton, QWidget

from desktop.buttons import choice_box
from desktop.labels import plain_label
from desktop.layouts import holder
from desktop.plain_text import plain
from desktop.question.fields import KeyEditor, LineEditor, PromptEditor, make_editor
from desktop.question.schema_table import SchemaTable

_LABELS = {
    "prompt": "Prompt",
    "output.schema": "Answer",
    "drop_keys": "Drop fields",
    "max_tokens": "Longest answer (tokens)",
    "method_kwargs.num_tokens": "Tokens a piece",
    "method_kwargs.delimiter": "Delimiter",
}
"""Names of keys that people would not guess; the key itself is in the tool tip."""


KEYS_AT_ONCE = 2
"""Editors made in one turn of the event loop."""


class OperatorForm(QWidget):
    """The keys of one operator. Those that are not basic come when they are unfolded or when they are written."""

    changed = Signal(str, dict)

    def __init__(self, types: dict[str, dict[str, Any]], kind: str) -> None:
        super().__init__()
        self._types, self._card = types, {}  # type: dict[str, dict[str, Any]], dict[str, Any]
        self._form: dict[str, Any] = types.get(kind, {}).get("form", {"keys": [], "help": ""})
        self._rows: dict[str, QWidget] = {}
        self._fields: list[str] = []
        self._editors: dict[str, KeyEditor | SchemaTable] = {}
        self._layout = QFormLayout(self)
        self._layout.setContentsMargins(30, 2, 6, 8)
        self._layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self._layout.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        self._name = LineEditor("Name")
        self._name.edited.connect(lambda name: self._tell("name", {"do": "rename", "name": name or ""}))
        self._layout.addRow("Name", self._name)
        self._type = choice_box("Type")
        self._type.addItems(list(types))
        self._type.setToolTip(plain(self._form["help"]))
        self._type.activated.connect(lambda index: self._set(["type"], self._type.currentText(), do="set"))
        self._layout.addRow("Type", self._type)
        self._hint = plain_label(wraps=True)
        self._hint.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._hint.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._more = QToolButton()
        self._more.setText("More settings")
        self._more.setAutoRaise(True)
        self._more.setCheckable(True)
        self._more.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._more.setArrowType(Qt.ArrowType.RightArrow)
        self._more.toggled.connect(self._unfold)
        self._layout.addRow("", self._more)
        self._coming: list[dict[str, Any]] = []
        self._adding = QTimer(self, interval=0, singleShot=True)
        self._adding.timeout.connect(self._add_some)
        self._bring(key for key in self._form["keys"] if key["is_basic"])
        self.setFocusProxy(self._name)

    def show_card(self, card: dict[str, Any]) -> None:
        """Show the values of the keys."""
        self._card = card
        self._name.show_value(card["name"])
        if self._type.findText(card["kind"]) < 0:
            self._type.addItem(card["kind"])
        self._type.setCurrentText(card["kind"])
        self._bring(key for key in self._form["keys"] if _value(card, key["path"]) is not None)
        for key in self._form["keys"]:
            self._show_key(key)
        hidden = [key for key in self._form["keys"] if ".".join(key["path"]) not in self._editors]
        self._more.setVisible(bool(hidden) or self._more.isChecked())

    def show_fields(self, fields: list[str]) -> None:
        """Say which fields a prompt may use."""
        self._fields = fields
        self._hint.setText(f"Fields for {{{{ input.NAME }}}}: {', '.join(fields)}" if fields else "")
        self._hint.setVisible(bool(fields) and "prompt" in self._editors)

    def flush(self) -> None:
        """Tell now what was typed."""
        self._name.flush()
        for editor in self._editors.values():
            editor.flush()

    def _bring(self, keys: Iterable[dict[str, Any]]) -> None:
        """Let editors come for keys that have none, some in each turn of the event loop."""
        coming = [".".join(key["path"]) for key in self._coming]
        self._coming += [key for key in keys if ".".join(key["path"]) not in (*self._editors, *coming)]
        if self._coming:
            self._adding.start()

    def _add_some(self) -> None:
        for key in self._coming[:KEYS_AT_ONCE]:
            self._add(key)
            self._show_key(key)
        self._coming = self._coming[KEYS_AT_ONCE:]
        if self._coming:
            self._adding.start()
        else:
            self.show_fields(self._fields)

    def _show_key(self, key: dict[str, Any]) -> None:
        name = ".".join(key["path"])
        editor, value = self._editors.get(name), _value(self._card, key["path"])
        if isinstance(editor, SchemaTable):
            editor.show_value(value)
        elif editor is not None:
            editor.show_value(value, self._card.get("written", {}).get(name, ""))

    def _add(self, key: dict[str, Any]) -> None:
        name = ".".join(key["path"])
        label = plain_label(_LABELS.get(name, name.replace("_", " ").replace(".", ": ").capitalize()))
        label.setToolTip(plain(name))
        editor: KeyEditor | SchemaTable
        if key["editor"] == "schema":
            editor = SchemaTable()
            editor.changed.connect(lambda change: self._tell("", {**change, "key": key["path"]}))
        else:
            editor = make_editor(key, label.text())
            do = "set_yaml" if key["editor"] == "value" else "set"
            editor.edited.connect(lambda value: self._set(key["path"], value, do=do))
        self._editors[name] = editor
        label.setBuddy(editor)
        row = self._layout.getWidgetPosition(self._more)[0]  # type: ignore[index]
        if isinstance(editor, PromptEditor | SchemaTable):
            below = [self._hint] if name == "prompt" else []  # the fields that it may use
            self._rows[name] = holder(label, editor, *below, margins=(0, 2, 0, 2), spacing=3)
            self._layout.insertRow(row, self._rows[name])
        else:
            self._rows[name] = editor
            self._layout.insertRow(row, label, editor)

    def _set(self, path: list[str], value: Any, *, do: str) -> None:
        is_default = value is None and do == "set_yaml"
        self._tell(".".join(path), {"do": do, "key": path, "value": "" if is_default else value})

    def _tell(self, tag: str, change: dict[str, Any]) -> None:
        index = self._card["index"]
        self.changed.emit(f"{index}.{tag}" if tag else "", {**change, "operator": index})

    def _unfold(self, is_open: bool) -> None:
        self._more.setArrowType(Qt.ArrowType.DownArrow if is_open else Qt.ArrowType.RightArrow)
        if is_open:
            self._bring(self._form["keys"])
        else:
            self._fold()

    def _fold(self) -> None:
        """Take away the keys that are neither basic nor written."""
        self._coming = []
        for key in self._form["keys"]:
            name = ".".join(key["path"])
            editor = self._editors.get(name)
            if editor is not None and not key["is_basic"] and _value(self._card, key["path"]) is None:
                editor.flush()
                self._layout.removeRow(self._rows.pop(name))
                del self._editors[name]


def _value(card: dict[str, Any], path: list[str]) -> Any:
    value: Any = card["values"]
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value
