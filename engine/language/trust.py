"""Python that a pipeline brings along runs only when the user has said that the pipeline is trusted."""

from __future__ import annotations

from collections.abc import Iterator

from engine.errors import PipelineError
from engine.language.position import Positions
from engine.language.problems import Problem
from engine.plan.node import Node
from engine.plan.plan import Plan

TRUST_ADVICE = "Read the code. If you trust it, tick that box in Run, add --trust-code, or in Python trust_code=True."


def code_operators(plan: Plan) -> list[Node]:
    """List the operators of the steps that run Python of the pipeline's own, each once."""
    nodes = {node.name: node for step in plan.steps for node in plan.nodes(step)}
    return [node for node in nodes.values() if node.traits().runs_code]


def trust_warnings(plan: Plan, positions: Positions) -> Iterator[Problem]:
    """Warn of each operator that runs code."""
    for node in code_operators(plan):
        yield Problem(
            "runs Python from the pipeline file, which needs --trust-code",
            TRUST_ADVICE,
            **positions.place(positions.operator(node.name, "code"), node.name),
            severity="warning",
        )


def refuse_untrusted(plan: Plan, positions: Positions, *, trust_code: bool) -> None:
    """Raise PipelineError for a plan with code, unless it is trusted."""
    if trust_code:
        return
    for node in code_operators(plan):
        raise PipelineError(
            "runs Python from the pipeline file, which has not been trusted",
            advice=TRUST_ADVICE,
            **positions.place(positions.operator(node.name, "code"), node.name),
        )
