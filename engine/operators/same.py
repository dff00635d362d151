"""Ask a model whether the two of a pair are the same, and tell the ledger what became of the pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.language.layout import lay_out, shows_document
from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.accounting import Failure
from engine.operators.asking import Question, ask, texts_of
from engine.operators.base import Decision, Tools
from engine.operators.blocking import ComparingNode
from engine.operators.matching import Verdict
from engine.operators.pairs import Order, Proposal, by_left, by_right

VERDICT = Schema.parse({"same": "boolean"})


async def ask_same(
    node: ComparingNode,
    prompt: Template,
    row_id: str,
    values: Mapping[str, Any],
    tools: Tools,
) -> bool:
    """Ask with a prompt about two values; `values` are what it is filled in with."""
    question = Question(
        prompt=lay_out(prompt, node.layout, **values),
        json_schema=VERDICT.json_schema(lambda _: ()),
        form=VERDICT.describe(),
        texts=[
            text
            for variable, side in values.items()
            if isinstance(side, Mapping)
            for text in texts_of(side, prompt, variable=variable)
        ],
        task="compare",
        row_id=row_id,
        values=values,
        template=prompt,
    )
    return bool((await ask(node, question, node.comparing(tools)))["same"])


def asking_order(
    node: ComparingNode, prompt: Template, lefts: Iterable[Mapping[str, Any]], rights: Iterable[Mapping[str, Any]]
) -> Order:
    """Order pairs so that prompts which begin with the same side follow each other: what they share is read once.

    `lefts` and `rights` are the values of the prompt's variables, for each item of either side. The right side leads
    where the prompt shows it first, or where it alone has documents that are put first.
    """
    lefts, rights = list(lefts), list(rights)
    if not (lefts and rights):
        return by_left
    if node.layout == "document_first":
        left_leads, right_leads = (any(shows_document(prompt, item) for item in side) for side in (lefts, rights))
        if left_leads and right_leads:
            left_leads, right_leads = min(lefts[0]) < min(rights[0]), min(rights[0]) < min(lefts[0])
        if left_leads or right_leads:
            return by_right if right_leads else by_left
    first = next((path[0] for path in prompt.shows if path[0] in lefts[0] or path[0] in rights[0]), "")
    return by_right if first in rights[0] else by_left


def told(subject: str, left: str, right: str, pair: Proposal, verdict: Verdict) -> Decision:
    """Write a verdict for the ledger."""
    match verdict:
        case Failure():
            return Decision(subject, left, right, "undecided", "error", verdict.error)
        case str():
            return Decision(subject, left, right, "undecided", "limit", verdict)
    return Decision(subject, left, right, "same" if verdict else "different", "model", pair.reason)
