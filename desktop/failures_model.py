"""The files that could not be read, a page of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt

from desktop.paged_model import Ask, PagedModel

_TITLES = ("File", "Reason", "What happened and what to do")


class FailuresModel(PagedModel):
    """By path, as the worker keeps them."""

    def __init__(self, ask: Ask, forget: Callable[[str], None], parent: QObject | None = None) -> None:
        super().__init__(ask, forget, "documents.failures", _TITLES, parent)

    def cell(self, row: Mapping[str, Any], column: int, role: int) -> Any:
        """Return the name, the reason, or what happened; the tool tip has the whole path."""
        if role == Qt.ItemDataRole.ToolTipRole:
            return (row["path"], row["reason"], f"{row['message']}\n{row['advice']}")[column]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return (Path(row["path"]).name, row["reason"], f"{row['message']}. {row['advice']}")[column]
        return None
