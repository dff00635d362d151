"""A look at what a question finds in three documents: a table as in Results, and the page of each cell beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from desktop.buttons import choice_box, offer, push_button, tool_button
from desktop.client import Answer, Failed
from desktop.evidence_panel import EvidencePanel
from desktop.labels import SaidLabel, with_name
from desktop.layouts import in_column, in_row, split
from desktop.permission import granted
from desktop.results_model import ResultsModel
from desktop.results_table import ResultsTable
from desktop.rows_model import ROW_ROLE
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract import Query
from engine.worker.contract.events import CommandFailed, Event, ModelLoading, OperatorProgress, Tried
from engine.worker.contract.results import TABLE, ShownRow, TableInfo
from engine.worker.contract.reviews import JUDGE

DRAWN, FIRST, SELECTED = "drawn", "first", "selected"
"""Which documents are tried: the first two as the query `ask.documents` names them."""
DOCUMENTS = 3
MOST_SELECTED = 20
MOST_CHARACTERS = 6_000
"""Of each document that was not selected itself: three are read and answered in about a minute on a small computer."""
_FOLLOW_MILLISECONDS = 120
_OUTDATED = "The question has changed. Preview it again."
_BUSY = "Redwell is busy with something else. Wait until it has finished, or stop it in Run."
_BEGIN = "Preview shows the table of three documents."
_CLICK = "Click a cell to see where it was found."


class PreviewPanel(QWidget):
    """Starts trials of a question as jobs of the worker, and shows the results of the last one."""

    judged = Signal()
    """A row was called right or wrong, or that was taken back."""
    shown = Signal()
    """The results of a preview are there."""
    wanted = Signal()
    """A person asks for the preview of the question as it stands."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self._case = self._run = ""
        self._seed = 0
        self.is_going = False
        """A preview is being made."""
        self._is_outdated = False
        self._question = ""  # which documents there are, or what the table is
        self._given: dict[str, Any] = {}
        self._allowed: dict[str, Any] = {}
        self._names: Sequence[str] = ()
        self._in_part: Sequence[tuple[str, float]] = ()
        self._told: set[str] = set()  # rows that were called wrong, by which the question was changed
        self.model = ResultsModel(self._ask, workspace.client.forget, self)
        self.table = with_name(ResultsTable(self.model, workspace.settings, has_filters=False), "Preview")
        self.evidence = EvidencePanel(workspace, ask=self._ask)
        self.which = choice_box("Documents of the preview")
        self.which.setToolTip(
            "Only parts of long documents are read; those that you select in Documents are read whole"
        )
        self.status = SaidLabel("State of the preview", wraps=True)
        self.again = tool_button("retry", "Choose three other documents", self.draw_others)
        self.right = push_button("check", "Right", lambda: self.judge("accept"))
        self.wrong = push_button("reject", "Wrong", lambda: self.judge("reject"))
        self.cancel = push_button("cancel", "Stop", workspace.job.cancel)
        self._follow = QTimer(self, interval=_FOLLOW_MILLISECONDS, singleShot=True)
        self._follow.timeout.connect(self._show_cell)
        self._build()
        self._connect()
        self.look()
        self.clear()

    def look(self) -> None:
        """Offer the documents that can be tried: drawn ones, the first, those that are selected."""
        offers = [(DRAWN, "Three documents, at random"), (FIRST, "The first three documents")]
        if count := len(self._space.selected_documents[:MOST_SELECTED]):
            offers.append((SELECTED, counted(count, "selected document")))
        offer(self.which, offers)
        self._show_buttons()

    def start(self, text: str, given: str, directory: str) -> None:
        """Try a pipeline on documents of a choice (`--input`), those that the box says."""
        if self.is_going:
            return
        if self._space.job.is_going:
            self.status.setText(_BUSY)
            return
        self._allowed, self.is_going, self._is_outdated = {}, True, False
        self._given = {"text": text, "case": self._space.case, "directory": directory}
        self.status.setText("Choosing documents…")
        self._show_buttons()
        if (which := self.which.currentData()) == SELECTED:
            self._try(self._space.selected_documents[:MOST_SELECTED])
        else:
            wanted = {"input": given, "draw": DOCUMENTS, "seed": self._seed}
            chosen = lambda answer: self._try(answer[which])  # noqa: E731
            self._question = self._space.ask("ask.documents", chosen, self._failed, **wanted)

    def draw_others(self) -> None:
        """Choose three other documents, and try these."""
        self._seed += 1
        self.wanted.emit()

    def outdate(self, *, by_rows: bool = False) -> None:
        """Say that the question was changed since; `by_rows`: by those that were called wrong, which do so once."""
        rows = (self.model.result(number) for number in range(self.model.rowCount() if by_rows else 0))
        self._told |= {row.id for row in rows if row is not None and row.verdict == "rejected"}
        self._is_outdated = True
        if self._run and not self.is_going:
            self.status.setText(_OUTDATED)

    def clear(self) -> None:
        """Show no preview; one that is being made is given up."""
        self._give_up()
        self._case = self._run = ""
        self.model.clear()
        self.evidence.stop()
        self.evidence.viewer.clear()
        self.evidence.hide()
        self.table.hide()
        self.status.setText(_BEGIN)
        self._show_buttons()

    def judge(self, kind: str) -> None:
        """Call the selected rows right (`accept`) or wrong (`reject`)."""
        rows = {index.row(): index.data(ROW_ROLE) for index in self._chosen()}
        ids = [row.id for _, row in sorted(rows.items()) if isinstance(row, ShownRow)]
        if not ids:
            return
        known: dict[str, Any] = {"case": self._case, "run": self._run, "rows": ids, "kind": kind}
        self._space.client.ask(JUDGE, lambda count: self.model.refresh(), is_edit=True, **known)
        if len(ids) == 1:
            self.table.move_row(1)

    def rejected(self) -> list[str]:
        """Return the rows that were called wrong since the question was changed, as text without their file."""
        rows = (self.model.result(number) for number in range(self.model.rowCount()))
        wrong = [row for row in rows if row is not None and row.verdict == "rejected" and row.id not in self._told]
        return [self.model.text_of(row) for row in wrong]

    def stop(self) -> None:
        """Give up what is on its way."""
        self._follow.stop()
        self.model.stop()
        self.evidence.stop()
        self.evidence.viewer.stop()

    # -- inside --------------------------------------------------------------------------------------------------

    def _ask(
        self, query: Query[Answer], then: Callable[[Answer], object], failed: Failed | None = None, **parameters: Any
    ) -> str:
        """Ask about the case of the trial."""
        return self._space.client.ask(query, then, failed, case=self._case, **parameters)

    def _build(self) -> None:
        top = in_row(self.which, self.again, (self.status, 1), self.right, self.wrong, self.cancel)
        self.right.setToolTip("The selected rows are right (A)")
        self.wrong.setToolTip("The selected rows are wrong (R): Change it then leaves out rows like these")
        self.table.setMinimumWidth(300)
        self.evidence.setMinimumWidth(320)
        in_column(top, (split((self.table, self.evidence), (560, 480)), 1), on=self)

    def _connect(self) -> None:
        job = self._space.job
        self._space.client.told.connect(self._take)
        self._space.client.ready.connect(self._drop)
        job.failed.connect(self._failed)
        job.finished.connect(self._finished)
        job.changed.connect(self._show_buttons)
        self.table.clicked.connect(self._open)
        self.table.activated.connect(self._open)
        self.table.selectionModel().currentChanged.connect(lambda now, before: self._follow.start())
        self.evidence.closed.connect(self.evidence.hide)
        self.model.total_changed.connect(self._show_total)
        self.model.dataChanged.connect(lambda *changed: self.judged.emit())
        self.which.activated.connect(lambda index: self._show_buttons())
        for key, kind in (("A", "accept"), ("R", "reject"), ("U", "clear")):
            shortcut = QShortcut(QKeySequence(key), self.table)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(lambda kind=kind: self.judge(kind))

    def _give_up(self) -> None:
        """Take nothing any more of what is being made: it is of another question."""
        is_begun = self.is_going and "documents" in self._given
        self._space.client.forget(self._question)
        self._given, self.is_going = {}, False
        if is_begun:
            self._space.job.cancel()

    def _try(self, documents: list[str]) -> None:
        if not documents:
            self._end("No document is chosen: choose others, or all.")
            return
        self._given["documents"] = list(documents)
        self._given["most_characters"] = 0 if self.which.currentData() == SELECTED else MOST_CHARACTERS
        self.status.setText("Reading…")
        if not self._space.job.start("try", **self._given, **self._allowed):
            self._end(_BUSY if self._space.job.is_going else _BEGIN)

    def _end(self, told: str) -> None:
        """Say why no preview is made."""
        self.is_going = False
        self.status.setText(told)
        self._show_buttons()

    def _drop(self) -> None:
        """Show no more what cannot be asked about.

        The case of a trial goes with the next one, with a conversion of the person's case, and with its worker.
        """
        if self._run and not self.is_going:
            self.clear()

    def _take(self, event: Event) -> None:
        if not self.is_going:
            if isinstance(event, Tried):  # of the steps, under Advanced
                self._drop()
            return
        match event:
            case ModelLoading():
                self.status.setText("Loading the model…")
            case OperatorProgress() if event.total:
                self.status.setText(f"Reading: {event.done} of {event.total}")
            case Tried():
                self._names, self._in_part = event.documents, event.in_part
                self._case, self._run = event.case, event.run
                self._question = self._ask(TABLE, self._show_results, self._failed, run=self._run)

    def _show_results(self, table: TableInfo) -> None:
        self._told.clear()
        self.model.show_run(table.run, table.columns)
        self.table.show_columns()
        self.table.show()
        self.evidence.hide()
        where, parts = _listed(self._names), _parts(self._in_part)
        self.status.setText(f"{counted(table.rows, 'row')} in {where}. {parts}{_CLICK}")
        if not table.rows:
            self.status.setText(f"Nothing was found in {where}. {parts}Choose others, or change the question.")
        if self._is_outdated:
            self.status.setText(_OUTDATED)
        self._show_buttons()
        self.shown.emit()

    def _failed(self, message: str, advice: str) -> None:
        if self.is_going:
            self.is_going = False
            self.status.setText(f"{message}. {advice}".replace("..", ".").strip())
            is_begun = "documents" in self._given  # else what was refused was an earlier job
            if is_begun and (refusal := self._space.job.refusal) is not None:
                given = self._given
                self._space.permission_wanted.emit(refusal, lambda: self._allow(given, refusal))
        self._show_buttons()

    def _allow(self, given: dict[str, Any], refusal: CommandFailed) -> None:
        """Try again what was refused, unless another question was asked since."""
        if given is self._given:
            self._allowed, self.is_going = granted(refusal, self._allowed), True
            self._try(given["documents"])

    def _finished(self, code: int) -> None:
        if self.is_going:
            self.is_going = False
            if code:
                self.status.setText("Stopped. Replies that had come are kept.")
        elif self._space.job.name == "convert" and not code:
            self._drop()
        self._show_buttons()

    def _show_buttons(self) -> None:
        has_rows = bool(self._run) and self.model.rowCount() > 0
        for button in (self.right, self.wrong):
            button.setVisible(has_rows and not self.is_going)
        self.cancel.setVisible(self.is_going and self._space.job.is_going)
        self.again.setVisible(self.which.currentData() == DRAWN)
        self.again.setEnabled(not self._space.job.is_going)

    def _show_total(self, total: int) -> None:
        if total and not self.table.currentIndex().isValid():
            self.table.go_to(0, 1)
        self._show_buttons()

    def _chosen(self) -> list[QModelIndex]:
        return self.table.selectionModel().selectedIndexes() or [self.table.currentIndex()]

    def _open(self, index: QModelIndex) -> None:
        if self.model.column_of(index) is not None:
            self.evidence.show()
            self._show_cell()

    def _show_cell(self) -> None:
        index = self.table.currentIndex()
        row, column = index.data(ROW_ROLE), self.model.column_of(index)
        if self.evidence.isVisible() and isinstance(row, ShownRow) and column is not None:
            self.evidence.show_cell(self._run, row.id, column.name)


def _listed(names: Sequence[str]) -> str:
    """Name the documents, or count them where there are many."""
    if len(names) > DOCUMENTS:
        return counted(len(names), "document")
    *before, last = names or ("no document",)
    return f"{', '.join(before)} and {last}" if before else last


def _parts(in_part: Sequence[tuple[str, float]]) -> str:
    """Say of which documents only parts were read, with a blank behind it; empty where of none."""
    if not in_part:
        return ""
    shares = ", ".join(f"{name} {max(share, 0.01):.0%}" for name, share in in_part)
    return f"Only the parts that fit the question best were read ({shares}); a run reads all. "
