"""The tree of plans as a Qt model: a plan stands below the one that it was made from, and grows live."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QFont

from desktop.improve.plan_lines import PlanLine, PlanLines
from desktop.labels import in_bold
from desktop.plain_text import plain
from desktop.rows_model import Column
from desktop.words import counted, duration_text
from engine.worker.contract.build import PlanWords
from engine.worker.contract.events import Event

Index = QModelIndex | QPersistentModelIndex
PLAN_ROLE: Final = int(Qt.ItemDataRole.UserRole)
"""The number of the plan."""

HINTS: Final = (
    "What was changed; a plan stands below the one that it was made from",
    "From 1, useless, to 4, nothing to improve",
    "Rows of the sample that it was rated on",
    "Time for these rows if no reply is kept from before",
    "Weak plans are rated on only a few rows",
)
OWN_TITLE = "Your question"


class PlanTree(QAbstractItemModel):
    """Shows PlanLines. The internal id of an index is the number of its plan; children are kept in the order they came.

    A plan whose parent is not known yet stands at the top, and goes below it when it comes.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.lines = PlanLines()
        self._words: Mapping[str, PlanWords] = {}
        self._children: dict[int, list[int]] = {0: []}
        self._above: dict[int, int] = {}
        self.columns: Sequence[Column[PlanLine]] = (
            Column("Plan", self.title),
            Column("Rating", lambda line: "" if line.score is None else f"{line.score:.2f}", is_right=True),
            Column("Rows", lambda line: f"{line.rows:,}" if line.rows else "", is_right=True),
            Column("Time", _time_of, is_right=True),
            Column("State", lambda line: self.lines.state_of(line)),  # noqa: PLW0108 - of the lines that are shown then
        )

    @property
    def has_words(self) -> bool:
        """Say whether directives are known in words."""
        return bool(self._words)

    def show_words(self, words: Sequence[PlanWords]) -> None:
        """Name directives by these titles, and explain them."""
        self._words = {plan.name: plan for plan in words}
        for id in self._above:
            self._tell(id)

    def show_lines(self, lines: PlanLines) -> None:
        """Show other plans."""
        self.beginResetModel()
        self.lines, self._children, self._above = lines, {0: []}, {}
        for line in lines.lines.values():
            self._above[line.id] = lines.parent_of(line)
            self._children.setdefault(line.id, [])
            self._children.setdefault(self._above[line.id], []).append(line.id)
        self.endResetModel()

    def take(self, event: Event) -> None:
        """Take in an event of a build."""
        before = {id: line.stands for id, line in self.lines.lines.items()}
        id = self.lines.take(event)
        if id and id not in self._above:
            self._insert(id)
        elif id:
            self._move(id, self.lines.parent_of(self.lines.lines[id]))
            self._tell(id)
        for other, line in self.lines.lines.items():
            if before.get(other) != line.stands and other in self._above:
                self._tell(other)

    def index_of(self, id: int, column: int = 0) -> QModelIndex:
        """Return the index of a plan, invalid where it is not shown."""
        if id not in self._above:
            return QModelIndex()
        return self.createIndex(self._children[self._above[id]].index(id), column, id)

    def purpose(self, line: PlanLine) -> str:
        """Say what the directive of a plan does."""
        known = self._words.get(line.directive)
        return known.does if known else ""

    def name(self, line: PlanLine) -> str:
        """Name a plan so that it differs from all others."""
        title = self.title(line)
        return title if line.id == self.lines.own else f"{title} ({line.id})"

    def title(self, line: PlanLine) -> str:
        """Name a plan: by what it was made with."""
        if line.id == self.lines.own:
            return OWN_TITLE
        known = self._words.get(line.directive)
        return known.title if known else line.directive.replace("_", " ").capitalize() or f"Plan {line.id}"

    # -- Qt ------------------------------------------------------------------------------------------------------------

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008 - Qt's default
        """Return the index of a child."""
        children = self._children.get(_plan(parent), [])
        if not (0 <= row < len(children) and 0 <= column < len(self.columns)) or parent.column() > 0:
            return QModelIndex()
        return self.createIndex(row, column, children[row])

    def parent(self, child: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        """Return the index of the plan above."""
        return self.index_of(self._above.get(_plan(child), 0))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        """Return the number of plans that were made from one."""
        return 0 if parent.column() > 0 else len(self._children.get(_plan(parent), []))

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        """Return the number of columns."""
        return len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the titles."""
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.columns[section].side
        if role == Qt.ItemDataRole.ToolTipRole:
            return HINTS[section]
        return self.columns[section].title if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell."""
        line = self.lines.lines.get(_plan(index)) if index.isValid() else None
        if line is None:
            return None
        answers: dict[int, Callable[[], Any]] = {
            int(Qt.ItemDataRole.DisplayRole): lambda: self.columns[index.column()].text(line),
            int(Qt.ItemDataRole.AccessibleTextRole): lambda: self._spoken(line, index.column()),
            int(Qt.ItemDataRole.ToolTipRole): lambda: self._tip(line),
            int(Qt.ItemDataRole.TextAlignmentRole): lambda: self.columns[index.column()].side,
            int(Qt.ItemDataRole.FontRole): lambda: in_bold(QFont()) if line.stands else None,
            PLAN_ROLE: lambda: line.id,
        }
        answer = answers.get(int(role))
        return None if answer is None else answer()

    def _spoken(self, line: PlanLine, column: int) -> str:
        """Say in the first cell of a row all that the row says."""
        if column:
            return self.columns[column].text(line)
        rated = f", rated {line.score:.2f} of 4 on {counted(line.rows, 'row')}" if line.score is not None else ""
        return f"{self.title(line)}{rated}, {self.lines.state_of(line)}"

    def _tip(self, line: PlanLine) -> str:
        does = self.purpose(line)
        parts = [f"Plan {line.id}: {does}" if does else f"Plan {line.id}", line.words, line.dropped]
        return plain("\n".join(part for part in parts if part))

    # -- changes -------------------------------------------------------------------------------------------------

    def _insert(self, id: int) -> None:
        above = self.lines.parent_of(self.lines.lines[id])
        above = above if above in self._above else 0
        place = len(self._children[above])
        self.beginInsertRows(self.index_of(above), place, place)
        self._above[id] = above
        self._children[above].append(id)
        self._children.setdefault(id, [])
        self.endInsertRows()
        for other in [o for o in self._children[0] if o != id and self.lines.lines[o].parent == id]:
            self._move(other, id)

    def _move(self, id: int, above: int) -> None:
        old = self._above[id]
        if above == old or above not in {0, *self._above} or self._is_below(above, id):
            return
        place, end = self._children[old].index(id), len(self._children[above])
        self.beginMoveRows(self.index_of(old), place, place, self.index_of(above), end)
        self._children[old].remove(id)
        self._children[above].append(id)
        self._above[id] = above
        self.endMoveRows()

    def _is_below(self, id: int, other: int) -> bool:
        while id and id != other:
            id = self._above.get(id, 0)
        return id == other

    def _tell(self, id: int) -> None:
        self.dataChanged.emit(self.index_of(id), self.index_of(id, len(self.columns) - 1))


def _plan(index: Index) -> int:
    return int(index.internalId()) if index.isValid() else 0


def _time_of(line: PlanLine) -> str:
    return "" if line.seconds is None or not line.rows else duration_text(line.seconds)
