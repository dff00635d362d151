"""The tree of plans, and beside it what the chosen one changes and what it writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, QPersistentModelIndex, QSize, Qt, QTimer
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTabWidget,
    QTreeView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from desktop.improve.diff_view import DiffView
from desktop.improve.improvement import Improvement
from desktop.improve.outputs_view import OutputsView, plan_names
from desktop.improve.plan_tree import PLAN_ROLE
from desktop.labels import SaidLabel, with_name
from desktop.layouts import in_column, split
from desktop.plain_text import plain
from desktop.words import counted, duration_text
from engine.worker.contract.build import PartRatings, PlanDetails, Rating

_ROW_SPACE = 8
_NO_PLAN = "Choose a plan: what it changes is shown here."
_FOLLOW_MILLISECONDS = 150
_FIT_MILLISECONDS = 100
"""How long the tree's columns wait to be fitted: every event of a build changes a line, and fitting reads them all."""


class _Roomy(QStyledItemDelegate):
    """Gives rows the room that those of tables have."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        size = super().sizeHint(option, index)
        return QSize(size.width(), size.height() + _ROW_SPACE)


class PlansView(QWidget):
    """Follows the tree of an Improvement while it grows; the plan that is chosen stays chosen."""

    def __init__(self, improvement: Improvement, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._improvement = improvement
        self.tree = QTreeView()
        self.tree.setModel(improvement.tree)
        self.tree.setItemDelegate(_Roomy(self.tree))
        self.tree.setAccessibleName("Tree of plans")
        self.tree.setAlternatingRowColors(True)
        self.tree.setUniformRowHeights(True)
        self.tree.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.tree.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        header = self.tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.change, self.outputs = ChangeView(), OutputsView(improvement)
        self.change.clear(_NO_PLAN)
        self.tabs = with_name(QTabWidget(), "The chosen plan")
        self.tabs.addTab(self.change, "What it changes")
        self.tabs.addTab(self.outputs, "What it writes")
        in_column(split((self.tree, self.tabs), (480, 610)), on=self)
        self._following = QTimer(self, interval=_FOLLOW_MILLISECONDS, singleShot=True)
        self._following.timeout.connect(self.refresh)
        self._fitting = QTimer(self, interval=_FIT_MILLISECONDS, singleShot=True)
        self._fitting.timeout.connect(self._fit)
        for changed in (improvement.tree.rowsInserted, improvement.tree.modelReset, improvement.tree.dataChanged):
            changed.connect(self._fit_soon)
        self._fit()
        self.tree.selectionModel().currentRowChanged.connect(lambda now, before: self._following.start())
        improvement.tree.rowsInserted.connect(self._inserted)
        improvement.tree.rowsMoved.connect(lambda *moved: self.tree.expandAll())
        improvement.tree.modelReset.connect(self._begin)
        improvement.tree.dataChanged.connect(self._changed)
        self.tabs.currentChanged.connect(lambda at: self._following.start())

    @property
    def current(self) -> int:
        """Return the plan that is chosen, 0 for none."""
        return int(self.tree.currentIndex().data(PLAN_ROLE) or 0)

    def choose(self, plan: int) -> None:
        """Choose a plan, and show it."""
        index = self._improvement.tree.index_of(plan)
        if index.isValid():
            rows = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.tree.selectionModel().setCurrentIndex(index, rows)
            self.tree.scrollTo(index)

    def refresh(self) -> None:
        """Ask for the chosen plan anew."""
        model, plan = self._improvement.tree, self.current
        line = model.lines.lines.get(plan)
        if line is None:
            self.change.clear(_NO_PLAN)
            self.outputs.clear(_NO_PLAN)
            return
        if self.tabs.currentWidget() is self.outputs:
            names = plan_names(list(model.lines.lines.values()), model.title)
            self.outputs.show_plan(plan, names, line.parent or model.lines.own)
            return

        def show(details: PlanDetails) -> None:
            if plan == self.current:
                self.change.show_plan(details, model.purpose(line), is_own=plan == model.lines.own)

        self._improvement.ask_plan(plan, show, lambda message, advice: self.change.clear(f"{message}. {advice}"))

    def _fit_soon(self) -> None:
        if not self._fitting.isActive():
            self._fitting.start()

    def _fit(self) -> None:
        """Give each column but the first, which gets the rest, the room that its cells need."""
        for column in range(1, self._improvement.tree.columnCount()):
            self.tree.resizeColumnToContents(column)

    def changeEvent(self, event: QEvent) -> None:
        """Fit the columns to letters of another size."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit_soon()

    def _begin(self) -> None:
        self.tree.expandAll()
        self.change.clear(_NO_PLAN)
        self.outputs.clear("")
        if not self.current:
            self.choose(self._improvement.tree.lines.own)

    def _inserted(self, parent: QModelIndex, first: int, last: int) -> None:
        self.tree.expandRecursively(parent) if parent.isValid() else self.tree.expandAll()
        if not self.current:
            self.choose(self._improvement.tree.lines.own)

    def _changed(self, first: QModelIndex, last: QModelIndex) -> None:
        """See whether something new is known of the chosen plan."""
        if first.data(PLAN_ROLE) == self.current and self.isVisible():
            self._following.start()


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
    """Shows what the worker knows of a plan."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = SaidLabel("The change in words", wraps=True)
        self.words.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.diff = DiffView()
        self.ratings = with_name(QTreeWidget(), "How the plan was rated")
        self.ratings.setHeaderHidden(True)
        self.ratings.setWordWrap(True)
        self.ratings.setUniformRowHeights(False)
        below = split((self.diff, self.ratings), (330, 190), upright=True)
        in_column(self.words, (below, 1), on=self, margins=(8, 8, 8, 8))

    def clear(self, why: str) -> None:
        """Show nothing but why that is so."""
        self.words.setText(why)
        self.diff.setPlainText("")
        self.ratings.clear()

    def show_plan(self, plan: PlanDetails, does: str, *, is_own: bool) -> None:
        """Show a plan; `does` explains its directive."""
        self.words.setText(own_text(plan) if is_own else change_text(plan, does))
        if is_own:
            self.diff.setPlainText(plan.yaml)
        else:
            self.diff.show_diff(plan.diff)
        self.ratings.clear()
        for rating in plan.ratings:
            self._add_rating(rating)
        for number, complaints in enumerate(plan.complaints, 1):
            item = QTreeWidgetItem([f"Proposal {number} was sent back"])
            item.addChildren([_leaf(complaint) for complaint in complaints])
            self.ratings.addTopLevelItem(item)

    def _add_rating(self, entry: PartRatings) -> None:
        for rating in entry.ratings[-1:]:
            item = QTreeWidgetItem([rating_text(entry, rating)])
            item.setToolTip(0, plain(item.text(0)))
            item.addChildren([_leaf(text) for text in grounds_text(rating.grounds)])
            self.ratings.addTopLevelItem(item)
            item.setExpanded(True)
        if entry.trouble:
            self.ratings.addTopLevelItem(_leaf(f"Could not go on: {entry.trouble}"))


def own_text(plan: PlanDetails) -> str:
    """Introduce the user's own plan."""
    operators = ", ".join(name for step in plan.operators for name in step)
    return f"Your question as it is: {operators}."


