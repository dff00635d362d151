"""One call of a model, and its reply checked against the schema."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import ItemError
from engine.operators.base import Tools
from engine.operators.model_node import ModelNode
from engine.operators.question import Question, request_for
from models.fits import find_misfits
from models.protocol import Reply


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the turns so far, and the last reply to it."""

    question: Question
    reply: Reply


async def ask_once(node: ModelNode, question: Question, tools: Tools, *, model: str | None = None) -> Reply:
    """Ask the question's model, or another; raises models.errors.ModelError, or ItemError with the raw reply."""
    request = request_for(node, question, tools)
    model = model or question.model
    reply = question.as_object(await (tools.ask(request) if model is None else tools.ask(request, model=model)))
    check_fit(question, reply)
    return reply


def check_fit(question: Question, reply: Reply) -> None:
    """Raise ItemError unless the reply fits the schema: it may come from a cache or another server."""
    if problems := find_misfits(reply.value, dict(question.json_schema)):
        raise ItemError(
            f"the reply does not fit its schema: {'; '.join(problems[:3])}",
            advice="Run the operator again, or with another model.",
            raw_reply=reply.text,
        )
