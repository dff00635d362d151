"""Check an answer with the pipeline's own expressions, and ask again where it fails (paper section 2.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.errors import ItemError
from engine.language.expressions import CannotEvaluate, Expression
from engine.language.templates import prompt_template
from engine.operators.asking.model_node import ModelNode
from engine.operators.asking.question import Question, answer_fields, fits
from engine.operators.asking.replies import Asked, ask_once
from engine.operators.base import Tools
from engine.rows import Row
from models.protocol import Reply, canonical_json

ADVICE = "Loosen the expression, raise num_retries_on_validate_failure, or ask for it in the prompt."


Complaint = tuple[str, str]
"""An expression that an answer fails, and what was seen: the values of the fields it names."""


async def validated(node: ModelNode, asked: Asked, tools: Tools) -> Asked:
    """Ask again, with what failed, until the answer passes; raises ItemError with the last reply when it never does.

    Each retry continues the chat, so no two of them are the same request.
    """
    retries = 0
    while complaints := failing(node, asked.question, asked.reply):
        if retries == node.num_retries_on_validate_failure:
            raise _exhausted(asked.reply, complaints, retries)
        retries += 1
        message = prompt_template("retry").render(complaints=complaints).strip()
        question = asked.question.then(asked.reply, message, f"retry {retries} after validation")
        if not fits(node, question, tools):
            raise _exhausted(asked.reply, complaints, retries - 1, "; the prompt leaves no room for a retry")
        asked = Asked(question, await ask_once(node, question, tools))
    return asked


def refuse_invalid(node: ModelNode, question: Question, reply: Reply) -> None:
    """Raise ItemError for an answer that fails and cannot be asked for again."""
    if complaints := failing(node, question, reply):
        raise _exhausted(reply, complaints, 0)


def refuse_invalid_parts(node: ModelNode, row: Row, answer: dict[str, Any]) -> None:
    """Raise ItemError for an answer that fails and was asked for part by part: there is no one question to repeat."""
    if node.validate:
        asked = Question("", {"properties": answer}, "", row_id=row.id, values=row.values)
        refuse_invalid(node, asked, Reply(value=answer, text=canonical_json(answer)))


def failing(node: ModelNode, question: Question, reply: Reply) -> list[Complaint]:
    """List the expressions of `validate` that an answer fails; raises ItemError where one names a missing field."""
    answer = question.answer(reply)
    output = {**question.values, **answer}
    return [
        (expression.text, expression.seen(output, question.values))
        for expression in concerning(node, question, node.validate)
        if not _holds(expression, output, question)
    ]


def concerning(node: ModelNode, question: Question, expressions: tuple[Expression, ...]) -> Iterator[Expression]:
    """Give the expressions that are about what a question asks for (an operator may ask for its fields one by one)."""
    asked = answer_fields(node, question)
    elsewhere = frozenset(node.schema.names) - asked if node.schema else frozenset()
    return (e for e in expressions if asked and not e.mentions("output") & elsewhere)


def _holds(expression: Expression, output: dict[str, object], question: Question) -> bool:
    try:
        return expression.holds(output, question.values)
    except CannotEvaluate:
        return False  # told to the model as a failure: the answer lacks what the expression needs


def _exhausted(reply: Reply, complaints: list[Complaint], retries: int, more: str = "") -> ItemError:
    failed = "; ".join(f"{expression} ({seen})" if seen else expression for expression, seen in complaints)
    after = f" after {retries} {'retry' if retries == 1 else 'retries'}" if retries else ""
    return ItemError(f"the answer fails validation{after}: {failed}{more}", advice=ADVICE, raw_reply=reply.text)
