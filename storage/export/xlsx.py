"""Excel workbooks: results, evidence, ledger, and the full text of cells that exceed Excel's limit."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, Final, NamedTuple

import xlsxwriter

from storage.errors import ExportError
from storage.export.atomic import replacing
from storage.export.cells import Lists, cell_text, escape_characters, is_number
from storage.export.table import NOT_LOCATED, ResultTable, citation_text, inner_value, lines_text

CELL_UNITS: Final = 32_767
"""Excel's limit for a cell's text, in UTF-16 code units."""
PART_UNITS: Final = 30_000
SHEET_ROWS: Final = 1_048_576
SHEET_COLUMNS: Final = 16_384
EXACT_INTEGER: Final = 10**15 - 1
"""Excel shows and keeps 15 digits of a number; a longer whole number would change, so it is written as text."""

FULL_TEXT_SHEET = "Full text"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_SURROGATE = re.compile("[\ud800-\udfff]")
"""What xlsxwriter cannot write. Control characters it writes as `_xHHHH_`, which Excel shows as what they were."""
_FIRST_DATE = date(1900, 3, 1)
"""Excel counts a 29 February 1900, so earlier dates would be shown wrong; they stay text."""


class Place(NamedTuple):
    """A cell's address: sheet name, and row and column counted from 0."""

    sheet: str
    row: int
    column: int


def write_xlsx(table: ResultTable, target: str | os.PathLike[str], lists: Lists = "joined") -> tuple[str, ...]:
    """Write the table to `target`, which appears whole or not at all; return the notes written to its ledger.

    A text that is an ISO date (2024-05-01) becomes a date cell.

    Notes are the table's own and one per cell whose text was too long. Raises ExportError (too many rows or
    columns for Excel) or DiskFull.
    """
    _check_size(table)
    with replacing(target) as path:
        # In memory, so that no text of the case is left behind in the system's folder for temporary files.
        settings = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
        book = xlsxwriter.Workbook(str(path), {**settings, "in_memory": True})
        notes = _Book(book, table, lists).write()
        _close(book)
    return notes


def _close(book: Any) -> None:
    try:
        book.close()
    except xlsxwriter.exceptions.FileCreateError as error:
        cause = error.args[0] if error.args else error
        raise cause if isinstance(cause, OSError) else OSError(str(cause)) from error


def _check_size(table: ResultTable) -> None:
    if len(table.rows) >= SHEET_ROWS or 2 * len(table.columns) > SHEET_COLUMNS:
        raise ExportError(
            f"{len(table.rows)} rows and {len(table.columns)} columns with citations do not fit an Excel sheet"
            f" ({SHEET_ROWS} rows, {SHEET_COLUMNS} columns)",
            advice="Export to CSV or JSONL.",
        )


