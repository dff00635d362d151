"""The table of documents as a Qt model that fetches a page of rows when it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from PySide6.QtCore import QObject, Qt

from desktop.client import Ask
from desktop.paged_model import LEFT, RIGHT, PagedModel
from desktop.theme import icon
from desktop.words import counted, size_text
from engine.worker.contract import documents
from engine.worker.contract.documents import ListedDocument

COLUMNS: Final[tuple[tuple[str, str], ...]] = (
    ("star", "★"),
    ("name", "Name"),
    ("type", "Type"),
    ("pages", "Pages"),
    ("text", "Text from"),
    ("language", "Language"),
    ("year", "Year"),
    ("size", "Size"),
    ("copies", "Copies"),
    ("tags", "Tags"),
    ("hash", "SHA-256"),
)
"""Sort key of the worker and title."""
_RIGHT = {"pages", "year", "size", "copies"}
_HASH_CHARACTERS = 12


class DocumentsModel(PagedModel[ListedDocument]):
    """Sorted and filtered by the worker."""

    def __init__(self, ask: Ask, forget: Callable[[str], None], parent: QObject | None = None) -> None:
        super().__init__(ask, forget, documents.PAGE, [title for _, title in COLUMNS], parent)
        self._sort = "name"
        self._descending = False
        self._only: Mapping[str, Any] = {}

    def question(self) -> Mapping[str, Any]:
        """Say in what order, and which documents."""
        return {"sort": self._sort, "descending": self._descending, "only": self._only}

    def cell(self, row: ListedDocument, column: int, role: int) -> Any:
        """Return a cell as text, aligned, with what there is more to say."""
        key = COLUMNS[column][0]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if key in _RIGHT else LEFT
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return cell_text(key, row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip(key, row)
        return icon("documents") if role == Qt.ItemDataRole.DecorationRole and key == "name" else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Have the worker sort by a column."""
        self._sort, self._descending = COLUMNS[column][0], order == Qt.SortOrder.DescendingOrder
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


_TEXTS: Final[Mapping[str, Callable[[ListedDocument], str]]] = {
    "star": lambda row: " ".join(("★",) * row.starred + ("new",) * row.is_new),
    "name": lambda row: str(row.name),
    "type": lambda row: str(row.kind),
    "pages": lambda row: f"{row.pages:,}",
    "text": lambda row: text_source(row.pages, row.ocr_pages, row.lines) + _notes(len(row.warnings)),
    "language": lambda row: str(row.language),
    "year": lambda row: str(row.year or ""),
    "size": lambda row: size_text(row.size_bytes),
    "copies": lambda row: f"{row.copies:,}" if row.copies > 1 else "",
    "tags": lambda row: ", ".join(row.tags),
    "hash": lambda row: str(row.id)[:_HASH_CHARACTERS],
}


def tooltip(key: str, row: ListedDocument) -> str | None:
    """Return what there is more to say of a cell."""
    if key == "star" and row.is_new:
        return "Added after the last run of the question, which has not read it"
    if key == "text" and row.warnings:
        return "\n".join(row.warnings)
    return str(row.id) if key == "hash" else str(row.path) if key == "name" else None


def cell_text(key: str, row: ListedDocument) -> str:
    """Write one cell as people read it."""
    return _TEXTS[key](row)


def _notes(count: int) -> str:
    return f" ({counted(count, 'note')})" if count else ""


def text_source(pages: int, ocr_pages: int | None, lines: int) -> str:
    """Say where the text of a document comes from."""
    if not lines:
        return "no text"
    if ocr_pages is None:
        return ""
    if not ocr_pages:
        return "text"
    return "OCR" if ocr_pages == pages else f"OCR on {ocr_pages} of {pages}"
