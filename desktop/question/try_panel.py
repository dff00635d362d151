"""Trying the pipeline on a few documents: what was asked, what was said, the values, and where they stand."""

from __future__ import annotations

import json
import re
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QGridLayout,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from desktop.buttons import choice_box, offer, push_button
from desktop.labels import plain_label, with_name
from desktop.layouts import in_column, in_row, split
from desktop.permission import granted
from desktop.plain_text import plain
from desktop.question.document import PipelineDocument
from desktop.theme import fixed_font
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract.events import CommandFailed, Event, ModelLoading, OperatorProgress, Tried

_DATA = Qt.ItemDataRole.UserRole
FIRST = 3
MOST_CHOSEN = 20
"""Documents of a trial at most: it is a look, not a run."""
SHOWN_CHARACTERS = 90
_FATES = {"output": "goes on", "rejected": "left out", "failed": "failed", "asked": "asked"}


class TryPanel(QWidget):
    """Starts trials as jobs of the worker, and shows the last one."""

    tried = Signal()
    """A trial is shown now."""
    begins = Signal()
    """A trial is about to begin: what is typed is to be taken now."""

    def __init__(self, workspace: Workspace, document: PipelineDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._document = workspace, document
        self._trial = ""
        self._question = ""
        self._is_ours = False
        self._allowed: dict[str, Any] = {}  # what a person let this trial do
        self.documents = choice_box("Documents to try")
        self.until = choice_box("Up to this operator")
        self.until.setSizeAdjustPolicy(self.until.SizeAdjustPolicy.AdjustToContents)
        self.start = push_button("try", "Try", self.try_now)
        self.cancel = push_button("cancel", "Stop", workspace.job.cancel)
        self.cancel.hide()
        self.status = plain_label(wraps=True)
        self.items = with_name(QTreeWidget(), "What was tried")
        self.items.setHeaderLabels(["Row", "Became"])
        self.items.setColumnWidth(0, 330)
        self.items.currentItemChanged.connect(lambda now, before: self._open(now))
        self.prompt, self.reply, self.values = (self._reader(name) for name in ("Prompt", "Reply", "Values"))
        self.places = with_name(QListWidget(), "Evidence")
        self.places.setWordWrap(True)
        self.places.itemActivated.connect(self._show_place)
        self.places.itemClicked.connect(self._show_place)
        self._build()
        self.choose_documents()
        workspace.client.told.connect(self._take)
        workspace.job.changed.connect(self._show_job)
        workspace.job.failed.connect(lambda message, advice: self._failed(message))
        workspace.job.finished.connect(self._finished)
        document.outline_changed.connect(self._offer_operators)
        document.problems_changed.connect(self._show_job)
        document.opened.connect(self.clear)

    def try_now(self) -> None:
        """Try the pipeline on the chosen documents."""
        self._allowed = {}
        self.begins.emit()
        self._document.when_made(self._begin)

    def _begin(self) -> None:
        if not self._document.is_open:
            return
        given: dict[str, Any] = {
            "text": self._document.text,
            "case": self._workspace.case,
            "directory": self._document.directory,
            "documents": self.documents.currentData() or [],
            "until": self.until.currentData() or "",
        }
        if self._workspace.job.start("try", **given, **self._allowed):
            self._is_ours = True
            self.status.setText("Trying…")

    def choose_documents(self) -> None:
        """Offer the first documents, and those that are selected in their table."""
        chosen = self._workspace.selected_documents[:MOST_CHOSEN]
        before = self.documents.currentIndex()
        self.documents.clear()
        self.documents.addItem(f"The first {FIRST} documents", [])
        if chosen:
            self.documents.addItem(f"{counted(len(chosen), 'selected document')}", chosen)
        self.documents.setCurrentIndex(before if 0 <= before < self.documents.count() else 0)

    def clear(self) -> None:
        """Show no trial; one that is being made is of another pipeline, and is given up."""
        if self._is_ours:
            self._is_ours = False
            self._workspace.job.cancel()
        self._workspace.client.forget(self._question)
        self._trial = ""
        self.items.clear()
        self._show_item(None)
        self._show_hint()

    # -- inside --------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        top = in_row(self.documents, plain_label("up to"), (self.until, 1), self.start, self.cancel)
        grid = QWidget()
        cells = QGridLayout(grid)
        cells.setContentsMargins(0, 4, 0, 0)
        parts: tuple[tuple[str, QWidget], ...] = (
            ("Prompt", self.prompt),
            ("Reply", self.reply),
            ("Values", self.values),
            ("Evidence: click to see the page", self.places),
        )
        for number, (title, widget) in enumerate(parts):
            row, column = 2 * (number // 2), number % 2
            cells.addWidget(plain_label(title), row, column)
            cells.addWidget(widget, row + 1, column)
            cells.setColumnStretch(column, 1)
            cells.setRowStretch(row + 1, 3 if row == 0 else 2)
        below = split((self.items, grid), (170, 330), upright=True)
        in_column(top, self.status, (below, 1), on=self, margins=(0, 6, 0, 0))
        self._show_hint()

    def _reader(self, name: str) -> QPlainTextEdit:
        made = with_name(QPlainTextEdit(readOnly=True), name)
        made.setTabChangesFocus(True)
        if name != "Prompt":
            made.setFont(fixed_font())
        return made

    def _show_hint(self) -> None:
        self.status.setText("See on a few documents what the model is told and what it answers, before you run it.")

    def _offer_operators(self) -> None:
        names = [card["name"] for card in self._document.cards if card["step"]]
        offer(self.until, [("", "the end"), *zip(names, names, strict=True)])
        self._show_job()

    def _show_job(self) -> None:
        job = self._workspace.job
        is_trial = job.is_going and job.name == "try"
        has_errors = any(problem["severity"] == "error" for problem in self._document.problems)
        self.start.setEnabled(self._document.is_open and not job.is_going and not has_errors)
        usual = "Redwell is busy with something else." if job.is_going else "Try it on the chosen documents"
        self.start.setToolTip(plain("Correct the errors first." if has_errors else usual))
        self.cancel.setVisible(is_trial)
        if self._is_ours and job.state == "cancelling":
            self.status.setText("Stopping…")

    def _take(self, event: Event) -> None:
        if not self._is_ours:
            return
        match event:
            case ModelLoading():
                self.status.setText(f"Loading the model {event.model}…")
            case OperatorProgress():
                self.status.setText(f"{event.operator}: {event.done} of {event.total}")
            case Tried():
                self._show_trial(event)

    def _failed(self, message: str) -> None:
        if self._is_ours:
            self._is_ours = False
            self.status.setText(message)
            if (refusal := self._workspace.job.refusal) is not None:
                text = self._workspace.job.given["text"]
                self._workspace.permission_wanted.emit(refusal, lambda: self._allow(text, refusal))
        self._show_job()

    def _allow(self, text: str, refusal: CommandFailed) -> None:
        """Try again what was refused, unless it was changed since or another question was opened."""
        if text == self._document.text:
            self._allowed = granted(refusal, self._allowed)
            self._begin()

    def _finished(self, code: int) -> None:
        if self._is_ours:
            self._is_ours = False
            if code:
                self.status.setText("Stopped. Replies that had come are kept.")
        self._show_job()

    def _show_trial(self, event: Tried) -> None:
        self._trial = event.case
        calls = f"{counted(event.calls, 'call')}, {event.from_case:,} answered before"
        self.status.setText(f"{', '.join(event.documents)}: {calls}. {event.note}".strip())
        self.items.clear()
        groups: dict[str, QTreeWidgetItem] = {}
        telling: QTreeWidgetItem | None = None
        for number, entry in enumerate(event.items):
            if entry.operator not in groups:
                groups[entry.operator] = QTreeWidgetItem([entry.operator, ""])
                self.items.addTopLevelItem(groups[entry.operator])
            rows = f", {entry.rows} rows" if entry.rows > 1 else ""
            item = QTreeWidgetItem([entry.name, f"{_FATES[entry.fate]}{rows}"])
            item.setData(0, _DATA, number)
            groups[entry.operator].addChild(item)
            telling = item if entry.calls and (telling is None or entry.operator == event.until) else telling
        for group in groups.values():
            group.setText(1, counted(group.childCount(), "row"))
        last = groups.get(event.until)
        chosen = telling or (last.child(0) if last is not None else None)
        if chosen is not None:
            chosen.parent().setExpanded(True)
            self.items.setCurrentItem(chosen)
        self.tried.emit()

    def _open(self, item: QTreeWidgetItem | None) -> None:
        number = item.data(0, _DATA) if item is not None else None
        if number is None or not self._trial:
            return
        self._workspace.client.forget(self._question)
        self._question = self._workspace.client.ask("pipelines.tried", self._show_item, trial=self._trial, item=number)

    def _show_item(self, item: dict[str, Any] | None) -> None:
        self.places.clear()
        if item is None:
            for part in (self.prompt, self.reply, self.values):
                part.clear()
            return
        self.prompt.setPlainText("\n\n".join(map(_prompt_text, item["calls"])) or "(the model is not asked)")
        self.reply.setPlainText("\n\n".join(map(_reply_text, item["calls"])))
        values = [_values_text(row["values"]) for row in item["rows"]]
        reason = f"{_FATES[item['fate']]}: {item['reason']}" if item["reason"] else ""
        self.values.setPlainText("\n\n".join(text for text in (reason, *values) if text))
        for row in item["rows"]:
            for place in row["places"]:
                where = f"page {place['page']}, line {place['line']}"
                text = f"{place['path'] or place['column']}: {_shown(row['values'], place)}\n{where}"
                entry = QListWidgetItem(text)
                entry.setData(_DATA, place)
                self.places.addItem(entry)
            for column in row["missing"]:
                self.places.addItem(QListWidgetItem(f"{column}: found nowhere in the document"))

    def _show_place(self, item: QListWidgetItem) -> None:
        place = item.data(_DATA)
        if place is not None:
            self._workspace.document_wanted.emit(place["document"], place["page"], place["line"])


def _prompt_text(call: dict[str, Any]) -> str:
    return "\n\n".join(f"[{role}]\n{text}" for role, text in call["prompt"])


def _reply_text(call: dict[str, Any]) -> str:
    cost = "from the case" if call["from_case"] else f"{call['seconds']:.1f} s"
    head = f"({call['prompt_tokens']:,} tokens read, {call['sampled_tokens']:,} written, {cost})"
    return f"{call['reply'] or '(no reply)'}\n{head}"


def _values_text(values: dict[str, Any]) -> str:
    return "\n".join(f"{name}: {_text(value)}" for name, value in values.items())


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def _shown(values: dict[str, Any], place: dict[str, Any]) -> str:
    """Return the value at a path such as "acts[0].date", shortened."""
    value: Any = values
    for key in re.findall(r"[^.\[\]]+", place["path"] or place["column"]):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
    return "" if value is None else _text(value)[:SHOWN_CHARACTERS]
