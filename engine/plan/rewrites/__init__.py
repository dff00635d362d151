"""Exact rewrites: the same rows, values, order, row ids, lineage and reasons, with less work.

One rule is one module with one public function of its name, from a Workflow to a Workflow. A rule that is not sure
leaves things as they are. What may differ: a row that is left out earlier does not reach the operators between, so
what they would have written, or in which of them it would have failed, is not known.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.plan.plan import Plan
from engine.plan.rewrites.drop_unread_columns import drop_unread_columns
from engine.plan.rewrites.fuse_code import fuse_code
from engine.plan.rewrites.join_steps import join_steps
from engine.plan.rewrites.overlap_steps import overlap_steps
from engine.plan.rewrites.push_filter_down import push_filter_down
from engine.plan.rewrites.push_limit_down import push_limit_down
from engine.plan.work import Workflow, as_written

RULES: tuple[Callable[[Workflow], Workflow], ...] = (
    join_steps,
    push_filter_down,
    push_limit_down,
    fuse_code,
    drop_unread_columns,
    overlap_steps,
)
"""In the order in which they are applied: each sees what those before it did."""


def rewritten(plan: Plan) -> Workflow:
    """Return the work of a plan after all exact rewrites."""
    workflow = as_written(plan)
    for rule in RULES:
        workflow = rule(workflow)
    return workflow
