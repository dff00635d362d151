"""How far a run is: its operators, what it takes, the latest rows, and why rows were left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QTabWidget, QWidget

from desktop.answer_cards import AskBack
from desktop.client import Ask
from desktop.labels import SaidLabel, with_name
from desktop.layouts import in_column, split
from desktop.paged_model import Page, PagedModel
from desktop.rows_model import ROW_ROLE, Column, RowsModel
from desktop.tables import make_table, stretch_section
from desktop.words import counted, duration_text, size_text
from desktop.workspace import Workspace
from engine.worker.contract import run as contract
from engine.worker.contract.run import AskedBack, LiveRows, OperatorLine, ReasonLine, RunProgress

_ROWS_MILLISECONDS = 1000
_FIELD_WIDTH = 170
_SHORT = {"rejected": "left out", "failed": "failed"}


def _number(count: int) -> str:
    return f"{count:,}" if count else ""


OPERATOR_COLUMNS: Sequence[Column[OperatorLine]] = (
    Column("Step", lambda row: row.name),
    Column("Kind", lambda row: row.kind),
    Column("Done", lambda row: f"{row.done:,}", is_right=True),
    Column("Left", lambda row: f"{row.total - row.done:,}" if row.total > row.done else "", is_right=True),
    Column("Left out", lambda row: _number(row.rejected), is_right=True),
    Column("Failed", lambda row: _number(row.failed), is_right=True),
    Column("Rows/min", lambda row: f"{row.per_minute:,.1f}" if row.per_minute else "", is_right=True),
    Column(
        "Time left",
        lambda row: "done" if row.is_finished else duration_text(row.left_seconds) if row.left_seconds else "",
        is_right=True,
    ),
)
REASON_COLUMNS: Sequence[Column[ReasonLine]] = (
    Column("Rows", lambda row: f"{row.rows:,}", is_right=True),
    Column("Step", lambda row: row.operator),
    Column("What", lambda row: _SHORT.get(row.fate, row.fate)),
    Column("Reason", lambda row: row.reason),
)


class LiveRowsModel(PagedModel[Mapping[str, str]]):
    """The latest rows of an operator, the last first; the columns are the fields of the rows that came."""

    def __init__(self, ask: Ask, forget: Callable[[str], None], parent: QObject | None = None) -> None:
        super().__init__(ask, forget, contract.ROWS, (), parent)
        self.operator = ""
        """Whose rows are wanted, empty for the last operator that has some."""
        self.shown = ""
        """Whose rows these are."""

    def question(self) -> Mapping[str, Any]:
        """Say whose rows."""
        return {"operator": self.operator}

    def show_operator(self, name: str) -> None:
        """Show the rows of another operator."""
        if name != self.operator:
            self.operator = name
            self.restart()

    def taken(self, result: Page[Mapping[str, str]]) -> None:
        """Show the fields that the rows have."""
        assert isinstance(result, LiveRows)
        self.shown = result.operator
        names = list(dict.fromkeys(name for row in result.rows for name in row))
        if names and names != [column.title for column in self.table_columns]:
            self.beginResetModel()
            self.table_columns = tuple(Column(name, partial(_field, name)) for name in names)
            self.endResetModel()


def _field(name: str, row: Mapping[str, str]) -> str:
    return row.get(name, "")


class RunView(QWidget):
    """Draws the latest RunProgress of the job; the rows are fetched beside it."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self.operators = RowsModel(OPERATOR_COLUMNS, self)
        self.reasons = RowsModel(REASON_COLUMNS, self)
        self.rows = LiveRowsModel(workspace.client.ask, workspace.client.forget, self)
        self.meters = SaidLabel("What the run takes", wraps=True)
        self.operator_table = make_table(self.operators, "Steps of the run")
        self.operator_table.selectionModel().currentRowChanged.connect(lambda now, before: self._choose_operator())
        self.row_table = make_table(self.rows, "Latest rows")
        self.row_table.horizontalHeader().setDefaultSectionSize(_FIELD_WIDTH)
        self.row_table.horizontalHeader().setStretchLastSection(True)
        self.reason_table = make_table(self.reasons, "Why rows were left out")
        self.tabs = with_name(QTabWidget(), "Latest rows, why rows were left out, and what is asked back")
        self.tabs.addTab(self.row_table, "Latest rows")
        self.tabs.addTab(self.reason_table, "Left out")
        self.asked_back = AskedBackPanel(workspace)
        self.tabs.addTab(self.asked_back, "Questions to you")
        self.tabs.setTabVisible(2, False)
        self._refresh = QTimer(self, interval=_ROWS_MILLISECONDS, singleShot=True)
        self._refresh.timeout.connect(self._refresh_rows)
        self._lay_out()
        workspace.job.changed.connect(self._show)

    def begin(self) -> None:
        """Show another run."""
        self.operators.show_rows([])
        self.reasons.show_rows([])
        self._show_asked_back("", ())
        self.meters.setText("")
        self.rows.operator = ""
        self.rows.begin()

    def stop(self) -> None:
        """Give up what is on its way."""
        self._refresh.stop()
        self.rows.stop()

    def _lay_out(self) -> None:
        stretch_section(self.operator_table.horizontalHeader(), 0)
        stretch_section(self.reason_table.horizontalHeader(), 3)
        in_column(self.meters, (split((self.operator_table, self.tabs), (200, 260), upright=True), 1), on=self)

    def _show(self) -> None:
        run = self._space.job.run
        if self._space.job.name != "run" or run is None:
            return
        self.meters.setText(meters_text(run))
        self.operators.show_rows(run.operators)
        others = run.other_reasons
        more = ReasonLine("", "", "for other reasons: see Ledger in Results", others)
        self.reasons.show_rows([*run.reasons, *([more] if others else [])])
        left_out = sum(reason.rows for reason in self.reasons.rows)
        self.tabs.setTabText(1, f"Left out ({left_out:,})" if left_out else "Left out")
        is_here = self._space.job.given.get("case") == self._space.case  # else it would be answered in another case
        self._show_asked_back(run.run_id, run.asked_back if is_here else ())
        if not self._refresh.isActive():
            self._refresh.start()

    def _show_asked_back(self, run: str, asked: Sequence[AskedBack]) -> None:
        self.asked_back.show_questions(run, asked)
        self.tabs.setTabVisible(2, bool(asked))
        self.tabs.setTabText(2, f"Questions to you ({len(asked)})")

    def _refresh_rows(self) -> None:
        if self.isVisible():
            self.rows.refresh()
            shown = self.rows.shown
            self.tabs.setTabText(0, f"Latest rows of {shown}" if shown else "Latest rows")

    def _choose_operator(self) -> None:
        row = self.operator_table.currentIndex().data(ROW_ROLE)
        if row is not None:
            self.rows.show_operator(row.name)


