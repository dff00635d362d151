"""Review by keyboard: verdicts, corrections in place, notes, undo; and how far it is."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QInputDialog, QPlainTextEdit, QProgressBar

from desktop.file_dialogs import save_dialog
from desktop.plain_text import plain
from desktop.question_box import input_dialog
from desktop.results_model import ResultsModel
from desktop.results_table import ResultsTable
from desktop.rows_model import ROW_ROLE
from desktop.selected_rows import SelectedRows
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract import reviews
from engine.worker.contract.names import MERGE
from engine.worker.contract.results import ShownRow
from engine.worker.contract.reviews import ReviewProgress, ReviewStep

_STEPS = {
    "accept": "accepting {}",
    "reject": "rejecting {}",
    "clear": "taking the verdict off {}",
    "correct": "the correction in {}",
    "note": "the note on {}",
    "rename": "the other name in {}",
}
_VERDICTS = {"accept": "accepted", "reject": "rejected"}
_UNDO = "Ctrl+Z takes that back."
_STILL_DECIDED = (
    "The question still has your decision about the names.",
    "When it runs again, it does the same. To take that back too, decide the other way in Name (Ctrl+M).",
)


_MOST_LOOKED_AT = 500
"""Rows in which one is looked for: beyond them it is not named."""


class ResultsReview(QObject):
    """What a reviewer does with the rows of the table."""

    said = Signal(str)
    """What was done last, in a few words."""
    noted = Signal(str, str)
    """A note was written: the run, and what it says."""

    def __init__(
        self,
        workspace: Workspace,
        model: ResultsModel,
        table: ResultsTable,
        selection: SelectedRows,
        progress: QProgressBar,
    ) -> None:
        super().__init__(table)
        self._workspace, self._model, self._table, self._progress = workspace, model, table, progress
        self._selection = selection
        self._asked = ""  # the question how far the review is
        model.edited.connect(self._correct)

    def changed(self) -> None:
        """Show what the case has now."""
        self._model.refresh()
        show = self._workspace.while_open(self._show_progress)
        self._workspace.client.forget(self._asked)  # it may be about another run
        self._asked = self._workspace.ask(reviews.PROGRESS, show, run=self._model.run)

    def judge(self, kind: str, *, cell: bool = False) -> None:
        """Accept or reject the selected rows, or the current cell, or take that back; then go to the next row."""
        column = self._column() if cell else ""
        if cell and not column:
            return
        run = self._model.run
        if self._selection.count and not cell:
            self._selection.use(lambda rows: self._judge(run, kind, "", rows))
        else:
            current = self._table.currentIndex().data(ROW_ROLE)
            self._judge(run, kind, column, [current.id] if isinstance(current, ShownRow) else [])

    def _judge(self, run: str, kind: str, column: str, rows: list[str]) -> None:
        if not rows or not self._may_edit():
            return
        where = f"{column} of {self._named(rows)}" if column else self._named(rows)
        said = f"the verdict on {where} is taken back. What was said of single cells stays."
        if kind in _VERDICTS:
            said = f"{where} {'is' if len(rows) == 1 else 'are'} {_VERDICTS[kind]}. {_UNDO}"
        judged = self._workspace.while_open(lambda count: self.said.emit(said[:1].upper() + said[1:]))
        self._workspace.edit(reviews.JUDGE, judged, run=run, rows=rows, kind=kind, column=column)
        leaves = bool(self._model.selection.get("only_unreviewed"))  # then the next row comes to where this one is
        if column or kind == "clear":
            return
        if len(rows) == 1 and not leaves:
            self._table.move_row(1)
        elif len(rows) > 1 and leaves:  # else those that come to their places would be selected, and judged next
            self._table.go_to(self._selection.spans()[0][0], max(self._table.currentIndex().column(), 1))

    def edit_current(self) -> None:
        """Begin to correct the current cell in place."""
        index = self._table.currentIndex()
        if not self._may_edit() or not index.isValid() or not self._column():
            return
        if index.flags() & Qt.ItemFlag.ItemIsEditable:
            self._table.edit_cell(index)
        elif index.data(ROW_ROLE) is not None:
            self._workspace.said.emit(
                "This text is too long to be corrected here.", "Reject the cell and write a note."
            )

    def ask_note(self) -> QInputDialog | None:
        """Ask for the text of a note on the current row."""
        row = self._table.currentIndex().data(ROW_ROLE)
        if not isinstance(row, ShownRow) or not self._may_edit():
            return None
        run = self._model.run
        note = lambda text: self.note(run, row.id, text)  # noqa: E731
        dialog = input_dialog(self._table, "Note", f"Note on row {row.number}:", note)
        dialog.setOption(QInputDialog.InputDialogOption.UsePlainTextEditForTextInput)
        for field in dialog.findChildren(QPlainTextEdit):
            field.setTabChangesFocus(True)  # else Tab would not lead to the buttons
        dialog.setTextValue(row.note)
        dialog.open()
        return dialog

    def note(self, run: str, row: str, text: str) -> None:
        """Write a note on a row of a run; empty text takes it off."""
        noted = self._workspace.while_open(lambda said: self.noted.emit(run, said))
        self._workspace.edit(reviews.NOTE, noted, run=run, row=row, text=text)

    def merge(self, column: str, names: list[str], into: str) -> None:
        """Say that names are one."""
        if self._may_edit():
            self._workspace.edit(MERGE, run=self._model.run, column=column, names=names, into=into)

    def ask_gold(self) -> QFileDialog | None:
        """Ask where the reviewed rows are to be written as gold answers."""
        run = self._model.run
        if not run:
            return None
        write = lambda file: self.write_gold(run, file)  # noqa: E731
        dialog = save_dialog(self._table, "Save reviewed rows as right answers", write, "JSON lines (*.jsonl)")
        dialog.open()
        return dialog

    def write_gold(self, run: str, file: str) -> None:
        """Write the reviewed rows of a run, corrected, as gold answers."""

        def written(rows: int) -> None:
            self._workspace.said.emit(f"{counted(rows, 'reviewed row')} written to {file}.", "")

        self._workspace.ask(reviews.GOLD, written, run=run, file=file)

    def undo(self) -> None:
        """Take the last step back."""
        self._workspace.edit(reviews.UNDO, self._workspace.while_open(partial(self._tell_step, "undo")))

    def redo(self) -> None:
        """Make the step again that was taken back last."""
        self._workspace.edit(reviews.REDO, self._workspace.while_open(partial(self._tell_step, "redo")))

    def rejected(self) -> list[str]:
        """Return the rows here that were rejected, as text without their file."""
        rows = (self._model.result(number) for number in range(min(self._model.rowCount(), _MOST_LOOKED_AT)))
        return [self._model.text_of(row) for row in rows if row is not None and row.verdict == "rejected"]

    def _tell_step(self, what: str, step: ReviewStep | None) -> None:
        """Say which step was taken back or made again, also where it is of another run, and go to its row."""
        if step is None:
            self._workspace.said.emit(f"There is no review step to {what}.", "")
            return
        rows = list(dict.fromkeys(row for row, _ in step.cells))
        elsewhere = f", in run {step.run_id}" if step.run_id != self._model.run else ""
        done = {"undo": "Undone", "redo": "Redone"}[what]
        self.said.emit(f"{done}: {_STEPS[step.kind].format(self._named(rows))}{elsewhere}.")
        place = self._place(rows[0]) if rows else -1
        if place >= 0:
            self._table.go_to(place, max(self._table.currentIndex().column(), 1))
        if what == "undo" and step.kind == "rename":
            self._workspace.said.emit(*_STILL_DECIDED)

    def _named(self, ids: list[str]) -> str:
        """Name rows by their number where they are here, else count them."""
        place = self._place(ids[0]) if len(ids) == 1 else -1
        row = self._model.result(place) if place >= 0 else None
        return f"row {row.number}" if row is not None else "a row" if len(ids) == 1 else counted(len(ids), "row")

    def _place(self, id: str) -> int:
        """Return where a row stands in the table, -1 where it is not here."""
        rows = range(min(self._model.rowCount(), _MOST_LOOKED_AT))
        return next((n for n in rows if (row := self._model.result(n)) is not None and row.id == id), -1)

    def _correct(self, row: str, column: str, text: str) -> None:
        self._workspace.edit(reviews.CORRECT, run=self._model.run, row=row, column=column, text=text)

    def _may_edit(self) -> bool:
        if not self._model.can_edit:
            self._workspace.said.emit("The case is open read-only.", self._workspace.read_only)
        return self._model.can_edit

    def _column(self) -> str:
        column = self._model.column_of(self._table.currentIndex())
        return column.name if column is not None else ""

    def _show_progress(self, progress: ReviewProgress) -> None:
        done, rows = progress.reviewed, progress.rows
        self._progress.setRange(0, max(rows, 1))
        self._progress.setValue(done)
        self._progress.setFormat(f"{done:,} of {rows:,} reviewed")
        parts = [
            f"{progress.accepted:,} accepted",
            f"{progress.corrected:,} corrected",
            f"{progress.rejected:,} rejected",
        ]
        if progress.unplaced:
            parts.append(f"not in this run, but reviewed in an earlier one: {counted(progress.unplaced, 'row')}")
        self._progress.setToolTip(plain(", ".join(parts)))
        self._progress.setAccessibleDescription(f"{done} of {rows} rows reviewed: {', '.join(parts)}")
