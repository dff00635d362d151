"""Cut a plan off behind one of its operators."""

from __future__ import annotations

from dataclasses import replace

from engine.errors import PipelineError
from engine.plan.plan import Output, Plan, Step


def up_to(plan: Plan, operator: str) -> Plan:
    """Return the plan that ends with an operator: what comes behind it in its step, and the later steps, are left out.

    Steps before it that it does not need stay. Raises PipelineError where no step runs it.
    """
    steps: list[Step] = []
    for step in plan.steps:
        if operator in step.operators:
            names = step.operators[: step.operators.index(operator) + 1]
            steps.append(replace(step, operators=names))
            used = {name for one in steps for name in one.operators}
            kept = tuple(node for node in plan.operators if node.name in used)
            return replace(plan, steps=tuple(steps), operators=kept, output=Output())
        steps.append(step)
    raise PipelineError(
        f"no step runs {operator!r}", advice="Put it into a step, or choose another operator.", operator=operator
    )
