"""What a build is asked of: how long, which plan is chosen, on which documents, and who writes prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QFormLayout, QSlider, QSpinBox, QWidget

from desktop.buttons import choice_box, offer, show_choice
from desktop.labels import plain_label, with_name
from desktop.layouts import in_row
from desktop.plain_text import plain
from desktop.run_queue import document_offers, input_text
from desktop.words import duration_text
from desktop.workspace import Workspace
from engine.worker.contract import models
from engine.worker.contract.documents import TAGS
from engine.worker.contract.models import ModelFacts

MINUTES: Final = (2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480)
"""Where the slider can stand."""
USUAL_MINUTES: Final = 20
USUAL_SAMPLE: Final = 8
LEAST_SAMPLE, MOST_SAMPLE = 3, 50
WITHIN: Final = "within-minutes"
_POLICIES: Final = (
    ("best", "The most accurate plan"),
    ("fastest", "The fastest plan that is as good as mine"),
    (WITHIN, "The most accurate within a time for all documents"),
)
_SAME_MODEL: Final = "The model of the question"


class BuildForm(QWidget):
    """Fields; `options` are keys of the command `build`, `given` is its input."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self.minutes = with_name(QSlider(Qt.Orientation.Horizontal), "Minutes for improving")
        self.minutes.setRange(0, len(MINUTES) - 1)
        self.minutes.setPageStep(2)
        self.minutes.setTickPosition(QSlider.TickPosition.TicksBelow)
        self.told = plain_label()
        self.told.setMinimumWidth(90)
        self.policy = choice_box("Which plan is chosen", _POLICIES)
        self.within = _number("Minutes for all documents", 1, 100_000, 60)
        self.within.setSuffix(" min")
        self.documents = choice_box("Documents that plans are tried on", narrow=True)
        self.sample = _number("Documents of the sample", LEAST_SAMPLE, MOST_SAMPLE, USUAL_SAMPLE)
        self.agent = choice_box("Model that proposes prompts", narrow=True)
        self._offer_documents([])
        self._offer_models([])
        self._lay_out()
        self.minutes.valueChanged.connect(lambda at: self._show_minutes())
        self.policy.currentIndexChanged.connect(lambda at: self._show_minutes())
        self.minutes.setValue(MINUTES.index(USUAL_MINUTES))
        self._show_minutes()
        workspace.case_opened.connect(lambda path: self._begin())

    @property
    def given(self) -> str:
        """Return the documents as an `--input` of the command line."""
        return str(self.documents.currentData() or "")

    @property
    def options(self) -> dict[str, Any]:
        """Return the other keys of the command."""
        policy = str(self.policy.currentData())
        if policy == WITHIN:
            policy = f"{WITHIN} {self.within.value()}"
        options: dict[str, Any] = {
            "minutes": MINUTES[self.minutes.value()],
            "sample": self.sample.value(),
            "policy": policy,
        }
        if agent := self.agent.currentData():
            options["agent_model"] = agent
        return options

    def show_options(self, given: str, options: Mapping[str, Any]) -> None:
        """Show what the last build was given, also what nobody would be offered any more: it goes on with that."""
        minutes = min(range(len(MINUTES)), key=lambda at: abs(MINUTES[at] - options.get("minutes", USUAL_MINUTES)))
        self.minutes.setValue(minutes)
        self.sample.setValue(options.get("sample", USUAL_SAMPLE))
        name, _, within = str(options.get("policy", "best")).partition(" ")
        self.policy.setCurrentIndex(max(self.policy.findData(name), 0))
        if within:
            self.within.setValue(round(float(within)))
        show_choice(self.agent, *_model(options.get("agent_model", "")))
        show_choice(self.documents, *_documents(given))

    def look(self) -> None:
        """Bring what can be chosen up to date: tags in use, what is selected, installed models."""
        self._space.ask(TAGS, self._offer_documents)
        self._space.client.ask(models.LIST, self._offer_models)

    def _lay_out(self) -> None:
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow("Work for", in_row((self.minutes, 1), self.told))
        form.addRow("Choose", in_row((self.policy, 1), self.within))
        form.addRow("Try plans on", in_row(self.sample, plain_label("of"), (self.documents, 1)))
        form.addRow("Prompts by", self.agent)

    def _show_minutes(self) -> None:
        self.told.setText(duration_text(MINUTES[self.minutes.value()] * 60))
        self.minutes.setToolTip(plain(f"Improving takes no longer than {self.told.text()}"))
        self.within.setVisible(self.policy.currentData() == WITHIN)

    def _begin(self) -> None:
        """Choose all documents: those that were chosen are of another case."""
        self.documents.clear()
        self._offer_documents([])

    def _offer_documents(self, tags: list[str]) -> None:
        offers = document_offers(tags, self._space.selected_documents)
        named = [(value, text[0].lower() + text[1:]) for value, text in offers]
        _offer(self.documents, [*named, _documents("")], _documents)

    def _offer_models(self, facts: list[ModelFacts]) -> None:
        here = [row.id for row in facts if row.installed and row.kind == "language"]
        _offer(self.agent, [_model(""), *map(_model, here)], _model)


Choice = tuple[str, str]
"""A value, and how it is said."""


def _documents(given: str) -> Choice:
    return given, input_text(given) if given else "those that the question names"


def _model(id: str) -> Choice:
    return id, id or _SAME_MODEL


def _number(name: str, least: int, most: int, value: int) -> QSpinBox:
    box = with_name(QSpinBox(minimum=least, maximum=most, value=value), name)
    box.lineEdit().setAccessibleName(name)
    return box


def _offer(box: QComboBox, offers: Sequence[Choice], named: Callable[[str], Choice]) -> None:
    """Offer other choices; the one that was made stays."""
    before = box.currentData()
    offer(box, offers)
    if before is not None:
        show_choice(box, *named(before))
