"""Let a filter decide before expensive operators that it does not depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.plan.mentions import may_read
from engine.plan.node import Node
from engine.plan.work import Work, Workflow, WorkStep, each_step, is_row_by_row, streams


def push_filter_down(workflow: Workflow) -> Workflow:
    """Ask a filter first where it reads nothing that the operators before it write or drop.

    The filter only decides early. A row that it keeps goes on as it came and passes the filter again at its place, so
    ids, lineage and fields are as written; a model's reply is in the case by then and is not asked for twice.

        before: one: records -> find -> keep
        after:  one: records -> keep decides -> find -> keep
    """
    return each_step(workflow, _push_in_step)


def _push_in_step(workflow: Workflow, step: WorkStep) -> Workflow:
    for name in [work.node.name for work in step.works if _is_plain_filter(work.node)]:
        index = next(i for i, work in enumerate(step.works) if work.node.name == name)
        place = _earliest(step.works, index)
        passed = [work.node for work in step.works[place:index]]
        saved = [node.name for node in passed if (t := node.traits()).calls_model or t.runs_code]
        if not saved:
            continue
        works = (*step.works[:place], replace(step.works[index], decides=True), *step.works[place:])
        step = replace(step, works=works)
        reason = f"it reads nothing that {', '.join(saved)} would write, so rows that it rejects need not go through"
        workflow = workflow.with_step(step).noting("push_filter_down", name, reason)
    return workflow


def _is_plain_filter(node: Node) -> bool:
    """Say whether a node keeps or turns down each row by itself, by fields that can be named."""
    traits = node.traits()
    unsure = traits.reads_unknown or traits.opens
    return streams(node) and traits.cardinality == "zero_or_one" and traits.inputs == 1 and not unsure


def _earliest(works: Sequence[Work], index: int) -> int:
    """Find the first place at which the filter at `index` decides as it does at its own."""
    place = index
    while place > 0 and _can_pass(works, place - 1, works[index].node):
        place -= 1
    return place


def _can_pass(works: Sequence[Work], index: int, node: Node) -> bool:
    """Say whether the filter `node` may decide before the operator at `index`.

    That operator must turn down no row, for the earlier of two filters gives the reason; a filter that has decided
    further up turns down none at its own place.
    """
    passed = works[index]
    if passed.decides:
        return False
    has_decided = any(work.decides and work.node == passed.node for work in works[:index])
    traits = passed.node.traits()
    if not (is_row_by_row(passed.node) or has_decided) or traits.opens or not traits.keeps_others:
        return False
    return not any(may_read(node, field) for field in traits.writes | traits.removes)
