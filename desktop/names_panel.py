"""A resolved name: the forms joined under it, those it was kept apart from, who decided, and where each stands."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QPushButton, QTreeWidget, QTreeWidgetItem, QWidget

from desktop.buttons import choice_box, push_button
from desktop.labels import in_bold, plain_label, with_name
from desktop.layouts import in_column
from desktop.plain_text import plain
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract import Query, names
from engine.worker.contract.names import DecisionRecord, NameForm, NameHistory, NamePlace, NamesChanged

_DATA = Qt.ItemDataRole.UserRole
_SIGNS = {"same": "is the same as", "different": "is not", "undecided": "may be"}
_BY = {
    "model": "the model",
    "user": "you",
    "transitivity": "both are the same as a third",
    "similarity": "how alike they are spelled",
    "limit": "not asked",
}


class NamesPanel(QWidget):
    """Shows one name of one column: `show_name` is the way in."""

    place_wanted = Signal(object)
    """Somebody wants to see a line that a form stands in (NamePlace)."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._run, self._column, self._name, self._question = "", "", "", ""
        self._title = plain_label(wraps=True)
        self.tree = with_name(QTreeWidget(), "Forms and decisions of a name")
        self.tree.setHeaderLabels(["Name", "Decided by", "Why"])
        self.tree.setColumnWidth(0, 260)
        self.tree.setColumnWidth(1, 90)
        self.tree.currentItemChanged.connect(lambda now, before: self._enable())
        self.tree.itemActivated.connect(self._open)
        self.tree.itemClicked.connect(self._open)
        self.other = choice_box("The other name", editable=True, narrow=True)
        self.other.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.other.editTextChanged.connect(lambda text: self._enable())
        self.merge_button = push_button("merge", "The same", self.merge)
        self.apart_button = push_button("split", "Not the same", self.keep_apart)
        self.split_button = push_button("split", "Split off", self.split)
        in_column(self._title, (self.tree, 1), self._buttons(), on=self, margins=(6, 6, 6, 4))
        workspace.case_opened.connect(lambda path: self.clear(""))
        self._enable()

    def show_name(self, run: str, column: str, name: str) -> None:
        """Ask how a name came about."""
        self.stop()
        if (run, column, name) != (self._run, self._column, self._name):
            self.clear("")  # nothing is to be decided by what is shown of another name
        self._run, self._column, self._name = run, column, name
        self._title.setText(f"{name}: finding out where it comes from…")
        self._question = self._workspace.ask(names.HISTORY, self._show, run=run, column=column, name=name)

    def clear(self, hint: str) -> None:
        """Show no name, and say why."""
        self.stop()
        self._name = ""
        self.tree.clear()
        self.other.clear()
        self._title.setText(hint)
        self._enable()

    def stop(self) -> None:
        """Give up what is on its way."""
        self._workspace.client.forget(self._question)

    def merge(self) -> None:
        """Make the other name one with this one."""
        self._decide(names.MERGE, names=[self.other.currentText().strip()], into=self._name)

    def keep_apart(self) -> None:
        """Keep the other name apart from this one."""
        self._decide(names.KEEP_APART, left=self._name, right=self.other.currentText().strip())

    def split(self) -> None:
        """Split the chosen form off."""
        self._decide(names.SPLIT, name=self._name, form=self._chosen_form())

    def _buttons(self) -> QGridLayout:
        grid = QGridLayout()
        grid.addWidget(plain_label("This name and", of=self.other), 0, 0)
        grid.addWidget(self.other, 0, 1, 1, 2)
        buttons: tuple[QPushButton, ...] = (self.merge_button, self.apart_button, self.split_button)
        for place, button in enumerate(buttons):
            grid.addWidget(button, 1, place)
        grid.setColumnStretch(1, 1)
        return grid

    def _decide(self, query: Query[NamesChanged], **parameters: Any) -> None:
        self._workspace.edit(query, self._decided, run=self._run, column=self._column, **parameters)

    def _decided(self, done: NamesChanged) -> None:
        parts = [f"{counted(done.rows, 'row')} of the table changed."] if done.rows else []
        if done.mixed:
            rows = counted(done.mixed, "row")
            parts.append(f"{rows} made from several forms will change when the question is run again.")
        parts.append(f"It is kept for later runs in {done.pipeline}.")
        self._workspace.said.emit("Your decision about the name is kept.", " ".join(parts))
        if self._name:  # else no name is shown any more
            self.show_name(self._run, self._column, self._name)

    def _show(self, history: NameHistory) -> None:
        forms, others = history.forms, history.others
        self._title.setText(
            f"{history.name}: {counted(len(forms), 'form')} in the records, "
            f"{counted(len(history.decisions), 'decision')} by {history.operator}"
        )
        self.tree.clear()
        joined = self._head(f"Joined under this name ({len(forms)})")
        for form in forms:
            joined.addChild(_form_item(form, is_form=True))
        places = {form.text: form for form in (*forms, *others)}
        for verdict, title in (
            ("same", "Found to be the same"),
            ("different", "Kept apart"),
            ("undecided", "Left open"),
        ):
            decisions = [decision for decision in history.decisions if decision.verdict == verdict]
            if decisions:
                head = self._head(f"{title} ({len(decisions)})")
                for decision in decisions:
                    head.addChild(_decision_item(decision, places))
        self.tree.expandToDepth(0)
        offered = dict.fromkeys(form.name for form in others if form.name != history.name)
        self.other.clear()
        self.other.addItems(list(offered))
        self._enable()

    def _head(self, title: str) -> QTreeWidgetItem:
        head = QTreeWidgetItem(self.tree, [title])
        head.setFont(0, in_bold(head.font(0)))
        head.setFirstColumnSpanned(True)
        return head

    def _chosen_form(self) -> str:
        item = self.tree.currentItem()
        data = item.data(0, _DATA) if item is not None else None
        return data if isinstance(data, str) else ""

    def _enable(self) -> None:
        other = self.other.currentText().strip()
        for button in (self.merge_button, self.apart_button):
            button.setEnabled(bool(self._name and other and other != self._name))
        self.other.setEnabled(bool(self._name))
        self.split_button.setEnabled(bool(self._chosen_form()) and self._forms() > 1)

    def _forms(self) -> int:
        head = self.tree.topLevelItem(0)
        return head.childCount() if head is not None else 0

    def _open(self, item: QTreeWidgetItem) -> None:
        data = item.data(0, _DATA)
        if isinstance(data, NamePlace):
            self.place_wanted.emit(data)


def _form_item(form: NameForm, *, is_form: bool) -> QTreeWidgetItem:
    item = QTreeWidgetItem([form.text, "", counted(form.rows, "row")])
    if is_form:
        item.setData(0, _DATA, form.text)
    for place in form.places:
        item.addChild(_place_item(place))
    return item


def _decision_item(decision: DecisionRecord, forms: dict[str, NameForm]) -> QTreeWidgetItem:
    left, right = decision.left, decision.right
    by = _BY.get(decision.by, decision.by.replace("_", " "))
    item = QTreeWidgetItem([f"{left} {_SIGNS.get(decision.verdict, '?')} {right}", by, decision.detail])
    for column in range(3):
        item.setToolTip(column, plain(item.text(column)))
    for name in (left, right):
        if name in forms:
            item.addChild(_form_item(forms[name], is_form=False))
    return item


def _place_item(place: NamePlace) -> QTreeWidgetItem:
    item = QTreeWidgetItem([place.quote, "", f"{place.name}, page {place.page}"])
    item.setToolTip(0, plain(place.quote))
    item.setData(0, _DATA, place)
    return item
