"""The widgets of Results and how they lie beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtWidgets import QProgressBar, QTabWidget, QWidget

from desktop.answers_panel import AnswersPanel
from desktop.buttons import choice_box, offer, push_button
from desktop.charts_panel import ChartsPanel
from desktop.check_boxes import CheckBox
from desktop.evidence_panel import EvidencePanel
from desktop.groups_panel import GroupsPanel
from desktop.labels import SaidLabel, plain_label, with_name
from desktop.layouts import FlowLayout, holder, in_column, in_row, split, stacked
from desktop.ledger_panel import LedgerPanel
from desktop.names_panel import NamesPanel
from desktop.network_panel import NetworkPanel
from desktop.plain_text import plain
from desktop.results_table import ResultsTable
from desktop.timeline_panel import TimelinePanel
from desktop.words import counted, time_text
from desktop.workspace import Workspace
from engine.worker.contract.results import ColumnInfo, RunEntry

_CHOICES = (
    ("only_not_located", "Values not found", "Only rows with a value that was not found in the records"),
    ("only_unreviewed", "Not reviewed", "Only rows that nobody has reviewed"),
    ("only_new", "New since the last run", "Only rows that the run before did not have"),
    (
        "least_agreed_first",
        "Most doubtful first",
        "Rows that may lack an entry, whose readings disagree, or whose values fail a check, before the others",
    ),
)
"""Which rows are shown, as the worker takes it (engine.results.table.Selection), in words, and explained."""


class ResultsLayout(QWidget):
    """Groups at the left, table and charts in the middle, evidence, names and answers at the right."""

    run_chosen = Signal(str)
    side_changed = Signal()
    """Something else is open beside the table."""
    change_wanted = Signal()
    """The question is to be changed by the note that was written last."""
    choice_changed = Signal()
    """Another choice of rows: not located, not reviewed."""

    def __init__(
        self, workspace: Workspace, table: ResultsTable, selection: Callable[[], dict[str, Any]], place: QWidget
    ) -> None:
        super().__init__(place)
        self._table = table
        self.evidence = EvidencePanel(workspace)
        self.names = NamesPanel(workspace)
        self.answers = AnswersPanel(workspace)
        self.charts = ChartsPanel(workspace, selection)
        self.timeline = TimelinePanel(workspace, selection)
        self.network = NetworkPanel(workspace, selection)
        self.groups = GroupsPanel(workspace, selection)
        self.pictures = self.groups, self.charts, self.timeline, self.network
        """What is shown of the rows besides the table."""
        self.ledger = LedgerPanel(workspace)
        self.progress = with_name(QProgressBar(), "Review")
        self.progress.setFormat("not reviewed yet")
        self.progress.setMinimumWidth(150)
        self.progress.setMaximumWidth(260)
        self.said = SaidLabel("What was done last", wraps=True)
        self.improve = push_button("question", "Change the question by this note", self.change_wanted.emit)
        self.improve.hide()
        self._hint = plain_label(wraps=True, centred=True)
        self._stack = stacked(table, self._hint)
        self.tabs = with_name(QTabWidget(), "Table, charts, timeline, network and ledger")
        self.rows = self._with_filters()
        self.tabs.addTab(self.rows, "Rows")
        self.tabs.addTab(self.charts, "Charts")
        self.tabs.addTab(self.timeline, "Timeline")
        self.tabs.addTab(self.network, "Network")
        self.tabs.addTab(self.ledger, "Ledger")
        self.tabs.currentChanged.connect(lambda index: self._refresh_tab())
        self._sides = with_name(QTabWidget(), "Evidence, names and answers")
        self._sides.addTab(self.evidence, "Evidence")
        self._sides.addTab(self.names, "Name")
        self._sides.addTab(self.answers, "Answers")
        self._sides.currentChanged.connect(lambda index: self.side_changed.emit())
        self._sides.hide()
        self._narrowed = QTimer(self, interval=0, singleShot=True)
        self._narrowed.timeout.connect(lambda: table.scrollTo(table.currentIndex()))
        self._arrange(workspace, place)

    @property
    def rows_are_shown(self) -> bool:
        """Say whether the table is in front, and no charts."""
        return self.tabs.currentWidget() is self.rows

    @property
    def side_is_open(self) -> bool:
        """Say whether something is open beside the table."""
        return not self._sides.isHidden()

    @property
    def side(self) -> QWidget | None:
        """Return what is open beside the table."""
        return self._sides.currentWidget() if self.side_is_open else None

    def open_side(self, part: QWidget) -> None:
        """Open the evidence, the name or the answers beside the table."""
        self._sides.setCurrentWidget(part)
        if self._sides.isHidden():
            self._sides.show()
            self._narrowed.start()

    def close_side(self) -> None:
        """Close what is beside the table."""
        self._sides.hide()

    def open_tab(self, part: QWidget) -> None:
        """Bring the rows, the charts, the timeline, the network or the ledger to the front."""
        self.tabs.setCurrentWidget(part)

    def show_runs(self, runs: Sequence[RunEntry], current: str) -> None:
        """Offer runs to choose from."""
        offer(self.runs, [(run.id, run_text(run)) for run in runs], current)
        self.runs.setEnabled(bool(runs))

    def choose_run(self, run: str) -> None:
        """Show which run is open."""
        self.runs.setCurrentIndex(self.runs.findData(run))

    def show_columns(self, run: str, columns: Sequence[ColumnInfo]) -> None:
        """Offer the columns of a run for groups and charts, with no choice made."""
        self.clear_choices()
        for picture in self.pictures:
            picture.show_run(run, columns)
        self.ledger.show_run(run)
        for part, is_offered in (
            (self.names, any(column.resolved_by for column in columns)),
            (self.answers, any(column.answer for column in columns)),
        ):
            if not is_offered and self._sides.currentWidget() is part:
                self._sides.setCurrentWidget(self.evidence)
            self._sides.setTabVisible(self._sides.indexOf(part), is_offered)
        self._stack.setCurrentIndex(0)

    def clear(self) -> None:
        """Show nothing of any run: another case is open."""
        self.show_runs((), "")
        self.show_columns("", ())
        self.show_new(None)
        self.progress.reset()
        self.progress.setToolTip("")
        self.progress.setAccessibleDescription("")
        self.said.clear()
        self.improve.hide()

    def show_total(self, text: str, hint: str) -> None:
        """Say how many rows there are, or in place of the table why there is none."""
        self.tabs.setTabText(0, text.capitalize() if text else "Rows")
        self._below.setText(hint)
        self._below.setVisible(bool(hint))

    def show_hint(self, hint: str) -> None:
        """Show a text in place of the table."""
        self._hint.setText(hint)
        self._stack.setCurrentIndex(1)
        self.tabs.setTabText(0, "Rows")

    def choices(self) -> dict[str, Any]:
        """Return the choice of rows, as the worker takes it."""
        return {key: True for key, box in self.boxes.items() if box.isChecked()}

    def clear_choices(self) -> None:
        """Take the choice of rows back, quietly."""
        for box in self.boxes.values():
            with QSignalBlocker(box):
                box.setChecked(False)

    def show_new(self, count: int | None) -> None:
        """Offer the rows that the last run of the question had not, where there was one and there are any."""
        self.boxes["only_new"].setText(f"New since the last run ({count or 0:,})")
        self.boxes["only_new"].setVisible(bool(count))

    def _refresh_tab(self) -> None:
        for part in (self.charts, self.timeline, self.network, self.ledger):
            part.refresh()

    def _with_filters(self) -> QWidget:
        self.boxes = {key: CheckBox(text) for key, text, _ in _CHOICES}
        for box, (_, _, tip) in zip(self.boxes.values(), _CHOICES, strict=True):
            box.setToolTip(plain(tip))
            box.setAccessibleDescription(tip)
            box.toggled.connect(lambda on: self.choice_changed.emit())
        self.boxes["only_new"].hide()
        self._below = plain_label(wraps=True)
        self._below.hide()
        flow = FlowLayout()
        for box in self.boxes.values():
            flow.addWidget(box)
        return holder(in_column(flow, margins=(6, 6, 6, 2)), (self._stack, 1), self._below)

    def _arrange(self, workspace: Workspace, place: QWidget) -> None:
        self.runs = choice_box("Run")
        self.runs.setMinimumContentsLength(24)
        self.runs.activated.connect(lambda index: self.run_chosen.emit(str(self.runs.itemData(index))))
        self.export = push_button("export", "Export…", lambda: workspace.place_wanted.emit("Export"))
        label = plain_label("Results of", of=self.runs)
        top = in_row(label, self.runs, (self.said, 1), self.improve, self.progress, self.export)
        self.groups.setMinimumWidth(120)
        self._sides.setMinimumWidth(320)
        self.tabs.setMinimumWidth(300)
        in_column(top, (split((self.groups, self.tabs, self._sides), (170, 480, 480), (0, 3, 3)), 1), on=self)
        in_column(self, on=place, margins=(12, 10, 12, 8))


def run_text(run: RunEntry) -> str:
    """Name a run, with when it began and how many rows it has."""
    return f"{run.name}, {time_text(run.started_at)}, {counted(run.rows or 0, 'row')}"
