"""The tree of plans, and beside it what the chosen one changes and what it writes."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, QPersistentModelIndex, QSize, QTimer, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QSplitter,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTabWidget,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from desktop.improve.change_view import ChangeView
from desktop.improve.improvement import Improvement
from desktop.improve.outputs_view import OutputsView, plan_names
from desktop.improve.plan_tree import PLAN_ROLE

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

    chosen = Signal(int)
    """Another plan was chosen."""

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
        self.tabs = QTabWidget()
        self.tabs.setAccessibleName("The chosen plan")
        self.tabs.addTab(self.change, "What it changes")
        self.tabs.addTab(self.outputs, "What it writes")
        split = QSplitter()
        split.addWidget(self.tree)
        split.addWidget(self.tabs)
        split.setChildrenCollapsible(False)
        split.setSizes([480, 610])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(split)
        self._following = QTimer(self, interval=_FOLLOW_MILLISECONDS, singleShot=True)
        self._following.timeout.connect(self.refresh)
        self._fitting = QTimer(self, interval=_FIT_MILLISECONDS, singleShot=True)
        self._fitting.timeout.connect(self._fit)
        for changed in (improvement.tree.rowsInserted, improvement.tree.modelReset, improvement.tree.dataChanged):
            changed.connect(self._fit_soon)
        self._fit()
        self.tree.selectionModel().currentRowChanged.connect(lambda now, before: self._choose())
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
        line = model.lines.line(plan)
        if line is None:
            self.change.clear(_NO_PLAN)
            self.outputs.clear(_NO_PLAN)
            return
        if self.tabs.currentWidget() is self.outputs:
            names = plan_names(list(model.lines.lines.values()), model.title)
            self.outputs.show_plan(plan, names, line.parent or model.lines.own)
            return

        def show(found: dict[str, Any]) -> None:
            if plan == self.current:
                self.change.show_plan(found, model.purpose(line), is_own=plan == model.lines.own)

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

    def _choose(self) -> None:
        self._following.start()
        self.chosen.emit(self.current)
