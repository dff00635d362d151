"""That there is nothing to list is a finding too: how likely the model held it, kept beside the answer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from engine.operators.asking.model_node import AGREE, ModelNode
from engine.operators.asking.question import Question, answer_fields
from engine.operators.base import Tools
from engine.plan.node import LEFT, RIGHT
from models.protocol import Reply, pointer_to

EMPTINESS = "_empty"
"""The field that keeps it, for each list that operators wrote; no prompt shows it unless it is named."""

_FOR_PEOPLE = frozenset({EMPTINESS, EMPTINESS + LEFT, EMPTINESS + RIGHT})


def visible(values: Mapping[str, Any], keys: Collection[str] = ()) -> Mapping[str, Any]:
    """Return what a prompt may see: the fields `keys`, or all if there are none but what is kept for people only."""
    if keys:
        return {k: values[k] for k in keys if k in values}
    return {k: value for k, value in values.items() if k not in _FOR_PEOPLE} if _FOR_PEOPLE & values.keys() else values


def asking_for_emptiness(node: ModelNode, question: Question) -> Question:
    """Ask how sure the model is where its answer may be an empty list."""
    return replace(question, probabilities=True) if any(_lists(node, question)) else question


def note_emptiness(node: ModelNode, question: Question, reply: Reply, tools: Tools) -> None:
    """Note in `tools.record`, by field, the probability that the model gave an empty list; none where it does not say.

    The probability is among what the schema allows there: an entry, or none (models.choices). Nothing is noted of lists
    that no row has (the lines that extract asks for), and of several answers the first one's.
    """
    if node.schema is None or question.sample:
        return
    for name in _lists(node, question):
        chosen = reply.probabilities.get(pointer_to(name))
        if chosen is not None and isinstance(reply.value, Mapping):
            probability = 1 - chosen if reply.value.get(name) else chosen
            tools.record.emptiness.setdefault(question.row_id, {})[name] = round(probability, 4)


def _lists(node: ModelNode, question: Question) -> Iterator[str]:
    """Give the fields of the operator's own answer about one row that are lists and may be empty."""
    if AGREE not in node.takes or question.answer_at:
        return
    properties: Mapping[str, Any] = question.json_schema.get("properties", {})
    for name in answer_fields(node, question):
        schema = properties[name]
        if schema.get("type") == "array" and not schema.get("minItems"):
            yield name
