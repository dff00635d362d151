"""Ask a model whether the two of a pair are the same, and tell the ledger what became of the pair."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.accounting import Failure
from engine.operators.asking import Question, ask
from engine.operators.base import Decision, Tools
from engine.operators.blocking import ComparingNode
from engine.operators.matching import Verdict
from engine.operators.pairs import Proposal

VERDICT = Schema.parse({"same": "boolean"})


async def ask_same(
    node: ComparingNode,
    prompt: Template,
    row_id: str,
    values: Mapping[str, Any],
    tools: Tools,
    texts: Collection[str] = (),
) -> bool:
    """Ask with a prompt about two values; `values` are what it is filled in with."""
    question = Question(
        prompt=prompt.render(**values),
        json_schema=VERDICT.json_schema(lambda _: ()),
        form=VERDICT.describe(),
        texts=texts,
        task="compare",
        row_id=row_id,
        values=values,
        template=prompt,
    )
    return bool((await ask(node, question, node.comparing(tools)))["same"])


def told(subject: str, left: str, right: str, pair: Proposal, verdict: Verdict) -> Decision:
    """Write a verdict for the ledger."""
    match verdict:
        case Failure():
            return Decision(subject, left, right, "undecided", "error", verdict.error)
        case str():
            return Decision(subject, left, right, "undecided", "limit", verdict)
    return Decision(subject, left, right, "same" if verdict else "different", "model", pair.reason)
