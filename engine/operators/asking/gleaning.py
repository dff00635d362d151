"""Let a model judge an answer and improve it (paper section 3.2.1): `gleaning`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

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
        result = await attempt(_Round(node, node.gleaning, tools, number).play, asked)
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


@dataclass(frozen=True)
class _Round:
    """One round: judge, and improve if the judge says so."""

    node: ModelNode
    gleaning: Gleaning
    tools: Tools
    number: int

    async def play(self, asked: Asked) -> Asked:
        """Return the improved answer, or `asked` itself where it is good. Raises what asking raises."""
        judgement = await self._judge(asked)
        improvements = judgement["improvements"].strip()
        if not (judgement["should_refine"] and improvements):
            return asked
        message = prompt_template("improve").render(improvements=improvements).strip()
        question = asked.question.then(asked.reply, message, f"gleaning round {self.number}")
        return Asked(question, await ask_once(self.node, question, self.tools))

    async def _judge(self, asked: Asked) -> dict[str, Any]:
        answer = asked.question.answer(asked.reply)
        values = visible(asked.question.values)
        asks, shown = self.gleaning.validation_prompt, {"output": {**values, **answer}, "input": values}
        wish = refer_back(asks, self.node.layout, asked.question.prompt, **shown)
        message = f"{wish.rstrip()}\n\n{answer_format(JUDGEMENT.describe())}"
        question = replace(
            asked.question.then(asked.reply, message, f"judge round {self.number}"),
            json_schema=JUDGEMENT.json_schema(lambda _: ()),
            bare="",
            examples_for=asked.question.json_schema,
            probabilities=False,
        )
        reply = await ask_once(self.node, question, self.tools, model=self.gleaning.model)
        return dict(reply.value)
