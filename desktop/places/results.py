"""Results: the table of a run, its evidence beside it, review by keyboard, names, groups and charts."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import QModelIndex, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from desktop.actions import Actions, offer_on_right_click
from desktop.place import Place
from desktop.results_layout import ResultsLayout
from desktop.results_model import ResultsModel
from desktop.results_review import ResultsReview
from desktop.results_table import ResultsTable
from desktop.rows_model import ROW_ROLE
from desktop.selected_rows import SelectedRows
from desktop.viewer import Viewer
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract import results
from engine.worker.contract.names import NamePlace
from engine.worker.contract.results import CellDetails, ColumnInfo, RunEntry, ShownRow, TableInfo

_FOLLOW_MILLISECONDS = 120
_EMPTY = "No results yet.\nAsk a question about the documents and run it: its answers are listed here."
_NO_ROWS = "This run found nothing: no row came out of it.\nLook at its ledger in Run to see why."
_CHANGED = (
    "Unless you had files read again, another program wrote to this case: compare it with a backup and with the "
    "manifests of earlier exports before you trust it. Export refuses it."
)
_NONE_FIT = "No row fits the filters. Show all rows again with Ctrl+Shift+E."
_SHOW_ALL = "Ctrl+Shift+E shows all rows."
_NO_PLACE = "This value has no place in a document."
_NO_CELL = ("No cell is chosen.", "Click a cell of the table first.")


class ResultsPlace(Place):
    """One run at a time."""

    name = "Results"
    icon_name = "results"

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self.model = ResultsModel(workspace.ask, workspace.client.forget, self)
        self.table = ResultsTable(self.model, workspace.settings)
        self.selection = SelectedRows(workspace, self.model, self.table, results.IDS)
        self.parts = ResultsLayout(workspace, self.table, lambda: self.model.selection, self)
        self.review = ResultsReview(workspace, self.model, self.table, self.selection, self.parts.progress)
        self.evidence, self.names, self.answers = self.parts.evidence, self.parts.names, self.parts.answers
        self.charts, self.groups = self.parts.charts, self.parts.groups
        self._note = ("", "")  # the run and the text of the note written last
        self._document = ""
        self._asked_again = False
        self._coming = ""  # the run whose table is on its way
        self._finding = ""  # the question where the current cell stands
        self._awaits_row = False  # what is beside the table follows the current row when it comes
        self._is_active = False
        self._follow = QTimer(self, interval=_FOLLOW_MILLISECONDS, singleShot=True)
        self._follow.timeout.connect(self._show_current)
        self._connect()

    @property
    def run(self) -> str:
        """Return the run that is shown, empty when none is."""
        return self.model.run

    def activate(self) -> None:
        """Bring everything up to date, and take the keyboard."""
        self._is_active = True
        self._enable_keys()
        self._ask_runs()
        self.model.refresh()
        self._refresh_pictures()
        self.parts.ledger.refresh()
        if self.parts.side_is_open and self.parts.rows_are_shown:
            self._follow.start()
        self.table.setFocus()

    def deactivate(self) -> None:
        """Give up questions, and leave the keys to other places."""
        self._is_active = False
        self._enable_keys()
        self._stop()

    def _enable_keys(self) -> None:
        """Have the keys for rows act only while the rows are seen."""
        self._hold_keys(on=self._is_active and self.parts.rows_are_shown)

    def _tab_changed(self) -> None:
        """Free the keys for rows beside charts; back at the rows, follow the current cell again."""
        self._enable_keys()
        if self.parts.rows_are_shown:
            self._follow.start()

    def _stop(self) -> None:
        """Give up what is on its way."""
        self._follow.stop()
        self._awaits_row = False
        self.workspace.client.forget(self._finding)
        beside = self.evidence, self.evidence.viewer, self.answers, self.answers.viewer, self.names
        for part in (self.model, *beside, *self.parts.pictures, self.parts.ledger):
            part.stop()

    def undo(self) -> None:
        """Take back the last step of the review."""
        self.review.undo()

    def redo(self) -> None:
        """Do the step of the review again that was taken back."""
        self.review.redo()

    def add_actions(self, actions: Actions) -> None:
        """Add what can be done with results."""

        def add(text: str, do: Any, shortcut: str, icon_name: str = "") -> QAction:
            return actions.add(text, do, menu="Results", shortcut=shortcut, icon_name=icon_name)

        review = self.review
        self._own_keys = [
            add("&Next row", lambda: self.table.move_row(1), "J", "next"),
            add("&Previous row", lambda: self.table.move_row(-1), "K", "previous"),
            add("&Accept the row", lambda: review.judge("accept"), "A", "check"),
            add("&Correct the cell", review.edit_current, "E", "edit"),
            add("&Reject the row", lambda: review.judge("reject"), "R", "reject"),
            add("N&ote on the row…", review.ask_note, "N", "note"),
            add("Take the &verdict back", lambda: review.judge("clear"), "U"),
        ]
        add("Acce&pt the cell", lambda: review.judge("accept", cell=True), "Ctrl+Shift+Y")
        add("Re&ject the cell", lambda: review.judge("reject", cell=True), "Ctrl+Shift+X")
        of_cells = [add("&Open the evidence", self.open_evidence, "Ctrl+E", "documents")]
        add("Show the ans&wers of the row", self.show_answers, "Ctrl+Alt+Q", "question")
        of_cells.append(add("Show the docu&ment in Documents", self.open_document, "Ctrl+Shift+D"))
        add("&Filter this column", self.table.focus_filter, "Ctrl+Shift+F", "search")
        add("&Show all rows", self.clear_filters, "Ctrl+Shift+E")
        of_cells.append(add("&Group by this column", self.group_by_current, "Ctrl+Shift+G"))
        add("F&old or unfold the group", self.fold_current, "Ctrl+Alt+G", "fold")
        add("Fold all groups", lambda: self.model.fold_all(on=True), "Ctrl+Alt+Z")
        add("Unfold all groups", lambda: self.model.fold_all(on=False), "Ctrl+Alt+U", "unfold")
        of_cells.append(add("&Hide this column", self.hide_current, "Ctrl+Shift+H"))
        add("Show all co&lumns", self.table.show_all_columns, "Ctrl+Shift+J")
        of_cells.append(add("P&in this column, or let it go", self.pin_current, "Ctrl+Shift+P", "pin"))
        add("Save revie&wed rows as right answers…", review.ask_gold, "Ctrl+Alt+W", "save")
        add("Where this na&me comes from", self.show_name, "Ctrl+M", "merge")
        add("Mer&ge the selected names", self.merge_selected, "Ctrl+Shift+M", "merge")
        parts = self.parts
        add("C&harts", lambda: parts.open_tab(parts.charts), "Ctrl+H", "chart")
        add("&Timeline of the rows", lambda: parts.open_tab(parts.timeline), "Ctrl+Alt+H")
        add("Who with w&hom: a network of the rows", lambda: parts.open_tab(parts.network), "Ctrl+Alt+K")
        add("Le&dger: what became of files and rows", lambda: parts.open_tab(parts.ledger), "Ctrl+Alt+J")
        offer_on_right_click(self.table, [*self._own_keys[2:], *of_cells])
        self._enable_keys()

    def show_run(self, run: str) -> None:
        """Show the results of a run."""
        self._coming = run
        self.parts.choose_run(run)
        self.parts.said.clear()
        self.parts.improve.hide()
        show = self.workspace.while_open(self._show_table)
        refused = self.workspace.while_open(partial(self._not_shown, run))
        self.workspace.ask(results.TABLE, show, refused, run=run)

    def open_evidence(self) -> None:
        """Open the evidence of the current cell beside the table."""
        if self.table.currentIndex().isValid():
            self.parts.open_side(self.evidence)
            self._show_current()

    def open_document(self) -> None:
        """Show in Documents the page that is open beside the table, else that on which the current cell stands."""
        viewer = self._page_beside()
        if viewer is not None and viewer.document:
            self.workspace.document_wanted.emit(viewer.document, viewer.page, viewer.line)
        else:
            self._find_document()

    def _page_beside(self) -> Viewer | None:
        """Return what shows a page beside the table, None while nothing does or another page is on its way."""
        side = next((part for part in (self.evidence, self.answers) if part is self.parts.side), None)
        return None if side is None or side.is_coming or self._follow.isActive() else side.viewer

    def _find_document(self) -> None:
        """Ask where the value of the current cell stands, and show that in Documents."""
        index = self.table.currentIndex()
        row, column = index.data(ROW_ROLE), self.model.column_of(index)
        if not isinstance(row, ShownRow) or column is None:
            self.workspace.said.emit(*_NO_CELL)
            return
        self.workspace.client.forget(self._finding)
        self._finding = self.workspace.ask(
            results.CELL, self._show_document, run=self.run, row=row.id, column=column.name
        )

    def _show_document(self, cell: CellDetails) -> None:
        place = next((place for place in cell.places if place.document), None)
        if place is None:
            self.workspace.said.emit(_NO_PLACE, "")
        else:
            self.workspace.document_wanted.emit(place.document, place.page, place.first_line)

    def show_answers(self) -> None:
        """Show what was answered of the current row."""
        if any(column.answer for column in self.model.columns) and self.table.currentIndex().isValid():
            self.parts.open_side(self.answers)
            self._show_current()
        else:
            self.workspace.said.emit("There are no answers.", "Only questions with a step Answer have them.")

    def show_name(self) -> None:
        """Show how the name in the current cell came about."""
        self.parts.open_side(self.names)
        self._show_current()

    def merge_selected(self) -> None:
        """Make one name of those in the selected cells: the current one's."""
        if not self._is_here():
            return
        cells = self.table.selectionModel().selectedIndexes()
        column = self.model.column_of(self.table.currentIndex())
        cells = [i for i in cells if i.data(ROW_ROLE) and self.model.column_of(i) == column]
        names = [str(i.data() or "") for i in cells]
        into = str(self.table.currentIndex().data() or "")
        if column is None or not column.resolved_by or len(set(names)) < 2:
            self.workspace.said.emit(
                "There are no names to merge.", "Select several names in a column whose names Redwell has joined."
            )
            return
        self.review.merge(column.name, names, into)

    def group_by_current(self) -> None:
        """Group by the column of the current cell."""
        if (column := self._column()) is not None:
            self.groups.choose(column.name)

    def fold_current(self) -> None:
        """Fold the group of the current row, or unfold it; its heading becomes the current row."""
        heading = self.model.heading_above(self.table.currentIndex().row())
        if heading >= 0:
            self.table.go_to(heading, 1)
            self.model.fold(heading)

    def hide_current(self) -> None:
        """Hide the column of the current cell."""
        if (column := self._column()) is not None:
            self.table.hide_column(column.name)

    def pin_current(self) -> None:
        """Pin the column of the current cell, or let it go."""
        if (column := self._column()) is not None:
            self.table.pin_column(column.name, on=column.name not in self.table.pinned_columns)

    def _column(self) -> ColumnInfo | None:
        """Return the column of the current cell, None where there is no current cell."""
        return self.model.column_of(self.table.currentIndex())

    def clear_filters(self) -> None:
        """Show all rows again."""
        self._document = ""
        self.table.clear_filters()
        self.parts.clear_choices()
        self._filter()

    def _connect(self) -> None:
        space = self.workspace
        space.case_opened.connect(lambda path: self._case_opened())
        space.case_changed.connect(self._case_changed)
        space.run_finished.connect(self._run_finished)
        space.results_wanted.connect(self._review)
        space.audit_wanted.connect(self._audit)
        space.client.problem.connect(lambda message, advice: self._do_not_wait())
        self.model.total_changed.connect(self._show_total)
        self.model.modelReset.connect(self._tell_shown)  # nothing is selected then, which Qt does not tell
        self.model.dataChanged.connect(lambda *changed: self._rows_came())
        self.model.loading_failed.connect(space.said)
        self.table.filtered.connect(self._filter)
        self.table.layout_changed.connect(self._tell_shown)
        self.table.layout_changed.connect(self._layout_changed)
        self.table.clicked.connect(self._clicked)
        self.table.activated.connect(self._open)
        self.table.selectionModel().currentChanged.connect(lambda now, before: self._follow.start())
        self.table.selectionModel().selectionChanged.connect(lambda now, before: self._tell_shown())
        self.review.said.connect(self.parts.said.setText)
        self.review.noted.connect(self._offer_change)
        self.parts.change_wanted.connect(self._change_question)
        self.parts.run_chosen.connect(self.show_run)
        self.parts.choice_changed.connect(self._filter)
        self.parts.side_changed.connect(self._follow.start)
        self.parts.tabs.currentChanged.connect(lambda place: self._tab_changed())
        self.evidence.closed.connect(self._close_side)
        self.answers.closed.connect(self._close_side)
        self.answers.asked.connect(self._wait_for_answer)
        self.names.place_wanted.connect(self._show_place)
        self.groups.picked.connect(self.table.set_filter)
        self.groups.grouped.connect(self.model.group_by)
        self.groups.fold_wanted.connect(lambda on: self.model.fold_all(on=on))
        self.charts.picked.connect(self._pick)
        self.parts.timeline.picked.connect(self._show_evidence)
        self.parts.network.picked.connect(self._show_evidence)

    def _case_opened(self) -> None:
        self._stop()
        self._do_not_wait()
        self._coming = ""
        self.answers.viewer.clear()  # the evidence does that itself
        self.model.can_edit = False  # what is being typed into a cell is of the case before
        self.model.clear()
        self.parts.clear()
        self.parts.show_hint("")  # whether there are results is told when the runs are here
        self._close_side()
        self.model.can_edit = not self.workspace.read_only
        if self.isVisible():  # else when it is entered: the documents are seen first
            self._ask_runs()

    def _case_changed(self, what: str) -> None:
        if what == "run":
            self._ask_runs()
        if what.partition(".")[0] in ("reviews", "names") and self.run:
            self.review.changed()
            self._refresh_pictures()
            self.answers.forget()
            if self.parts.side_is_open:
                self._follow.start()
            self.workspace.correction_made.emit()

    def _run_finished(self, run: str) -> None:
        self._ask_runs()
        if not (self._coming or self.run) or self._asked_again:
            self._asked_again = False
            self.show_run(run)

    def _offer_change(self, run: str, note: str) -> None:
        """Offer to change the question by a note that says what is wrong."""
        self._note = (run, note)
        self.parts.said.setText("The note is kept." if note else "The note was taken off.")
        self.parts.improve.setVisible(bool(note))

    def _change_question(self) -> None:
        run, note = self._note
        self.parts.improve.hide()
        self.workspace.note_wanted.emit(run, note, self.review.rejected() if run == self.run else [])

    def _review(self, run: str) -> None:
        """Show the rows of a run."""
        self.show_run(run)
        self.parts.open_tab(self.parts.rows)

    def _audit(self, run: str) -> None:
        """Show what became of all files and rows of a run."""
        self.show_run(run)
        self.parts.open_tab(self.parts.ledger)

    def _wait_for_answer(self) -> None:
        """Show the next run that ends: it is the one with the question that is asked again."""
        self._asked_again = True

    def _do_not_wait(self) -> None:
        """Show no run that ends: nothing was asked again, or it was refused."""
        self._asked_again = False

    def _ask_runs(self) -> None:
        if self.workspace.case:
            self.workspace.ask(results.RUNS, self.workspace.while_open(self._show_runs))

    def _show_runs(self, runs: list[RunEntry]) -> None:
        with_rows = [run for run in runs if run.rows is not None]
        self.parts.show_runs(with_rows, self._coming or self.run)
        if not with_rows:
            self.parts.show_hint(_EMPTY)
        elif (self._coming or self.run) not in {run.id for run in with_rows}:
            self.show_run(with_rows[0].id)

    def _show_table(self, table: TableInfo) -> None:
        if table.run != self._coming:  # another run was chosen since, or this one is shown already
            return
        self._coming = ""
        columns = table.columns
        self._document = ""
        self.answers.forget()
        self.parts.choose_run(table.run)
        self.model.show_run(table.run, columns)
        self.table.show_columns()
        self.parts.show_columns(table.run, columns)
        self.parts.show_new(table.new)
        self.model.group_by(self.groups.chosen)
        self.review.changed()
        self._tell_shown()
        if not table.rows:
            self.parts.show_hint(_NO_ROWS)
            self.evidence.clear()  # it would stand beside as if it were of this run
            self.names.clear("")
        self.workspace.ask(results.CHANGES, self.workspace.while_open(self._show_changes), run=table.run)

    def _show_changes(self, warning: str) -> None:
        """Warn of rows and lines that differ from what was recorded; nothing is shown where there are none."""
        if warning:
            self.workspace.said.emit(f"WARNING: {warning}", _CHANGED)

    def _not_shown(self, run: str, message: str, advice: str) -> None:
        if run == self._coming:  # else another one was chosen since
            self._coming = ""
            self.parts.choose_run(self.run)
        self.workspace.said.emit(message, advice)

    def _filter(self) -> None:
        only: dict[str, Any] = {"filters": self.table.filters()} if self.table.filters() else {}
        only |= self.parts.choices() | ({"document": self._document} if self._document else {})
        self.model.show_only(only)
        self._refresh_pictures()

    def _refresh_pictures(self) -> None:
        """Have what is shown of the rows besides the table counted anew."""
        for picture in self.parts.pictures:
            picture.refresh()

    def _show_evidence(self, row: str, column: str, inside: str) -> None:
        """Open the evidence of a cell that was picked elsewhere than in the table."""
        self._open_for_another()
        self.evidence.show_cell(self.run, row, column, inside)

    def _open_for_another(self) -> None:
        """Open the evidence for something else than the current cell, which it does not follow then."""
        self.parts.open_side(self.evidence)
        self._follow.stop()
        self._awaits_row = False

    def _pick(self, column: str, value: str, document: str) -> None:
        """Show the rows that a mark of a chart stands for; it counts those of one document where the table does."""
        self._document = document or self._document
        self.parts.open_tab(self.parts.rows)
        if value:
            self.table.set_filter(column, f"={value}")
        else:
            self._filter()

    def _layout_changed(self) -> None:
        if self.model.is_known:
            self._show_total(self.model.rowCount())

    def _show_total(self, total: int) -> None:
        hint = self._unseen_filters() if total else _NONE_FIT if self.run and self.model.is_filtered else ""
        self.parts.show_total(counted(self.model.selected, "row") if total else "", hint)
        if total and not self.table.currentIndex().isValid():
            self.table.go_to(0, 1)

    def _unseen_filters(self) -> str:
        """Say by what rows are filtered that is to be seen nowhere else, empty for nothing."""
        hidden = [each["column"] for each in self.table.filters() if each["column"] in self.table.hidden_columns]
        parts = ["Only rows of one document are shown."] if self._document else []
        parts += [f"Rows are also filtered by columns that are hidden: {', '.join(hidden)}."] if hidden else []
        return " ".join([*parts, _SHOW_ALL]) if parts else ""

    def _clicked(self, index: QModelIndex) -> None:
        """Fold or unfold a heading, and open what a cell tells of: nothing where it is the review."""
        if self.model.heading(index.row()) is not None:
            self.model.fold(index.row())
        elif index.column():
            self._open(index)

    def _open(self, index: QModelIndex) -> None:
        """Open the evidence of a cell, or the answer that it tells of; a heading has neither."""
        if self.model.heading(index.row()) is not None:
            return
        column = self.model.column_of(index)
        if column is not None and column.answer:
            self.show_answers()
        else:
            self.open_evidence()

    def _show_current(self) -> None:
        """Follow the current cell with what is open beside the table."""
        index = self.table.currentIndex()
        row, column = index.data(ROW_ROLE), self.model.column_of(index)
        self._awaits_row = index.isValid() and self.model.row(index.row()) is None
        if not self.parts.side_is_open or not isinstance(row, ShownRow) or column is None:
            return
        if self.parts.side is self.names:
            if column.resolved_by:
                self.names.show_name(self.run, column.name, str(index.data() or ""))
            else:
                self.names.clear(f"{column.name}: Redwell has not joined names in this column.")
        elif self.parts.side is self.answers:
            self.answers.show_row(self.run, row.id, column.name)
        else:
            self.evidence.show_cell(self.run, row.id, column.name)

    def _rows_came(self) -> None:
        """Follow the current cell where that waited for its row."""
        if self._awaits_row:
            self._follow.start()

    def _show_place(self, place: NamePlace) -> None:
        """Show a line that a name stands in, in place of the evidence of the current cell."""
        self._open_for_another()
        self.evidence.stop()
        self.evidence.show_place(place)

    def _close_side(self) -> None:
        for viewer in (self.evidence.viewer, self.answers.viewer):
            viewer.stop()
        self.parts.close_side()
        if self.isVisible():  # else the keyboard would go to a place that is not shown
            self.table.setFocus()

    def _tell_shown(self) -> None:
        """Let Export know what is chosen here."""
        hidden = self.table.hidden_columns
        self.workspace.shown_results = {
            "run": self.run,
            "selected": self.selection.question() if self.selection.count else None,
            "columns": [column.name for column in self.model.columns if column.name not in hidden],
        }

    def _is_here(self) -> bool:
        """Say whether all selected rows are here; have the others fetched, and tell a person of that."""
        refusal = self.model.refusal(self.selection.spans())
        if refusal is not None:
            self.workspace.said.emit(*refusal)
        return refusal is None
