"""Run a step that only one other step reads as the beginning of that step."""

from __future__ import annotations

from dataclasses import replace

from engine.plan.work import Workflow, WorkStep


def join_steps(workflow: Workflow) -> Workflow:
    """Put two steps together where the second reads the first alone and nothing else does, no retriever either.

    A row then goes on to the second step while others are still in the first.

        before: one: records -> list -> keep
                two: one -> find
        after:  two: records -> list -> keep -> find
    """
    for second in workflow.steps:
        for first in workflow.steps:
            if _is_private(workflow, first, second):
                joined = WorkStep(second.name, first.inputs, (*first.works, *second.works))
                steps = tuple(joined if s is second else s for s in workflow.steps if s is not first)
                reason = f"only {second.name!r} reads it, so its rows go on without waiting for each other"
                return join_steps(replace(workflow, steps=steps).noting("join_steps", first.name, reason))
    return workflow


def _is_private(workflow: Workflow, first: WorkStep, second: WorkStep) -> bool:
    if second.inputs != (first.name,) or first.name in workflow.indexed:
        return False
    return [step.name for step in workflow.steps if first.name in step.inputs] == [second.name]
