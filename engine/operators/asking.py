"""Ask a model on behalf of an operator: the only way there is, with all that the common keys ask for.

A question is completed by what a retriever finds, cut (or read in parts) where it is too long, answered, judged and
improved (gleaning), and checked (validate) with retries. See docs/operators/common.md.
"""

from __future__ import annotations

from typing import Any

from engine.operators.agreeing import ask_to_agree
from engine.operators.base import Tools
from engine.operators.emptiness import asking_for_emptiness, note_emptiness
from engine.operators.gleaning import glean
from engine.operators.lengths import fitted
from engine.operators.long_inputs import answer_in_parts, needs_parts
from engine.operators.model_node import Gleaning, ModelNode
from engine.operators.question import Question, Turn, answer_fields, fits, request_for
from engine.operators.quoting import main_text_field, quote_source, reads_of, texts_of, visible
from engine.operators.replies import Asked, ask_once
from engine.operators.retrieving import with_context
from engine.operators.validating import refuse_invalid, validated
from models.protocol import Reply

__all__ = [
    "Gleaning",
    "ModelNode",
    "Question",
    "Turn",
    "answer_fields",
    "ask",
    "ask_reply",
    "fits",
    "main_text_field",
    "quote_source",
    "reads_of",
    "request_for",
    "settle",
    "texts_of",
    "visible",
]


async def ask(node: ModelNode, question: Question, tools: Tools) -> dict[str, Any]:
    """Ask, and check the reply against its schema even if it comes from a cache or another server.

    Raises models.errors.ModelError, or ItemError with the raw reply.
    """
    return question.read((await ask_reply(node, question, tools)).value)


async def ask_reply(node: ModelNode, question: Question, tools: Tools) -> Reply:
    """As `ask`, but return the whole reply, its value not yet read by `question.read`.

    With `agree`, the reply by vote of several readings.
    """
    if (agree := node.agreement) is not None:
        return await ask_to_agree(node, agree, question, tools, _ask_once)
    question = asking_for_emptiness(node, question)
    reply = await _ask_once(node, question, tools)
    note_emptiness(node, question, reply, tools)
    return reply


async def _ask_once(node: ModelNode, question: Question, tools: Tools) -> Reply:
    question = await with_context(node, question, tools)
    if needs_parts(node, question, tools):
        reply = await answer_in_parts(node, question, tools, _improved)
        refuse_invalid(node, question, reply)
        return reply
    question = fitted(node, question, tools)
    return await settle(node, question, await ask_once(node, question, tools), tools)


async def settle(node: ModelNode, question: Question, reply: Reply, tools: Tools) -> Reply:
    """Glean and validate a first reply to a question, as `ask_reply` does; return the reply that stands.

    For operators that come by the reply in another way (several rows in one prompt). Raises as `ask` does.
    """
    return (await validated(node, await glean(node, Asked(question, reply), tools), tools)).reply


async def _improved(node: ModelNode, question: Question, tools: Tools) -> Reply:
    """Answer a question about a part: gleaned, and not yet validated, for the whole answer is."""
    asked = Asked(question, await ask_once(node, question, tools))
    return (await glean(node, asked, tools)).reply
