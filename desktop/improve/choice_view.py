"""The choice between plans: accuracy and time as a chart, the same as a table, and the use of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal, SignalInstance
from PySide6.QtWidgets import QWidget

from desktop.buttons import push_button
from desktop.improve.plan_lines import PlanLines
from desktop.improve.scatter import PlanPoint, Scatter
from desktop.labels import SaidLabel, plain_label
from desktop.layouts import REST, holder, in_column, in_row, split, stacked
from desktop.rows_model import ROW_ROLE, Column, RowsModel
from desktop.tables import make_table, stretch_section
from desktop.words import duration_text
from engine.worker.contract.build import LastBuild

EMPTY = "No plan has been rated yet.\n\nEach plan appears here, with its rating and time, once it has been tried."


@dataclass(frozen=True, slots=True)
class _Row:
    """A plan, and what is to be said of it."""

    point: PlanPoint
    told: str


class ChoiceView(QWidget):
    """Shows points of plans; what is current in the chart is current in the table."""

    use_wanted = Signal(int)
    run_wanted = Signal(int)
    plan_wanted = Signal(int)
    """A person wants to see what a plan changed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.verdict = SaidLabel("What was chosen and why", wraps=True)
        self.chart = Scatter()
        self.model = RowsModel[_Row](
            (
                Column("Plan", lambda row: row.point.name),
                Column("Rating", lambda row: f"{row.point.score:.2f}", is_right=True),
                Column("All documents", lambda row: duration_text(row.point.seconds), is_right=True),
                Column("", lambda row: row.told),
            ),
            self,
        )
        self.table = make_table(self.model, "Plans to choose from")
        stretch_section(self.table.horizontalHeader(), 0)
        self.use = push_button("check", "Use this plan", lambda: self._want(self.use_wanted))
        self.run = push_button("run", "Use and run", lambda: self._want(self.run_wanted))
        self.see = push_button("edit", "What it changes", lambda: self._want(self.plan_wanted))
        self._empty = plain_label(EMPTY, wraps=True, centred=True)
        self._lay_out()
        self.chart.walked.connect(self._follow_chart)
        self.chart.picked.connect(self.use_wanted)
        self.table.selectionModel().currentRowChanged.connect(lambda now, before: self._follow_table())
        self.table.doubleClicked.connect(lambda index: self._want(self.plan_wanted))

    @property
    def current(self) -> int:
        """Return the plan that is current, 0 for none."""
        return self.chart.current

    def show_points(self, points: Sequence[PlanPoint], told: Mapping[int, str], verdict: str) -> None:
        """Show plans; `told` says something of some of them."""
        self.verdict.setText(verdict)
        self.verdict.setVisible(bool(verdict))
        self._stack.setCurrentIndex(1 if points else 0)
        self.chart.show_points(points, self.chart.current)
        current = self.chart.current
        best_first = sorted(points, key=lambda point: -point.score)
        self.model.show_rows([_Row(point, told.get(point.plan, "")) for point in best_first])
        self.chart.go_to(current)  # the table makes another row current where its last ones go
        self._follow_chart(current)
        for button in (self.use, self.run, self.see):
            button.setEnabled(bool(points))

    def forget(self) -> None:
        """Show no plan as the current one."""
        self.chart.current = 0

    def _want(self, signal: SignalInstance) -> None:
        if self.current:
            signal.emit(self.current)

    def _follow_chart(self, plan: int) -> None:
        for number, row in enumerate(self.model.rows):
            if row.point.plan == plan and self.table.currentIndex().row() != number:
                self.table.selectRow(number)

    def _follow_table(self) -> None:
        row = self.table.currentIndex().data(ROW_ROLE)
        if row is not None:
            self.chart.go_to(row.point.plan)

    def _lay_out(self) -> None:
        side = holder((self.table, 1), in_row(REST, self.see, self.run, self.use))
        self._stack = stacked(self._empty, split((self.chart, side), (560, 520)))
        in_column(self.verdict, (self._stack, 1), on=self, margins=(8, 8, 8, 8))


def points_of_report(last: LastBuild, names: Mapping[int, str]) -> tuple[list[PlanPoint], dict[int, str]]:
    """Make the points of a finished build, and what is to be said of them."""
    points, remarks = [], {}
    for point in last.points:
        if not point.score:
            continue
        plan = point.plan
        is_own, is_chosen = plan == last.own, plan == last.chosen
        points.append(
            PlanPoint(
                plan, names.get(plan, f"Plan {plan}"), point.score, point.seconds,
                is_own=is_own, is_chosen=is_chosen, is_on_front=point.on_frontier,
            )
        )  # fmt: skip
        notes = ["chosen"] if is_chosen else []
        notes += ["better than yours"] if point.beats_own else []
        remarks[plan] = ", ".join(notes)
    return points, remarks


def points_of_lines(lines: PlanLines, names: Mapping[int, str]) -> list[PlanPoint]:
    """Make the points of a build that goes on: what is known of each plan until now, for all documents."""
    points = []
    for line in lines.lines.values():
        if line.score is None or line.seconds is None or line.dropped or not line.rows:
            continue
        seconds = line.seconds * lines.folder_times * lines.documents / line.rows
        points.append(PlanPoint(line.id, names[line.id], line.score, seconds, is_own=line.id == lines.own))
    best: list[int] = []
    highest = 0.0
    for point in sorted(points, key=lambda p: (p.seconds, -p.score)):
        if point.score > highest:
            best.append(point.plan)
            highest = point.score
    return [PlanPoint(p.plan, p.name, p.score, p.seconds, is_own=p.is_own, is_on_front=p.plan in best) for p in points]
