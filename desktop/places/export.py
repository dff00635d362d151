"""Export: the results of a run as a file, with every option explained; it is written by the worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QButtonGroup,
    QFileDialog,
    QFormLayout,
    QGroupBox,
    QHBoxLayout,
    QLineEdit,
    QProgressBar,
    QScrollArea,
    QWidget,
)

from desktop.actions import Actions
from desktop.buttons import choice_box, offer, push_button
from desktop.check_boxes import CheckBox, RadioButton
from desktop.file_dialogs import save_dialog
from desktop.labels import SaidLabel, with_name
from desktop.layouts import REST, holder, in_column, in_row
from desktop.opening import open_outside
from desktop.permission import granted
from desktop.place import Place
from desktop.results_layout import run_text
from desktop.selected_rows import MOST_SELECTED
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract.events import Event, ResultsWritten
from engine.worker.contract.results import HIDDEN, IDS, RUNS, HiddenNote, RunEntry

FORMATS: Final = (
    ("csv", "CSV", "A plain table that every program reads. A column beside each value says where it was found."),
    ("xlsx", "Excel", "A workbook: results, a sheet with every quote and its place, and the ledger."),
    ("jsonl", "JSON lines", "One object a line with values, ids and places, for other programs."),
    ("pdf", "PDF report", "Each row with pictures of its pages, the lines marked, and the ledger on the last page."),
)
"""Suffix, title and explanation."""
_REVIEWS = (
    ("none", "Leave reviews out: what the model wrote"),
    ("beside", "Beside it: verdict, corrected value and note in columns of their own"),
    ("applied", "Corrected values in place of the model's, with verdict and note"),
)
_EMPTY = "There are no results to export yet. Ask a question about the documents and run it."


def known_suffix(path: str) -> str:
    """Return the suffix of a format that a path ends in, empty where it ends otherwise."""
    return next((suffix for suffix, *_ in FORMATS if path.lower().endswith(f".{suffix}")), "")


def with_suffix(path: str, suffix: str) -> str:
    """Give a file the suffix of a format in place of another's; what else is behind a dot is part of its name."""
    known = known_suffix(path)
    return f"{path[: -len(known) - 1] if known else path}.{suffix}"