class _Book:
    """One workbook being written."""

    def __init__(self, book: Any, table: ResultTable, lists: Lists) -> None:
        self._book = book
        self._table = table
        self._lists = lists
        text = {"text_wrap": True, "valign": "top"}
        self._text = book.add_format(text)
        self._head = book.add_format({**text, "bold": True, "bg_color": "#E8E8E8", "bottom": 1})
        self._date = book.add_format({"num_format": "yyyy-mm-dd", "valign": "top", "align": "left"})
        self._time = book.add_format({"num_format": 'yyyy-mm-dd"T"hh:mm:ss', "valign": "top", "align": "left"})
        self._number = book.add_format({"valign": "top"})
        self._whole = book.add_format({"valign": "top", "num_format": "0"})  # by itself Excel shows 1.23457E+11
        self._long: list[tuple[Place, str]] = []
        self._notes: list[str] = list(table.notes)

    def write(self) -> tuple[str, ...]:
        """Write all sheets; the full texts are written after what refers to them, also where their sheet is before."""
        self._write_results()
        if self._table.cited:
            self._write_evidence()
        full_texts = self._full_text_sheet()
        ledger = self._sheet("Ledger", ["step", "in", "output", "rejected", "failed", "rows out", "adds up"])
        self._write_about()
        line = self._write_ledger(ledger)
        for note in self._write_full_texts(full_texts):
            self._write_text(ledger, line, 0, note)
            self._notes.append(note)
            line += 1
        return tuple(self._notes)

    def _write_results(self) -> None:
        columns, cited = self._table.columns, self._table.cited
        sheet = self._sheet("Results", [*columns, *self._table.source_columns])
        for number, row in enumerate(self._table.rows, 1):
            for index, column in enumerate(columns):
                self._write_value(sheet, number, index, row.values.get(column))
            for index, column in enumerate(cited, len(columns)):
                self._write_text(sheet, number, index, citation_text(row.citations.get(column, ())))
        sheet.autofilter(0, 0, len(self._table.rows), len(columns) + len(cited) - 1)

    def _write_evidence(self) -> None:
        heads = ["row", "row id", "column", "inside", "value", "file", "page", "lines", "quote", "method", "score"]
        name, sheet, line, part = "Evidence", None, 0, 1
        for cells in self._evidence_rows():
            if sheet is None or line >= SHEET_ROWS - 1:
                sheet, line, part = self._sheet(name if part == 1 else f"{name} {part}", heads), 0, part + 1
            line += 1
            for index, value in enumerate(cells):
                write = self._write_value if heads[index] == "value" else self._write_plain
                write(sheet, line, index, value)
        if sheet is None:
            sheet = self._sheet(name, heads)
        sheet.autofilter(0, 0, line, len(heads) - 1)

    def _evidence_rows(self) -> Any:
        for number, row in enumerate(self._table.rows, 1):
            for column in self._table.columns:
                value = row.values.get(column)
                for c in row.citations.get(column, ()):
                    file = NOT_LOCATED if c.file is None else c.file
                    yield [
                        *(number, row.id, column, c.path, inner_value(value, column, c.path), file),
                        *(c.page, lines_text(c), c.quote, c.method, c.score),
                    ]

    def _full_text_sheet(self) -> Any:
        """Add the sheet of full texts; None where no text is too long."""
        later = itertools.chain(*self._table.about, *_ledger_rows(self._table), self._table.notes)
        if self._long or any(isinstance(text, str) and _is_too_long(text) for text in later):
            return self._sheet(FULL_TEXT_SHEET, ["entry", "sheet", "cell", "part", "text"])
        return None

    def _write_full_texts(self, sheet: Any) -> list[str]:
        """Write the texts that were too long for their cells; return a note for each."""
        line, notes = 0, []
        for entry, (place, text) in enumerate(self._long, 1):
            address = xlsxwriter.utility.xl_rowcol_to_cell(place.row, place.column)
            parts = _parts(text)
            for number, part in enumerate(parts, 1):
                line += 1
                for index, value in enumerate((entry, place.sheet, address, number, part)):
                    self._write_plain(sheet, line, index, value)
            notes.append(
                f"Cell {address} of sheet {place.sheet} has {len(text)} characters, more than Excel holds;"
                f" its full text is on sheet {FULL_TEXT_SHEET}, entry {entry}, in {len(parts)} parts."
            )
        return notes

    def _write_ledger(self, sheet: Any) -> int:
        """Write the counts and the table's notes; return the row behind them."""
        line = 0
        for line, cells in enumerate(_ledger_rows(self._table), 1):
            for index, value in enumerate(cells):
                self._write_plain(sheet, line, index, value)
        first = line + 2
        for number, note in enumerate(self._notes, first):
            self._write_text(sheet, number, 0, note)
        return first + len(self._notes)

    def _write_about(self) -> None:
        """Say what made the table: without it, a workbook that is passed on tells nobody."""
        if not self._table.about:
            return
        sheet = self._sheet("About", ["what", "text"])
        for number, (name, text) in enumerate(self._table.about, 1):
            self._write_text(sheet, number, 0, name)
            self._write_text(sheet, number, 1, text)

    def _sheet(self, name: str, heads: Sequence[str]) -> Any:
        sheet = self._book.add_worksheet(name)
        for index, head in enumerate(heads):
            self._write_text(sheet, 0, index, head, self._head)
            sheet.set_column(index, index, 60 if head in ("quote", "text") else 24)
        sheet.freeze_panes(1, 0)
        return sheet

    def _write_value(self, sheet: Any, row: int, column: int, value: Any) -> None:
        """Write a number or a date as such, all else as text."""
        moment = _moment(value)
        if moment is not None:
            sheet.write_datetime(row, column, moment, self._time if isinstance(moment, datetime) else self._date)
        elif isinstance(value, bool):
            sheet.write_boolean(row, column, value, self._text)
        else:
            self._write_plain(sheet, row, column, value)

    def _write_plain(self, sheet: Any, row: int, column: int, value: Any) -> None:
        """Write a number as such, all else as text."""
        if is_number(value) and (isinstance(value, float) or abs(value) <= EXACT_INTEGER):
            sheet.write_number(row, column, value, self._number if isinstance(value, float) else self._whole)
        else:
            self._write_text(sheet, row, column, cell_text(value, self._lists))

    def _write_text(self, sheet: Any, row: int, column: int, text: str, style: Any = None) -> None:
        """Write text, never as a formula or link; what is too long goes to the full-text sheet, with its head here."""
        if not text:
            sheet.write_blank(row, column, None, style or self._text)
            return
        if _is_too_long(text):
            self._long.append((Place(sheet.get_name(), row, column), text))
            text = f"{_parts(text)[0]}… [cut here: full text on sheet {FULL_TEXT_SHEET}, entry {len(self._long)}]"
        text = _SURROGATE.sub(lambda match: escape_characters(match[0]), text)
        if text.startswith("<r>") and text.endswith("</r>"):
            # xlsxwriter would put such text into the file as markup; in two pieces it is escaped like any other.
            sheet.write_rich_string(row, column, text[:1], self._number, text[1:], style or self._text)
        else:
            sheet.write_string(row, column, text, style or self._text)


