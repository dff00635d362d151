"""The ledger of a run in Results: sums of files and of each operator, and below what failed or was left out, why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QWidget

from desktop.buttons import choice_box
from desktop.labels import SaidLabel, plain_label
from desktop.layouts import REST, holder, in_column, in_row, split
from desktop.paged_model import PagedModel
from desktop.rows_model import ROW_ROLE, Column, RowsModel
from desktop.tables import make_table, stretch_section
from desktop.words import counted
from desktop.workspace import Workspace
from engine.worker.contract import ledger
from engine.worker.contract.ledger import LedgerEntry, LedgerSums, OperatorSums

_FATES: Final = (("failed", "Failed"), ("rejected", "Left out"))

OPERATOR_COLUMNS: Final[Sequence[Column[OperatorSums]]] = (
    Column("Step", lambda row: row.operator),
    Column("Rows in", lambda row: f"{row.rows_in:,}", is_right=True),
    Column("Done", lambda row: f"{row.output:,}", is_right=True),
    Column("Left out", lambda row: f"{row.rejected:,}", is_right=True),
    Column("Failed", lambda row: f"{row.failed:,}", is_right=True),
    Column("Rows out", lambda row: f"{row.rows_out:,}", is_right=True),
)


def _column(title: str, text: Callable[[LedgerEntry], str], width: int = 0) -> Column[LedgerEntry]:
    """Make a column of texts on one line; the tool tip has all lines."""
    return Column(title, lambda row: " ".join(text(row).split()), tip=text, width=width)


_ENTRY_COLUMNS: Final = (
    _column("What", lambda row: row.name, 130),
    _column("Step", lambda row: row.operator, 110),
    _column("Why", lambda row: row.reason, 270),
    _column("What to do", lambda row: row.advice, 200),
    _column("What the model said", lambda row: row.reply),
)


class LedgerModel(PagedModel[LedgerEntry]):
    """What failed, or what was left out, of one run."""

    run, fate = "", "failed"

    def question(self) -> Mapping[str, Any]:
        """Say what of which run."""
        return {"run": self.run, "fate": self.fate}


class LedgerPanel(QWidget):
    """Asks when it is seen. A row that stands in a document leads to it."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._space = workspace
        self._run, self._question = "", ""
        self.sums = SaidLabel("What became of all files and rows", wraps=True)
        self.operators = RowsModel(OPERATOR_COLUMNS, self)
        self.entries = LedgerModel(workspace.ask, workspace.client.forget, ledger.PAGE, _ENTRY_COLUMNS, self)
        self.entries.total_changed.connect(lambda total: self._show_hint())
        self.entries.loading_failed.connect(workspace.said)
        self.fate = choice_box("Files and rows to list", _FATES)
        self.fate.currentIndexChanged.connect(lambda index: self._list())
        self.operator_table = make_table(self.operators, "Steps of the run")
        self.table = make_table(self.entries, "What failed or was left out")
        self.table.activated.connect(self._open)
        self.table.doubleClicked.connect(self._open)
        self.hint = plain_label()
        self._lay_out()

    def show_run(self, run: str) -> None:
        """Show the ledger of another run, of none where it is empty."""
        self.stop()
        self._run = run
        self.entries.end()
        self.operators.show_rows([])
        self.sums.setText("")
        for index, (_, title) in enumerate(_FATES):
            self.fate.setItemText(index, title)
        self.refresh()

    def refresh(self) -> None:
        """Ask anew, if it is seen."""
        if not self._run or not self.isVisible():
            return
        self.stop()
        self._question = self._space.ask(ledger.SUMS, self._show, run=self._run)
        self._list()

    def stop(self) -> None:
        """Give up what is on its way."""
        self._space.client.forget(self._question)
        self.entries.stop()

    def _list(self) -> None:
        """List what is chosen, in place of other entries; the same stay until the answer comes."""
        if not self._run or not self.isVisible():
            return
        wanted = self._run, str(self.fate.currentData())
        if wanted == (self.entries.run, self.entries.fate) and self.entries.is_known:
            self.entries.refresh()
        else:
            self.entries.run, self.entries.fate = wanted
            self.entries.begin()
        self._show_hint()

    def _show(self, sums: LedgerSums) -> None:
        self.sums.setText(sums_text(sums))
        self.operators.show_rows(sums.operators)
        for index, count in enumerate((sums.failed, sums.rejected)):
            self.fate.setItemText(index, f"{_FATES[index][1]} ({count:,})")

    def _show_hint(self) -> None:
        none = {"failed": "Nothing failed.", "rejected": "Nothing was left out."}[self.entries.fate]
        is_none = bool(self._run) and self.entries.is_known and not self.entries.rowCount()
        self.hint.setText(none if is_none else "")

    def _open(self, index: QModelIndex) -> None:
        entry = index.data(ROW_ROLE)
        if entry is not None and entry.document:
            self._space.document_wanted.emit(entry.document, entry.page, entry.line)

    def _lay_out(self) -> None:
        stretch_section(self.operator_table.horizontalHeader(), 0)
        header = self.table.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setStretchLastSection(True)
        top = in_row(plain_label("&List", of=self.fate), self.fate, self.hint, REST)
        below = holder(top, (self.table, 1), margins=(0, 6, 0, 0))
        tables = split((self.operator_table, below), (120, 380), upright=True)
        in_column(self.sums, (tables, 1), on=self, margins=(6, 6, 6, 2))


def sums_text(found: LedgerSums) -> str:
    """Write the sums of files, whether all adds up, and what befell rows that went on."""
    files = found.files
    parts = [
        f"{counted(files.found, 'file')} found: {files.parsed:,} read, "
        f"{counted(files.duplicates, 'duplicate')}, {files.failed:,} failed."
        if files.found
        else "No files.",
        "Every file and every row is accounted for."
        if found.adds_up
        else "The counts do not add up. That is a fault in Redwell: please report it.",
    ]
    parts += [f"{counted(note.count, 'row')} {note.verdict} by {note.operator}." for note in found.notes]
    return " ".join(parts)