class ExportPlace(Place):
    """A form, and what becomes of it."""

    name = "Export"
    icon_name = "export"

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self._is_ours = False
        self._written = ""
        self._wanted = ""  # the run to be offered, while the runs are on their way
        self._rows: tuple[str, ...] | None = ()  # those selected in Results; None while they are on their way
        self._make_options()
        self._make_end()
        boxes = (self._format_box(), self._what_box(), self._file_row())
        page = holder(*boxes, self.hidden_note, self._buttons(), self.told, REST, margins=None, spacing=10)
        area = QScrollArea(widgetResizable=True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(page)
        in_column(area, on=self, margins=(12, 6, 12, 8))
        workspace.job.changed.connect(self._show_job)
        workspace.job.finished.connect(self._finished)
        workspace.job.failed.connect(lambda message, advice: self._failed())
        workspace.client.told.connect(self._take)
        workspace.case_opened.connect(lambda path: self._case_opened())
        workspace.export_wanted.connect(self._offer)

    def activate(self) -> None:
        """Offer the runs there are, and what is chosen in Results."""
        self._wanted = self._wanted or self.workspace.shown_results.get("run", "")
        self._ask_runs()
        self._ask_rows()
        self._enable()
        self.runs.setFocus()

    def add_actions(self, actions: Actions) -> None:
        """Add exporting to the menu."""
        actions.add("&Export…", self.show_export, menu="Results", shortcut="Ctrl+Alt+X", icon_name="export")

    def show_export(self) -> None:
        """Export with the options as they are, or ask where to while no file is named."""
        if self.isVisible() and self.file.text().strip():
            self.export()
        elif self.isVisible():
            self.ask_file()
        else:
            self.workspace.said.emit("Choose what to export in Export.", "Then Ctrl+Alt+X writes it.")

    @property
    def suffix(self) -> str:
        """Return the format that is chosen, by its suffix without the dot."""
        return FORMATS[self._formats.checkedId()][0]

    def choose_format(self, suffix: str) -> None:
        """Choose a format by its suffix."""
        self._formats.button([known for known, *_ in FORMATS].index(suffix)).setChecked(True)

    def export(self, **allowed: Any) -> None:
        """Have the worker write the file; `allowed` is what a person allows once, as keys of the command."""
        if not self.file.text().strip() or not self.runs.currentData():
            return
        if self.workspace.job.is_going:
            self.workspace.said.emit(
                "Redwell is busy with something else.", "Wait until it has finished, or stop it; then export."
            )
            return
        if (refusal := self._refusal()) is not None:
            self.workspace.said.emit(*refusal)
            return
        path = with_suffix(self.file.text().strip(), self.suffix)
        if Path(path).parts[0] != "~":  # a mere name is of a file beside the case
            path = str(Path(self.workspace.case).parent / path)
        self.file.setText(path)
        parameters: dict[str, Any] = {
            "case": self.workspace.case,
            "run": self.runs.currentData(),
            "out": [path],
            "form": "long" if self.long_form.isChecked() and self.suffix != "pdf" else "wide",
            "reviews": self.reviews.currentData(),
            "drop_rejected": self.drop_rejected.isChecked(),
            "despite_changes": self.despite_changes.isChecked(),
            "bom": self.bom.isChecked(),
            "lists": "joined" if self.joined.isChecked() else "json",
        }
        if self.only_columns.isChecked():
            parameters["columns"] = self.workspace.shown_results["columns"]
        if self.only_selected.isChecked():
            parameters["rows"] = self._selected
        if self.workspace.job.start("export", **parameters, **allowed):
            self._is_ours = True
            self._written = ""
            self.told.setText("Writing…")
            self._show_job()

    @property
    def _is_shown(self) -> bool:
        """Say whether the run that is chosen is the one that Results shows."""
        return bool(self.runs.currentData()) and self.workspace.shown_results.get("run") == self.runs.currentData()

    @property
    def _selected(self) -> tuple[str, ...]:
        """Return the rows of the chosen run that are selected in Results."""
        return (self._rows or ()) if self._is_shown else ()

    def _refusal(self) -> tuple[str, str] | None:
        """Say why the parts that are ticked cannot be exported, and what to do; None where they can."""
        if self.only_selected.isChecked() and not self._selected:
            why, do = "No row of this run is selected in Results", "Select rows there, or export all rows"
        elif self.only_selected.isChecked() and len(self._selected) > MOST_SELECTED:
            why, do = f"More than {MOST_SELECTED:,} rows are selected in Results", "Select fewer, or export all rows"
        elif self.only_columns.isChecked() and not self._is_shown:
            why, do = "Results shows the columns of another run", "Show this run there, or export all columns"
        else:
            return None
        return f"{why}. Nothing was written.", f"{do}."

    def ask_file(self) -> QFileDialog:
        """Ask where the file is to be written."""
        suffix, title, _ = FORMATS[self._formats.checkedId()]
        dialog = save_dialog(self, f"Export as {title}", self.file.setText, f"{title} (*.{suffix})")
        dialog.open()
        return dialog

    def _make_options(self) -> None:
        self.runs = choice_box("Run to export")
        self.runs.currentIndexChanged.connect(lambda index: self._choose_run())
        self.hidden_note = SaidLabel("Warning about hidden text", wraps=True)
        self.hidden_note.setForegroundRole(QPalette.ColorRole.BrightText)
        bold = self.hidden_note.font()
        bold.setBold(True)
        self.hidden_note.setFont(bold)
        self.hidden_note.hide()
        self.only_selected = CheckBox("Only the rows selected in Results")
        self.only_columns = CheckBox("Only the columns shown in Results")
        for box in (self.only_selected, self.only_columns):
            box.toggled.connect(lambda on: self._enable())
        self.wide_form = RadioButton("One row for each result (wide)")
        self.long_form = RadioButton("One row for each place that a value was found in (long)")
        self.wide_form.setChecked(True)
        self.reviews = choice_box("Reviews", _REVIEWS)
        self.reviews.setCurrentIndex(2)
        self.drop_rejected = CheckBox("Leave out rows that were rejected")
        self.drop_rejected.setChecked(True)
        self.despite_changes = CheckBox("Export even if another program changed the case, with a warning in every row")
        self.bom = CheckBox("Make accents readable in Excel on Windows (marks the file as UTF-8)")
        self.joined = CheckBox("Write lists as plain text, with ; between the entries")
        self.joined.setChecked(True)

    def _format_box(self) -> QGroupBox:
        box = QGroupBox("Format")
        self._formats = QButtonGroup(self)
        for number, (suffix, title, explained) in enumerate(FORMATS):
            button = RadioButton(f"{title} (.{suffix}): {explained}")
            self._formats.addButton(button, number)
        in_column(*self._formats.buttons(), on=box, margins=None)
        self._formats.button(0).setChecked(True)
        self._formats.idToggled.connect(lambda number, on: self._format_chosen() if on else None)
        return box

    def _what_box(self) -> QGroupBox:
        box = QGroupBox("What")
        form = QFormLayout(box)
        form.addRow("Results of", self.runs)
        rows = (self.only_selected, self.only_columns, self.drop_rejected, self.despite_changes)
        form.addRow("Parts", in_column(*rows))
        form.addRow("Form", in_column(self.wide_form, self.long_form))
        form.addRow("Reviews", self.reviews)
        form.addRow("Text", in_column(self.bom, self.joined))
        return box

    def _file_row(self) -> QGroupBox:
        box = QGroupBox("File")
        self.file = with_name(QLineEdit(placeholderText="Where to write it", clearButtonEnabled=True), "File to write")
        self.file.textChanged.connect(lambda text: self._file_typed())
        in_row((self.file, 1), push_button("folder", "Choose…", self.ask_file), on=box, margins=None)
        return box

    def _make_end(self) -> None:
        self.start = push_button("export", "Export", self.export)
        self.start.setMinimumHeight(34)
        self.cancel = push_button("cancel", "Cancel", self.workspace.job.cancel)
        self.open_file = push_button("documents", "Open the file", lambda: self._open(self._written))
        self.open_folder = push_button("folder", "Open its folder", lambda: self._open(str(Path(self._written).parent)))
        self.bar = with_name(QProgressBar(), "Progress of the export")
        self.told = SaidLabel("What was exported", wraps=True)

    def _buttons(self) -> QHBoxLayout:
        row = in_row(self.start, self.cancel, self.bar, self.open_file, self.open_folder, REST)
        for part in (self.cancel, self.bar, self.open_file, self.open_folder):
            part.hide()
        return row

    def _show_runs(self, runs: list[RunEntry]) -> None:
        wanted, self._wanted = self._wanted or None, ""
        offer(self.runs, [(run.id, run_text(run)) for run in runs if run.rows is not None], wanted)
        if not self.runs.count():
            self.told.setText(_EMPTY)
        elif self.told.text() == _EMPTY:
            self.told.clear()
        if self.runs.count() and not self.file.text():
            case = Path(self.workspace.case)
            self.file.setText(str(case.with_name(f"{case.stem}.{self.suffix}")))
        self._enable()

    def _offer(self, run: str) -> None:
        self._wanted = run
        self._ask_runs()

    def _ask_runs(self) -> None:
        self.workspace.ask(RUNS, self.workspace.while_open(self._show_runs))

    def _ask_rows(self) -> None:
        """Find out which rows are selected in Results: not all of them may be there."""
        selected = self.workspace.shown_results.get("selected")
        self._rows = None if selected else ()
        if selected:
            take = self.workspace.while_open(self._take_rows)
            self.workspace.ask(IDS, take, self.workspace.while_open(self._no_rows), **selected)

    def _take_rows(self, rows: tuple[str, ...]) -> None:
        self._rows = rows
        self._enable()

    def _no_rows(self, message: str, advice: str) -> None:
        self._take_rows(())
        self.workspace.said.emit(message, advice)

    def _choose_run(self) -> None:
        """Ask whether the run's values rest on text that pages do not show."""
        self.hidden_note.hide()
        if run := self.runs.currentData():
            self.workspace.ask(HIDDEN, self.workspace.while_open(self._show_hidden), run=run)
        self._enable()

    def _show_hidden(self, note: HiddenNote) -> None:
        if note.run == self.runs.currentData():
            self.hidden_note.setText(note.text and f"{note.text}.")
            self.hidden_note.setVisible(bool(note.text))

    def _format_chosen(self) -> None:
        if path := self.file.text().strip():
            self.file.setText(with_suffix(path, self.suffix))
        self._enable()

    def _file_typed(self) -> None:
        """Choose the format that the name of the file ends in."""
        suffix = known_suffix(self.file.text().strip())
        if suffix and suffix != self.suffix:
            self.choose_format(suffix)
        self._enable()

    def _enable(self) -> None:
        selected = len(self._selected)
        self.only_selected.setText(f"Only the rows selected in Results ({selected:,})")
        self.only_selected.setEnabled(selected > 0 or self.only_selected.isChecked())  # a tick can be taken off
        self.only_columns.setEnabled(self._is_shown or self.only_columns.isChecked())
        is_report = self.suffix == "pdf"
        self.long_form.setEnabled(not is_report)
        self.wide_form.setEnabled(not is_report)
        self.bom.setEnabled(self.suffix == "csv")
        self.joined.setEnabled(self.suffix in ("csv", "xlsx"))
        ready = self.runs.count() > 0 and bool(self.file.text().strip()) and self._rows is not None
        self.start.setEnabled(ready and not self.workspace.job.is_going)

    def _show_job(self) -> None:
        job = self.workspace.job
        going = self._is_ours and job.is_going
        self.cancel.setVisible(going)
        self.cancel.setEnabled(job.state == "going")
        self.bar.setVisible(going)
        self.bar.setRange(0, job.progress.total)
        self.bar.setValue(job.progress.done)
        self._enable()

    def _take(self, event: Event) -> None:
        if isinstance(event, ResultsWritten) and self._is_ours:
            self._written = event.path
            notes = "".join(f"\n{note}" for note in event.notes)
            self.told.setText(f"Written: {event.path}, {counted(event.rows, 'row')}.{notes}")

    def _finished(self, code: int) -> None:
        if not self._is_ours:
            return
        self._is_ours = False
        if not self._written:
            self.told.setText("Cancelled: nothing was written.")
        for button in (self.open_file, self.open_folder):
            button.setVisible(bool(self._written))
        self._show_job()

    def _failed(self) -> None:
        if self._is_ours and not self.workspace.job.is_going:
            self._is_ours = False
            self.told.setText("Nothing was written.")
            self._show_job()
            if (refusal := self.workspace.job.refusal) is not None:
                allow = self.workspace.while_open(lambda: self.export(**granted(refusal, {})))
                self.workspace.permission_wanted.emit(refusal, allow)

    def _case_opened(self) -> None:
        self.runs.clear()
        self.file.clear()
        self.told.clear()
        self._written, self._wanted, self._rows = "", "", ()
        for button in (self.open_file, self.open_folder):
            button.hide()
        if self.isVisible():
            self._ask_runs()

    def _open(self, path: str) -> None:
        if not open_outside(path):
            self.workspace.said.emit(f"This system has no program that opens {path}.", "Open it yourself.")
