"""The tree of plans: whatever order events come in, each plan stands once, below the one it was made from."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from desktop.improve.plan_lines import lines_of_report
from desktop.improve.plan_tree import PLAN_ROLE, PlanTree
from engine.worker.contract.build import LastBuild, PlanSummary, PlanWords
from engine.worker.contract.events import (
    BuildFinished,
    BuildStarted,
    CandidateDropped,
    CandidateFound,
    CandidateRated,
    Event,
    PlaceFinished,
)

STARTED = BuildStarted("a.redwell", "m", "m", minutes=20.0, documents=4, rows=12, operators=(), plan=1, reviewed=0)


def found(plan: int, parent: int) -> CandidateFound:
    return CandidateFound(plan, parent, "gleaning_map", "w", "s", depth=0, by_model=True)


def rated(plan: int, rows: int, score: float) -> CandidateRated:
    return CandidateRated(plan, rows, score, seconds=3.0, tokens=9)


def dropped(plan: int, parent: int) -> CandidateDropped:
    return CandidateDropped(plan, parent, "isolating", "no")


def finished(plan: int, chosen: int, depth: int = 0) -> PlaceFinished:
    return PlaceFinished(plan, chosen, "s", depth, "r")


@st.composite
def builds(draw: st.DrawFn) -> tuple[list[Event], dict[int, int]]:
    """Events of a build in any order, and the parent of each plan."""
    count = draw(st.integers(0, 9))
    parents = {plan: draw(st.integers(1, plan - 1)) for plan in range(2, count + 2)}
    events: list[Event] = [STARTED]
    for plan, parent in parents.items():
        kind = draw(st.sampled_from(["found", "rated", "dropped", "failed"]))
        if kind != "failed":
            events.append(found(plan, parent))
        if kind == "rated":
            events += [rated(plan, rows, draw(st.floats(1, 4))) for rows in (3, 5)]
            events.append(finished(parent, plan))
        if kind in ("dropped", "failed"):
            events.append(dropped(plan, parent))
    return draw(st.permutations(events)), parents


def shown(tree: PlanTree) -> dict[int, int]:
    """Walk the tree; return the plan above each plan, 0 for the top."""
    above: dict[int, int] = {}

    def walk(index: QModelIndex, plan: int) -> None:
        for row in range(tree.rowCount(index)):
            child = tree.index(row, 0, index)
            id = child.data(PLAN_ROLE)
            assert id not in above
            assert tree.parent(child) == index
            above[id] = plan
            walk(child, id)

    walk(QModelIndex(), 0)
    return above


@given(builds())
def test_events_in_any_order_make_the_same_tree(build: tuple[list[Event], dict[int, int]]) -> None:
    events, parents = build
    tree = PlanTree()
    tester = QAbstractItemModelTester(tree, QAbstractItemModelTester.FailureReportingMode.Fatal)
    for event in events:
        tree.take(event)
        assert set(shown(tree)) == set(tree.lines.lines)
    assert shown(tree) == {1: 0, **parents}
    last = {event.plan: event.score for event in events if isinstance(event, CandidateRated) and event.rows == 5}
    for plan, score in last.items():
        assert tree.lines.lines[plan].score == score
    again = PlanTree()
    again.show_lines(tree.lines)
    assert shown(again) == shown(tree)
    tester.deleteLater()


def test_a_chosen_index_stays_with_its_plan_while_the_tree_grows(qapp: object) -> None:
    tree = PlanTree()
    for event in (STARTED, rated(3, 3, 2.0), found(2, 1)):
        tree.take(event)
    kept = QPersistentModelIndex(tree.index_of(3))
    assert not kept.parent().isValid()
    tree.take(found(3, 2))
    assert kept.data(PLAN_ROLE) == 3
    assert kept.parent().data(PLAN_ROLE) == 2


def test_cells_say_what_is_known() -> None:
    tree = PlanTree()
    tree.show_words([PlanWords("gleaning_map", "Gleaning", "lets a judge look")])
    for event in (STARTED, found(2, 1), rated(2, 3, 2.5), finished(1, 2), finished(2, 1, depth=1), dropped(3, 1)):
        tree.take(event)
    row = [tree.index_of(2, column).data() for column in range(tree.columnCount())]
    assert row == ["Gleaning", "2.50", "3", "3 s", "the best so far"]
    assert tree.index_of(1).data() == "Your question"
    assert tree.index_of(3, 4).data() == "dropped"
    spoken = tree.index_of(2).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "Gleaning, rated 2.50 of 4 on 3 rows, the best so far"
    assert "lets a judge look" in tree.index_of(2).data(Qt.ItemDataRole.ToolTipRole)
    assert tree.index_of(3).data(Qt.ItemDataRole.ToolTipRole).endswith("no")
    titles = [tree.headerData(column, Qt.Orientation.Horizontal) for column in range(5)]
    assert titles == ["Plan", "Rating", "Rows", "Time", "State"]


def test_the_report_of_the_last_build_makes_the_same_tree() -> None:
    plan = PlanSummary(
        id=2,
        parent=1,
        directive="isolating",
        words="",
        depth=0,
        by_model=False,
        dropped="",
        score=3.0,
        rows=5,
        seconds=2.0,
    )
    last = LastBuild(
        own=1,
        chosen=2,
        reason="r",
        status="finished",
        minutes=20.0,
        seconds=9.0,
        sample=4,
        rows=12,
        outputs_reused=0,
        outputs_made=9,
        points=(),
        plans=(replace(plan, id=1, parent=None), plan),
        report="",
    )
    lines = lines_of_report(last)
    assert lines.state_of(lines.lines[2]) == "chosen"
    assert lines.folder_times == 3.0
    tree = PlanTree()
    tree.show_lines(lines)
    assert shown(tree) == {1: 0, 2: 1}


def test_a_plan_for_which_no_time_was_left_is_not_being_tried_any_more() -> None:
    tree = PlanTree()
    for event in (STARTED, found(2, 1)):
        tree.take(event)
    assert tree.index_of(2, 4).data() == "being tried"
    tree.take(BuildFinished("finished", 1, 2.0, 2.0, 0.0, "r", 9.0, 0, 0, 0, 0))
    assert tree.index_of(2, 4).data() == "not finished"
    assert tree.index_of(1, 4).data() == "chosen"
