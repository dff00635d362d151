"""The rows that the table shows, by date: choose the dates and what names an entry; a click opens the evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QSignalBlocker, QSize, Signal

from desktop.buttons import choice_box, push_button
from desktop.layouts import in_column
from desktop.pictures import PictureWriter
from desktop.rows_panel import RowsPanel, labelled, left_out, naming_columns, scrolled
from desktop.timeline_view import TimelineDrawing, TimelineView
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract.results import ColumnInfo
from engine.worker.contract.timeline import SAVE, SHOW, ShownTimeline

_PICTURE_WIDTH = 800


class TimelinePanel(RowsPanel):
    """Asks the worker for the rows by date. `selection` returns which rows are meant."""

    what = "timeline"
    formats = "Pictures (*.png);;Drawings (*.svg);;Tables (*.csv)"
    picked = Signal(str, str, str)
    """An entry was picked: row, column of the date, and where in the cell it stands."""

    def __init__(self, workspace: Workspace, selection: Callable[[], dict[str, Any]]) -> None:
        super().__init__(workspace, selection)
        self.column = choice_box("Column of the dates")
        self.label = choice_box("Column that names an entry")
        for box in (self.column, self.label):
            box.setMinimumContentsLength(12)
            box.activated.connect(lambda index: self.refresh())
        self.view = TimelineView()
        self._dated_by = ""  # the column whose dates are shown; another one may be on its way
        self.view.picked.connect(lambda row, path: self.picked.emit(row, self._dated_by, path))
        self.pictures = PictureWriter(self)
        self.pictures.written.connect(self._say_written)
        self._area = scrolled(self.view, "Timeline")
        self.view.reached.connect(lambda height: self._area.ensureVisible(0, height, 0, 60))
        top = labelled((("Dates of", self.column), ("named by", self.label)))
        self._save = push_button("export", "Save…", self.ask_to_save)
        top.addWidget(self._save)
        in_column(top, (self._area, 1), on=self, margins=(6, 6, 6, 4))

    def show_run(self, run: str, columns: Sequence[ColumnInfo]) -> None:
        """Offer the columns of another run; the worker says which hold dates."""
        self.stop()
        self._run = run
        self.column.clear()
        self.label.clear()
        self.label.addItems([column.name for column in columns])
        if named := naming_columns(columns):
            self.label.setCurrentText(named[0])
        self.view.show_timeline(TimelineDrawing(""))
        self.refresh()

    def refresh(self) -> None:
        """Ask anew while it is seen."""
        if not self.can_ask:
            return
        self.stop()
        self._question = self._workspace.ask(SHOW, self._take, label=self.label.currentText(), **self._given())

    def save(self, path: str) -> None:
        """Write a picture (.png or .svg), or all its rows as a table (.csv)."""
        if path.lower().endswith(".csv"):

            def written(rows: int) -> None:
                self._workspace.said.emit(f"The timeline is in {path}: {counted(rows, 'row')}.", "")

            self._workspace.ask(SAVE, written, file=path, **self._given())
        else:
            size = QSize(max(_PICTURE_WIDTH, self.view.width()), self.view.drawing.height)
            self.pictures.write(self.view.drawing, path, size, self.view.font())

    def _given(self) -> dict[str, Any]:
        return {"run": self._run, "column": self.column.currentText(), "only": self._selection()}

    def _say_written(self, path: str, is_there: bool) -> None:
        self.say_written(path, is_there, "Choose another place, or .svg if it is long.")

    def _take(self, timeline: ShownTimeline) -> None:
        self._dated_by = timeline.column
        offered = timeline.columns if timeline.column in timeline.columns else (timeline.column, *timeline.columns)
        with QSignalBlocker(self.column):
            self.column.clear()
            self.column.addItems([column for column in offered if column])
            self.column.setCurrentText(timeline.column)
        self.column.setEnabled(bool(timeline.column))
        self._save.setEnabled(bool(timeline.entries or timeline.undated))
        parts = ((timeline.other_entries, "more date"), (timeline.other_undated, "more row"))
        note = left_out(parts, ": filter the rows, or save a table")
        title = f"Rows by {timeline.column}" if timeline.column else "No column of this table holds dates."
        moments = (*timeline.entries, *timeline.undated)
        drawing = TimelineDrawing(title, moments, len(timeline.entries), note, row=self.view.row)
        self.view.show_timeline(drawing)
        self.drawn.emit()