def change_text(plan: PlanDetails, does: str) -> str:
    """Say in words what a plan changed, who proposed it, and why it was dropped."""
    by = "The model filled in what was left open." if plan.by_model else "Filled in from a template."
    words = plan.words
    parts = ["" if not does or does in words else f"It {does}.", words, by if words else ""]
    parts += [f"Dropped: {plan.dropped}"] if plan.dropped else []
    return "\n".join(part for part in parts if part)


def rating_text(entry: PartRatings, rating: Rating) -> str:
    """Write a rating in a line."""
    took = f", {duration_text(entry.seconds)}" if entry.seconds else ""
    part = "as a whole" if entry.is_whole else ", ".join(entry.operators)
    return f"{rating.score:.2f} of 4 on {counted(rating.rows, 'row')}{took} ({part})"


def grounds_text(grounds: Sequence[tuple[str, float]]) -> Iterator[str]:
    """Write what a rating was made of."""
    for name, share in grounds:
        if name.startswith(GOLD):
            yield f"{share:.0%} by {name.removeprefix(GOLD)} that you reviewed"
        else:
            yield f"{share:.0%} {GROUNDS.get(name, name)}"


def _leaf(text: str) -> QTreeWidgetItem:
    item = QTreeWidgetItem([text])
    item.setToolTip(0, plain(text))
    return item