def _ledger_rows(table: ResultTable) -> list[list[Any]]:
    if table.ledger is None:
        return []
    documents, operators = table.ledger.documents, table.ledger.operators
    return [
        ["documents: files found", documents.found, None, None, documents.failed, None, _yes(documents.adds_up)],
        ["documents: parsed", documents.parsed],
        ["documents: duplicates of another file", documents.duplicates],
        *([o.operator, o.rows_in, o.output, o.rejected, o.failed, o.rows_out, _yes(o.adds_up)] for o in operators),
        [
            "all operators",
            *(
                sum(getattr(o, part) for o in operators)
                for part in ("rows_in", "output", "rejected", "failed", "rows_out")
            ),
            _yes(table.ledger.adds_up),
        ],
    ]


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"


def _moment(value: Any) -> date | datetime | None:
    """Read an ISO date or date and time that Excel shows the same; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        if _DATE.fullmatch(value):
            moment: date = date.fromisoformat(value)
            return moment if moment >= _FIRST_DATE else None
        if _TIME.fullmatch(value):
            moment = datetime.fromisoformat(value)
            return moment if moment.date() >= _FIRST_DATE else None
    except ValueError:
        pass
    return None


def _escaped(text: str) -> str:
    return escape_characters(text).replace("\r", "_x000D_")


def _is_too_long(text: str) -> bool:
    """Say whether a text exceeds a cell."""
    return _units(_escaped(text)) > CELL_UNITS


def _units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def _parts(text: str) -> list[str]:
    """Cut text into parts that fit a cell; joined, they are the text. Escapes may make a character seven long."""
    parts, start, size = [], 0, 0
    for index, character in enumerate(text):
        width = len(_escaped(character)) + (character > "\uffff")
        if size + width > PART_UNITS:
            parts.append(text[start:index])
            start, size = index, 0
        size += width
    return [*parts, text[start:]]
