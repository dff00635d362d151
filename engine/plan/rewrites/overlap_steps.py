"""Run steps that do not wait for each other at the same time."""

from __future__ import annotations

from dataclasses import replace

from engine.plan.work import Workflow


def overlap_steps(workflow: Workflow) -> Workflow:
    """Start each step as soon as the rows of its inputs are there, so that the model's batch stays full.

    The ledger keeps the order of the plan. What a reply is does not depend on what else is asked at the time.

        before: one: records -> find
                two: records -> list
                three: one + two -> report
        after:  one: records -> find
                two: records -> list
                three: one + two -> report
                (one, two run together)
    """
    names = {step.name for step in workflow.steps}
    free = [step.name for step in workflow.steps if not names & set(step.inputs)]
    if len(workflow.steps) < 2:
        return workflow
    if len(free) > 1:
        reason = f"{', '.join(free)} read no other step, so they run together"
        workflow = workflow.noting("overlap_steps", ", ".join(free), reason)
    return replace(workflow, overlaps=True)