def meters_text(run: RunProgress) -> str:
    """Write in one line what a run takes and how fast it is."""
    parts = [f"{duration_text(run.elapsed_seconds)} so far"]
    if run.files_done < run.files_total:
        left = run.reading_left_seconds
        about = f" (about {duration_text(left)} left for reading)" if left else ""
        parts.append(f"{run.files_done:,} of {counted(run.files_total, 'file')} read{about}")
    if run.loading:
        parts.append(f"loading {run.loading}")
    calls = run.calls_made + run.calls_from_cache
    if calls:
        cached = f" ({run.calls_from_cache:,} kept from before)" if run.calls_from_cache else ""
        parts.append(f"{counted(calls, 'reply', 'replies')}{cached}")
    if run.read_per_second or run.written_per_second:
        parts.append(f"{run.read_per_second:,.0f} tokens/s read, {run.written_per_second:,.1f} written")
    if run.memory_bytes:
        parts.append(f"{size_text(run.memory_bytes)} of memory")
    return ", ".join(parts)


COLUMNS: Sequence[Column[AskedBack]] = (
    Column("Rows", lambda row: f"{row.rows:,}", is_right=True),
    Column("Question", lambda row: row.question),
    Column("Question to you", lambda row: row.text),
)


class AskedBackPanel(QWidget):
    """The questions back of one run of operators, and a field to answer the chosen one."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._run = ""
        self.model = RowsModel(COLUMNS, self)
        self.table = make_table(self.model, "Questions back")
        stretch_section(self.table.horizontalHeader(), len(COLUMNS) - 1)
        self.table.selectionModel().currentRowChanged.connect(lambda now, before: self._chosen())
        self.ask_back = AskBack()
        self.ask_back.said.connect(self._clarify)
        in_column((self.table, 1), self.ask_back, on=self, margins=(0, 0, 0, 4))
        self.ask_back.show_question("")

    def show_questions(self, run: str, asked: Sequence[AskedBack]) -> None:
        """Show what a run asks back so far; what is chosen stays so."""
        chosen = self._key(self._current())
        self._run = run
        if list(asked) == self.model.rows:
            return
        self.model.show_rows(list(asked))
        place = next((n for n, row in enumerate(asked) if self._key(row) == chosen), 0)
        if asked:
            self.table.selectRow(place)
        self._chosen()

    def _current(self) -> AskedBack | None:
        row: AskedBack | None = self.table.currentIndex().data(ROW_ROLE)
        return row

    def _key(self, row: AskedBack | None) -> tuple[str, ...]:
        return () if row is None else (row.operator, row.question, row.text)

    def _chosen(self) -> None:
        row = self._current()
        self.ask_back.show_question(row.text if row is not None else "")

    def _clarify(self, said: str, document: str) -> None:
        if row := self._current():
            self._workspace.clarify_wanted.emit(self._run, row.operator, row.question, said, document)
