"""One plan: what was changed and why in words, how it was rated, and the change as a diff."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSplitter, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from desktop.improve.diff_view import DiffView
from desktop.plain_text import plain
from desktop.words import counted, duration_text

GOLD: Final = "gold of "
GROUNDS: Final = {
    "weighed": "what is listed, by how sure the model is of each item",
    "pooled": "agreement with other plans",
    "located": "values that stand in the documents",
    "verbatim": "quotes that stand there word for word",
    "filled": "cells that hold something",
    "unrepeated": "items not said twice",
    "counted": "items that are there, of as many as you ask for",
    "completed": "documents that did not fail",
    "precision": "right of what was found",
    "recall": "found of what is right",
}
"""What a rating is made of, in words, by the name in the report."""


class ChangeView(QWidget):
    """Shows what the worker knows of a plan (engine.worker.queries.build.plan)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.words.setAccessibleName("The change in words")
        self.words.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.diff = DiffView()
        self.ratings = QTreeWidget()
        self.ratings.setAccessibleName("How the plan was rated")
        self.ratings.setHeaderHidden(True)
        self.ratings.setWordWrap(True)
        self.ratings.setUniformRowHeights(False)
        split = QSplitter(Qt.Orientation.Vertical)
        split.addWidget(self.diff)
        split.addWidget(self.ratings)
        split.setSizes([330, 190])
        split.setChildrenCollapsible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.addWidget(self.words)
        layout.addWidget(split, 1)

    def clear(self, why: str) -> None:
        """Show nothing but why that is so."""
        self.words.setText(why)
        self.diff.setPlainText("")
        self.ratings.clear()

    def show_plan(self, plan: Mapping[str, Any], does: str, *, is_own: bool) -> None:
        """Show a plan; `does` explains its directive."""
        self.words.setText(own_text(plan) if is_own else change_text(plan, does))
        if is_own:
            self.diff.setPlainText(plan["yaml"])
        else:
            self.diff.show_diff(plan["diff"])
        self.ratings.clear()
        for rating in plan["ratings"]:
            self._add_rating(rating)
        for number, complaints in enumerate(plan["complaints"], 1):
            item = QTreeWidgetItem([f"Proposal {number} was sent back"])
            item.addChildren([_leaf(complaint) for complaint in complaints])
            self.ratings.addTopLevelItem(item)

    def _add_rating(self, entry: Mapping[str, Any]) -> None:
        for rating in entry["ratings"][-1:]:
            item = QTreeWidgetItem([rating_text(entry, rating)])
            item.setToolTip(0, plain(item.text(0)))
            item.addChildren([_leaf(text) for text in grounds_text(rating["grounds"])])
            self.ratings.addTopLevelItem(item)
            item.setExpanded(True)
        if entry["trouble"]:
            self.ratings.addTopLevelItem(_leaf(f"Could not go on: {entry['trouble']}"))


def own_text(plan: Mapping[str, Any]) -> str:
    """Introduce the user's own plan."""
    operators = ", ".join(name for step in plan["operators"] for name in step)
    return f"Your question as it is: {operators}."


def change_text(plan: Mapping[str, Any], does: str) -> str:
    """Say in words what a plan changed, who proposed it, and why it was dropped."""
    by = "The model filled in what was left open." if plan["by_model"] else "Filled in from a template."
    words = plan["words"]
    parts = ["" if not does or does in words else f"It {does}.", words, by if words else ""]
    parts += [f"Dropped: {plan['dropped']}"] if plan["dropped"] else []
    return "\n".join(part for part in parts if part)


def rating_text(entry: Mapping[str, Any], rating: Mapping[str, Any]) -> str:
    """Write a rating in a line."""
    took = f", {duration_text(entry['seconds'])}" if entry["seconds"] else ""
    part = "as a whole" if entry["is_whole"] else ", ".join(entry["operators"])
    return f"{rating['score']:.2f} of 4 on {counted(rating['rows'], 'row')}{took} ({part})"


def grounds_text(grounds: list[Any]) -> Iterator[str]:
    """Write what a rating was made of."""
    for name, share in grounds:
        if str(name).startswith(GOLD):
            yield f"{share:.0%} by {str(name).removeprefix(GOLD)} that you reviewed"
        else:
            yield f"{share:.0%} {GROUNDS.get(name, name)}"


def _leaf(text: str) -> QTreeWidgetItem:
    item = QTreeWidgetItem([text])
    item.setToolTip(0, plain(text))
    return item
