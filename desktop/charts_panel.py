"""Charts of the rows that the table shows: choose what is counted; picking a bar filters the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtPrintSupport import QPrintDialog, QPrinter
from PySide6.QtWidgets import QDialog

from desktop.buttons import choice_box, push_button
from desktop.chart_view import Chart, ChartView, Mark
from desktop.client import Answer
from desktop.layouts import in_column
from desktop.rows_panel import RowsPanel, labelled, left_out, naming_columns, scrolled
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract import Query
from engine.worker.contract.charts import MATRIX, TIME, VALUES, Bars, NamedMatrix, OverTime
from engine.worker.contract.results import ColumnInfo

KINDS = (
    ("values", "Values by number of documents"),
    ("rows", "Values by number of rows"),
    ("year", "Over the years"),
    ("month", "Over the months"),
    ("matrix", "Documents and values"),
)


class ChartsPanel(RowsPanel):
    """Asks the worker to count, and shows the chart. `selection` returns which rows are counted."""

    what = "chart"
    formats = "Pictures (*.png);;PDF (*.pdf)"
    picked = Signal(str, str, str)
    """A mark was picked: column, value, and document (may be empty)."""

    def __init__(self, workspace: Workspace, selection: Callable[[], dict[str, Any]]) -> None:
        super().__init__(workspace, selection)
        self._columns: Sequence[ColumnInfo] = ()
        self._counted = ""  # the column whose values the chart shows; another one may be on its way
        self.kind = choice_box("Kind of chart", KINDS)
        self.column = choice_box("Column of the chart")
        self.column.setMinimumContentsLength(14)
        self.kind.currentIndexChanged.connect(lambda index: self._kind_chosen())
        self.column.activated.connect(lambda index: self.refresh())
        self.chart = ChartView()
        self.chart.picked.connect(lambda value, document: self.picked.emit(self._counted, value, document))
        top = labelled((("Show", self.kind), ("of", self.column)))
        top.addWidget(push_button("print", "Print…", self.ask_to_print))
        top.addWidget(push_button("export", "Save picture…", self.ask_to_save))
        area = scrolled(self.chart, "Chart")
        self.chart.reached.connect(area.ensureVisible)
        in_column(top, (area, 1), on=self, margins=(6, 6, 6, 4))

    def show_run(self, run: str, columns: Sequence[ColumnInfo]) -> None:
        """Offer the columns of another run, the one that names something first."""
        self.stop()
        self._run, self._columns = run, columns
        self.column.clear()
        self.column.addItems([column.name for column in columns])
        self._choose_column()
        self.chart.show_chart(Chart("bars", ""))
        self.refresh()

    def refresh(self) -> None:
        """Count anew while it is seen."""
        if not self.can_ask:
            return
        self.stop()
        parameters: dict[str, Any] = {"run": self._run, "column": self.column.currentText(), "only": self._selection()}
        match str(self.kind.currentData()):
            case "values":
                self._ask(VALUES, self._show_values, unit="documents", **parameters)
            case "rows":
                self._ask(VALUES, self._show_values, unit="rows", **parameters)
            case "matrix":
                self._ask(MATRIX, self._show_matrix, **parameters)
            case period:
                self._ask(TIME, self._show_time, period=period, **parameters)

    def save(self, path: str) -> None:
        """Write the chart to a file, .png or .pdf."""
        self.say_written(path, self.chart.save(path))

    def ask_to_print(self) -> QPrintDialog:
        """Ask for a printer, and print."""
        printer = QPrinter(QPrinter.PrinterMode.HighResolution)
        dialog = QPrintDialog(printer, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(lambda: self.chart.print_to(printer))
        QDialog.open(dialog)
        return dialog

    def _ask(self, query: Query[Answer], then: Callable[[Answer], None], **parameters: Any) -> None:
        self._question = self._workspace.ask(query, then, **parameters)

    def _kind_chosen(self) -> None:
        self._choose_column()
        self.refresh()

    def _choose_column(self) -> None:
        """Go to a column that this kind of chart is for, unless the one that is chosen may be meant."""
        over_time = self.kind.currentData() in ("year", "month")
        dates = [column.name for column in self._columns if column.kind == "date"]
        named = naming_columns(self._columns)
        if over_time and dates and self.column.currentText() not in dates:
            self.column.setCurrentText(dates[0])
        elif not over_time and named and (self.column.currentText() in dates or self.column.currentIndex() <= 0):
            self.column.setCurrentText(named[0])

    def _show_values(self, counts: Bars) -> None:
        note = left_out([(counts.others, "more value")])
        marks = tuple(Mark(bar.label, bar.count, bar.label) for bar in counts.bars)
        self._show(Chart("bars", f"{counts.column} by number of {counts.unit}", marks, note=note), counts.column)

    def _show_time(self, series: OverTime) -> None:
        marks = tuple(Mark(bar.label, bar.count, "") for bar in series.bars)
        parts = (
            (series.undated, "without a date" if series.period == "year" else "without a month"),
            (series.earlier, "of earlier years, which are left out"),
        )
        note = " ".join(f"{counted(rows, 'row')} {what}." for rows, what in parts if rows)
        if not marks:
            note = f"No cell of {series.column} is a date. Choose another column. {note}"
        self._show(Chart("columns", f"{series.column} by {series.period}", marks, note=note), series.column)

    def _show_matrix(self, named: NamedMatrix) -> None:
        matrix, files = named.matrix, named.files
        marks = tuple(
            Mark(f"{value} in {file}", count, value, document)
            for document, file, counts in zip(matrix.documents, files, matrix.counts, strict=True)
            for value, count in zip(matrix.values, counts, strict=True)
        )
        note = left_out(((matrix.other_values, "more value"), (matrix.other_documents, "more document")))
        title = f"Documents and {matrix.column}"
        self._show(Chart("matrix", title, marks, files, matrix.values, note), matrix.column)

    def _show(self, chart: Chart, column: str) -> None:
        self._counted = column
        self.chart.show_chart(chart)
        self.drawn.emit()
