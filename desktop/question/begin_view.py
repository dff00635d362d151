"""What is shown while no pipeline is written: the box for a question, ready-made questions, and those of this case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QDateTime, QLocale, QSize, Qt, Signal
from PySide6.QtWidgets import QGroupBox, QLabel, QListWidget, QListWidgetItem, QWidget

from desktop.labels import TitleLabel, plain_label, with_name
from desktop.layouts import in_column, in_row
from desktop.plain_text import plain
from desktop.question.ask_box import AskBox
from desktop.tables import TwoLines
from desktop.theme import icon
from desktop.workspace import Workspace

_DATA = Qt.ItemDataRole.UserRole


class BeginView(QWidget):
    """The box for a question in plain words, and two lists: ready-made questions, and those written before."""

    template_chosen = Signal(dict)
    """A template (engine.templates.PipelineTemplate)."""
    file_chosen = Signal(str)

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.ask = AskBox(workspace)
        title = TitleLabel("What do you want to know?")
        self._hint = plain_label("Type a question in your own words, or choose a ready-made one.", wraps=True)
        self.templates = _list("Templates")
        self.templates.itemActivated.connect(lambda item: self.template_chosen.emit(item.data(_DATA)))
        self.templates.itemClicked.connect(lambda item: self.template_chosen.emit(item.data(_DATA)))
        self.files = _list("Questions of this case")
        self.files.itemActivated.connect(lambda item: self.file_chosen.emit(item.data(_DATA)))
        self.files.itemClicked.connect(lambda item: self.file_chosen.emit(item.data(_DATA)))
        self._none = plain_label("None yet. What you write is kept in a folder beside the case.", wraps=True)
        self._lists = QWidget()
        ready = _box("Ready-made questions", self.templates)
        ours = _box("Questions of this case", self.files, self._none)
        in_row((ready, 3), (ours, 2), on=self._lists, spacing=20)
        parts = (title, self._hint, self.ask, (self._lists, 1), (self.ask.preview, 1))
        in_column(*parts, on=self, margins=(20, 16, 20, 12), spacing=12)
        self.ask.opened.connect(self._show_parts)
        self._show_parts(has_table=False)
        self.show_files([], [])

    def show_templates(self, found: list[dict[str, Any]]) -> None:
        """Show the templates, each with its columns."""
        self.templates.clear()
        for each in found:
            columns = f"Columns: {', '.join(each['columns'])}" if each["columns"] else each["summary"]
            self._add(self.templates, "templates", f"{each['title']}\n{columns}", each, tip=each["summary"])

    def _show_parts(self, has_table: bool) -> None:
        """Show ready-made questions and those of the case until there is a table, then its preview."""
        self._hint.setVisible(not has_table)
        self._lists.setVisible(not has_table)
        self.ask.preview.setVisible(has_table)

    def show_files(self, found: list[dict[str, Any]], elsewhere: list[str]) -> None:
        """Show the pipelines beside the case, and the paths of those opened from other places."""
        self.files.clear()
        for file in found:
            when = QDateTime.fromSecsSinceEpoch(int(file["changed_at"]))
            text = QLocale().toString(when, QLocale.FormatType.ShortFormat)
            self._add(self.files, "question", f"{file['name']}\n{text}", file["path"])
        for path in elsewhere:
            self._add(self.files, "question", f"{Path(path).stem}\n{Path(path).parent}", path)
        self._none.setVisible(not self.files.count())
        self.files.setVisible(bool(self.files.count()))

    def _add(self, into: QListWidget, icon_name: str, text: str, data: Any, tip: str = "") -> None:
        item = QListWidgetItem(icon(icon_name), text)
        item.setData(_DATA, data)
        item.setToolTip(plain(tip or text))
        into.addItem(item)


def _list(name: str) -> QListWidget:
    made = with_name(QListWidget(), name)
    made.setItemDelegate(TwoLines(made))
    made.setWordWrap(True)
    made.setSpacing(2)
    made.setIconSize(QSize(24, 24))
    made.setMouseTracking(True)
    made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return made


def _box(title: str, *widgets: QWidget) -> QGroupBox:
    box = QGroupBox(title)
    layout = in_column(on=box, margins=None)
    for widget in widgets:
        layout.addWidget(widget, 0 if isinstance(widget, QLabel) else 1)
    if any(isinstance(widget, QLabel) for widget in widgets):
        layout.addStretch(0)
    return box
