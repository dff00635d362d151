"""Parse a question with the model, where the pipeline leaves something open (answer)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.answers.parsing import Parsed, parse_form, parse_schema, parsed_of
from engine.answers.values import answer_types
from engine.language.templates import prompt_template
from engine.operators.asking import Question, ask_reply
from engine.operators.base import Tools
from engine.rows import Row

if TYPE_CHECKING:
    from engine.operators.answer import Answer, AskedQuestion


async def parse_question(node: Answer, asked: AskedQuestion, row: Row, tools: Tools) -> Parsed:
    """Say what a question asks for and where to look; what the pipeline says of it stands.

    The prompt holds nothing of the row but the question, so each different question is asked once in a case.
    """
    question = asked.question.render(input=row.values).strip()
    parsed = Parsed(question)
    clarified = asked.clarified_in(row.values)
    if asked.needs_parsing:
        types = answer_types()
        told = Question(
            prompt=prompt_template("answers/parse").render(question=question, clarified=clarified).strip(),
            json_schema=parse_schema(types),
            form=parse_form(types),
            task="parse question",
            row_id=row.id,
            values=row.values,
        )
        reply = await ask_reply(replace(node, validate=(), gleaning=None, agree=None), told, tools)
        parsed = parsed_of(question, reply.value)
    return replace(
        parsed,
        keywords=asked.keywords or parsed.keywords,
        scope=asked.scope or parsed.scope,
        type=asked.type or parsed.type,
        shape=asked.shape or parsed.shape,
        clarification="" if clarified else asked.clarification or parsed.clarification,
        clarified=clarified,
    )
