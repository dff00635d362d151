"""What a run is asked of: which documents of the case, which model, and whether Python of the question may run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QWidget

from desktop.fields import combo_box
from desktop.run_queue import ALL_DOCUMENTS, STARRED, input_text, tagged, these_documents
from desktop.workspace import Workspace

_AS_THE_QUESTION_SAYS = "As the question says"


class RunChoices(QWidget):
    """Choices for the entry of the queue that is shown."""

    chosen = Signal(str, str, bool)
    """The input (as `--input` of the command line) and the model, either empty for what the question says; and whether
    Python that the question brings along may run (`--trust-code`)."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self._entry: Mapping[str, Any] | None = None
        self.documents = _box("Documents that the run reads")
        self.model = _box("Model that the run asks")
        self.trust = QCheckBox("Let the question run Python of its own")
        self.trust.setToolTip("For questions with steps in Python, after you have read them.\nIt can only compute.")
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.addRow("&Documents", self.documents)
        form.addRow("&Model", self.model)
        form.addRow("", self.trust)
        for box in (self.documents, self.model):
            box.activated.connect(lambda index: self._choose())
        self.trust.clicked.connect(lambda on: self._choose())

    def look(self) -> None:
        """Bring what can be chosen up to date: tags in use, what is selected, installed models."""
        self._space.ask("documents.tags", self._offer_documents)
        self._space.client.ask("models.list", self._offer_models)

    def show_entry(self, entry: Mapping[str, Any] | None, *, can_change: bool) -> None:
        """Show the choices of an entry of the queue, None for no entry."""
        self._entry = entry
        self.setEnabled(entry is not None and can_change)
        if entry is not None:
            _select(self.documents, entry["input"], input_text(entry["input"]).capitalize())
            _select(self.model, entry["model"], entry["model"] or _AS_THE_QUESTION_SAYS)
            self.trust.setChecked(entry["trust_code"])

    def _offer_documents(self, tags: list[str]) -> None:
        offers = [("All documents", ALL_DOCUMENTS), ("Starred documents", STARRED)]
        offers += [(f"Documents tagged {tag}", tagged(tag)) for tag in tags]
        if chosen := self._space.selected_documents:
            offers.append((f"Selected documents ({len(chosen):,})", these_documents(chosen)))
        self._offer(self.documents, [*offers, (_AS_THE_QUESTION_SAYS, "")])

    def _offer_models(self, models: list[dict[str, Any]]) -> None:
        here = [row for row in models if row["installed"] and row["kind"] == "language"]
        offers = [(f"{row['id']} (default)" if row["is_default"] else row["id"], row["id"]) for row in here]
        self._offer(self.model, [(_AS_THE_QUESTION_SAYS, ""), *offers])

    def _offer(self, box: QComboBox, offers: list[tuple[str, str]]) -> None:
        box.clear()
        for text, value in offers:
            box.addItem(text, value)
        self.show_entry(self._entry, can_change=self.isEnabled())

    def _choose(self) -> None:
        chosen = (self.documents.currentData() or "", self.model.currentData() or "", self.trust.isChecked())
        entry = self._entry
        if entry is not None and chosen != (entry["input"], entry["model"], entry["trust_code"]):
            self.chosen.emit(*chosen)


def _box(name: str) -> QComboBox:
    box = combo_box(name)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    return box


def _select(box: QComboBox, value: str, text: str) -> None:
    """Show a value, which is offered if it is not yet."""
    index = box.findData(value)
    if index < 0:
        box.addItem(text, value)
        index = box.count() - 1
    box.setCurrentIndex(index)
