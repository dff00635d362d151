"""Let a model judge an answer and improve it (paper section 3.2.1): `gleaning`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from engine.language.expressions import CannotEvaluate
from engine.language.layout import refer_back
from engine.language.schema import Field, Scalar, Schema
from engine.language.templates import prompt_template
from engine.operators.accounting import Failure, attempt
from engine.operators.asking.emptiness import visible
from engine.operators.asking.model_node import Gleaning, ModelNode
from engine.operators.asking.question import answer_fields, answer_format
from engine.operators.asking.replies import Asked, ask_once
from engine.operators.base import Tools

JUDGEMENT = Schema((Field("should_refine", Scalar("boolean")), Field("improvements", Scalar("string"))))
"""What the judge replies, as in DocETL."""


async def glean(node: ModelNode, asked: Asked, tools: Tools) -> Asked:
    """Judge and improve an answer until the judge is content, or `num_rounds` is reached.

    Judge and model see the whole chat. A round that fails (out of tokens, out of room) costs nobody the answer there
    is: it stands, and the ledger says so.
    """
    if node.gleaning is None or not answer_fields(node, asked.question):
        return asked
    for number in range(1, node.gleaning.num_rounds + 1):
        if not _is_wanted(node.gleaning, asked, tools):
            break
        result = await attempt(partial(_refined, node, node.gleaning, tools, number), asked)
        if isinstance(result, Failure):
            detail = f"gleaning round {number} failed, the answer before it stands: {result.error}"
            tools.record.note(asked.question.row_id, "not refined", "gleaning", detail)
            break
        if result is asked:
            break
        asked = result
    return asked


def _is_wanted(gleaning: Gleaning, asked: Asked, tools: Tools) -> bool:
    """Evaluate the condition; one that has no value for this answer speaks for gleaning."""
    if gleaning.condition is None:
        return True
    values = asked.question.values
    try:
        return gleaning.condition.holds({**values, **asked.question.answer(asked.reply)}, values)
    except CannotEvaluate as error:
        tools.record.note(asked.question.row_id, "gleaned", "gleaning", f"its condition has no value: {error}")
        return True


async def _refined(node: ModelNode, gleaning: Gleaning, tools: Tools, number: int, asked: Asked) -> Asked:
    """Play a round: judge, and return the improved answer, or `asked` itself where it is good.

    Raises what asking raises.
    """
    answer = asked.question.answer(asked.reply)
    values = visible(asked.question.values)
    shown = {"output": {**values, **answer}, "input": values}
    wish = refer_back(gleaning.validation_prompt, node.layout, asked.question.prompt, **shown)
    message = f"{wish.rstrip()}\n\n{answer_format(JUDGEMENT.describe())}"
    question = replace(
        asked.question.then(asked.reply, message, f"judge round {number}"),
        json_schema=JUDGEMENT.json_schema(lambda _: ()),
        bare="",
        examples_for=asked.question.json_schema,
        probabilities=False,
    )
    judgement = (await ask_once(node, question, tools, model=gleaning.model)).value
    improvements = judgement["improvements"].strip()
    if not (judgement["should_refine"] and improvements):
        return asked
    message = prompt_template("improve").render(improvements=improvements).strip()
    question = asked.question.then(asked.reply, message, f"gleaning round {number}")
    return Asked(question, await ask_once(node, question, tools))
