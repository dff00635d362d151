"""Give a reduce only the fields that it may read."""

from __future__ import annotations

from dataclasses import replace

from engine.plan.node import Node
from engine.plan.work import Workflow, WorkStep, each_step


def drop_unread_columns(workflow: Workflow) -> Workflow:
    """Hand an operator that makes one row of many only fields that its prompts and keys name.

    Where a prompt reads rows whole (`{{ inputs }}`, a loop over fields), it sees every field, and none is left out:
    dropping one would change the prompt. The rows in the case keep all their fields, for evidence and tracing.

        before: one: records -> find -> report
        after:  one: records -> find -> report of what it reads
    """
    return each_step(workflow, _narrow_in_step)


def _narrow_in_step(workflow: Workflow, step: WorkStep) -> Workflow:
    for index, work in enumerate(step.works):
        if _reads_what_it_names(work.node):
            works = (*step.works[:index], replace(work, narrow=True), *step.works[index + 1 :])
            step = replace(step, works=works)
            reason = "its prompts name every field they read, so the others need not be carried into the groups"
            workflow = workflow.with_step(step).noting("drop_unread_columns", work.node.name, reason)
    return workflow


def _reads_what_it_names(node: Node) -> bool:
    traits = node.traits()
    reduces = traits.cardinality == "many_to_one" and not traits.keeps_others and traits.inputs == 1
    return reduces and traits.calls_model and not traits.reads_unknown and not node.retriever
