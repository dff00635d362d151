"""Show a model what a retriever of the pipeline finds for a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from engine.language.templates import CONTEXT_PLACE, prompt_template
from engine.operators.base import Tools
from engine.operators.model_node import ModelNode
from engine.operators.question import Question


async def with_context(node: ModelNode, question: Question, tools: Tools) -> Question:
    """Put what the retriever finds where the prompt says `{{ retrieval_context }}`, else behind the prompt.

    Behind it, unlike DocETL's before it: a document at the head of a prompt stays a prefix that prompts share.
    """
    if node.retriever is None:
        return _placed(question, "") if CONTEXT_PLACE in question.prompt else question
    found = await tools.retrieve(node.retriever, question.values)
    context = prompt_template("retrieved").render(texts=[item.text for item in found]).strip()
    tools.record.retrieved(question.row_id, context, found)
    return _placed(question, context)


def _placed(question: Question, context: str) -> Question:
    if CONTEXT_PLACE in question.prompt:
        prompt = question.prompt.replace(CONTEXT_PLACE, context)
    elif context:
        more = prompt_template("more_context").render(context=context).strip()
        prompt = f"{question.prompt.rstrip()}\n\n{more}"
    else:
        prompt = question.prompt
    about = question.about
    if about is None:
        return replace(question, prompt=prompt)

    def placed_about(shown: Mapping[str, str]) -> Question:
        return _placed(about(shown), context)

    return replace(question, prompt=prompt, about=placed_about)
