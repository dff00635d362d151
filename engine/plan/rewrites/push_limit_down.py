"""Do not work on rows that a limit will turn down."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from engine.plan.work import Workflow, WorkStep, each_step, is_row_by_row


def push_limit_down(workflow: Workflow) -> Workflow:
    """Run the operators before a limit (Traits.keeps_first) until enough rows have come out, and on no more.

    A row that fails on the way is made up for by the next, as in the plan as written. The limit itself turns down
    the rows that were not worked on, with its own reason.

        before: one: records -> list -> find -> some
        after:  one: records -> some pulls (list, find)
    """
    return each_step(workflow, _push_in_step)


def _push_in_step(workflow: Workflow, step: WorkStep) -> Workflow:
    for index, work in enumerate(step.works):
        first = work.node.traits().keeps_first
        if first is None:
            continue
        before = list(takewhile(lambda w: not w.decides and is_row_by_row(w.node), reversed(step.works[:index])))
        saved = [w.node.name for w in reversed(before) if (t := w.node.traits()).calls_model or t.runs_code]
        if not saved:
            continue
        pulling = replace(work, pulls=len(before))
        step = replace(step, works=(*step.works[:index], pulling, *step.works[index + 1 :]))
        reason = f"it keeps the first {first} rows, so {', '.join(saved)} need not work on those behind them"
        workflow = workflow.with_step(step).noting("push_limit_down", work.node.name, reason)
    return workflow
