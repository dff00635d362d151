"""The table of documents as a Qt model that fetches a page of rows when it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from PySide6.QtCore import QObject, Qt

from desktop.client import Ask
from desktop.paged_model import PagedModel
from desktop.rows_model import Column
from desktop.theme import icon
from desktop.words import counted, size_text
from engine.worker.contract import documents
from engine.worker.contract.documents import ListedDocument

_HASH_CHARACTERS = 12
_NEW = "Added after the last run of the question, which has not read it"


def text_source(row: ListedDocument) -> str:
    """Say where the text of a document comes from, and how many notes there are about it."""
    notes = f" ({counted(len(row.warnings), 'note')})" if row.warnings else ""
    if not row.lines:
        return f"no text{notes}"
    if row.ocr_pages is None:
        return notes
    if not row.ocr_pages:
        return f"text{notes}"
    return ("OCR" if row.ocr_pages == row.pages else f"OCR on {row.ocr_pages} of {row.pages}") + notes


def _column(
    title: str,
    width: int,
    text: Callable[[ListedDocument], str],
    tip: Callable[[ListedDocument], str] = lambda row: "",
    *,
    is_right: bool = False,
) -> Column[ListedDocument]:
    return Column(title, text, is_right, tip, width)


COLUMNS: Final[Mapping[str, Column[ListedDocument]]] = {
    "star": _column(
        "★", 58, lambda row: " ".join(("★",) * row.starred + ("new",) * row.is_new), lambda row: _NEW * row.is_new
    ),
    "name": _column("Name", 240, lambda row: row.name, lambda row: row.path),
    "type": _column("Type", 55, lambda row: row.kind),
    "pages": _column("Pages", 55, lambda row: f"{row.pages:,}", is_right=True),
    "text": _column("Text from", 95, text_source, lambda row: "\n".join(row.warnings)),
    "language": _column("Language", 72, lambda row: row.language),
    "year": _column("Year", 50, lambda row: str(row.year or ""), is_right=True),
    "size": _column("Size", 70, lambda row: size_text(row.size_bytes), is_right=True),
    "copies": _column("Copies", 58, lambda row: f"{row.copies:,}" if row.copies > 1 else "", is_right=True),
    "tags": _column("Tags", 92, lambda row: ", ".join(row.tags)),
    "hash": _column("SHA-256", 104, lambda row: row.id[:_HASH_CHARACTERS], lambda row: row.id),
}
"""By the sort key of the worker."""
_KEYS: Final = tuple(COLUMNS)


class DocumentsModel(PagedModel[ListedDocument]):
    """Sorted and filtered by the worker."""

    def __init__(self, ask: Ask, forget: Callable[[str], None], parent: QObject | None = None) -> None:
        super().__init__(ask, forget, documents.PAGE, tuple(COLUMNS.values()), parent)
        self._sort = "name"
        self._descending = False
        self._only: Mapping[str, Any] = {}

    def question(self) -> Mapping[str, Any]:
        """Say in what order, and which documents."""
        return {"sort": self._sort, "descending": self._descending, "only": self._only}

    def cell(self, row: ListedDocument, column: int, role: int) -> Any:
        """Return what a cell shows; a name has an icon."""
        if role == Qt.ItemDataRole.DecorationRole and _KEYS[column] == "name":
            return icon("documents")
        return super().cell(row, column, role)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Have the worker sort by a column."""
        self._sort, self._descending = _KEYS[column], order == Qt.SortOrder.DescendingOrder
        self.restart()

    def show_only(self, only: Mapping[str, Any]) -> None:
        """Show what fits a filter (storage.listing.DocumentFilter as JSON).

        Rows stay until the answer comes where the same documents fit: a click in between would meet no row.
        """
        if only == self._only:
            return
        same = _fitting(only) == _fitting(self._only)
        self._only = dict(only)
        (self.refresh if same else self.restart)()


def _fitting(only: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides which documents fit: the runs `asked_in` alone only mark those that are new to them."""
    return {part: value for part, value in only.items() if value and (part != "asked_in" or only.get("new"))}
