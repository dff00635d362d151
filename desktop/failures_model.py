"""The files that could not be read, a page of them at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt

from desktop.client import Ask
from desktop.paged_model import PagedModel
from engine.worker.contract import documents
from engine.worker.contract.documents import FailedFile

_TITLES = ("File", "Reason", "What happened and what to do")


class FailuresModel(PagedModel[FailedFile]):
    """By path, as the worker keeps them."""

    def __init__(self, ask: Ask, forget: Callable[[str], None], parent: QObject | None = None) -> None:
        super().__init__(ask, forget, documents.FAILURES, _TITLES, parent)

    def cell(self, row: FailedFile, column: int, role: int) -> Any:
        """Return the name, the reason, or what happened; the tool tip has the whole path."""
        if role == Qt.ItemDataRole.ToolTipRole:
            return (row.path, row.reason, f"{row.message}\n{row.advice}")[column]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return (Path(row.path).name, row.reason, f"{row.message}. {row.advice}")[column]
        return None
