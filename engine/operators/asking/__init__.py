"""Ask a model on behalf of an operator: the only way there is, with all that the common keys ask for.

A question is completed by what a retriever finds, cut (or read in parts) where it is too long, answered, judged and
improved (gleaning), and checked (validate) with retries. See docs/operators/common.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.language.schema import Quote, QuoteSource, Schema
from engine.language.templates import CONTEXT_PLACE, Template, prompt_template
from engine.operators.asking.agreeing import ask_to_agree
from engine.operators.asking.emptiness import EMPTINESS, asking_for_emptiness, note_emptiness, visible
from engine.operators.asking.gleaning import glean
from engine.operators.asking.lengths import fitted
from engine.operators.asking.long_inputs import answer_in_parts, needs_parts
from engine.operators.asking.model_node import (
    AGREE,
    COMPONENTS,
    LAYOUT,
    RETRIEVER,
    SPLIT,
    Component,
    Gleaning,
    ModelNode,
)
from engine.operators.asking.question import Question, Turn, answer_format, fits, prompt_tokens, reply_room
from engine.operators.asking.replies import Asked, ask_once
from engine.operators.asking.validating import refuse_invalid, refuse_invalid_parts, validated
from engine.operators.base import Tools
from engine.text.name_finder import about
from engine.text.sentences import sentences
from models.protocol import Reply

__all__ = [
    "AGREE",
    "COMPONENTS",
    "EMPTINESS",
    "LAYOUT",
    "RETRIEVER",
    "SPLIT",
    "Component",
    "Gleaning",
    "ModelNode",
    "Question",
    "Turn",
    "answer_format",
    "ask",
    "ask_once",
    "ask_reply",
    "fits",
    "main_text_field",
    "prompt_tokens",
    "quote_source",
    "reads_of",
    "refuse_invalid_parts",
    "reply_room",
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


async def with_context(node: ModelNode, question: Question, tools: Tools) -> Question:
    """Put what the retriever finds where the prompt says `{{ retrieval_context }}`, else behind the prompt.

    Behind it, unlike DocETL's before it: a document at the head of a prompt stays a prefix that prompts share.
    """
    if node.retriever is None:
        return _placed(question, "") if CONTEXT_PLACE in question.prompt else question
    passages = await tools.retrieve(node.retriever, question.values)
    context = prompt_template("retrieved").render(texts=[item.text for item in passages]).strip()
    tools.record.retrieved(question.row_id, context, passages)
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


def texts_of(values: Mapping[str, Any], *prompts: Template | None, variable: str = "input") -> list[str]:
    """Return the values that are text, of the fields that one of the prompts mentions if any is given.

    What a request looks like must not depend on fields that its prompt does not read: a rewrite may leave them out.
    """
    templates = [prompt for prompt in prompts if prompt]
    if templates and not any(prompt.reads_unknown for prompt in templates):
        named = frozenset().union(*(prompt.mentions(variable) for prompt in templates))
        values = {k: v for k, v in values.items() if k in named}
    return [v for v in values.values() if isinstance(v, str)]


def quote_source(
    rows: Sequence[Mapping[str, Any]],
    prompt: Template | None,
    variable: str = "input",
    *,
    shown: Mapping[str, str] | None = None,
) -> QuoteSource:
    """Give the sentences a quote may copy from these rows: from a field, or (None) from each row's main text.

    `shown` are fields that the model saw another text of (a part): only sentences that are in it are given.
    """
    known: dict[Quote, list[str]] = {}

    def quotes(quote: Quote) -> Sequence[str]:
        if quote not in known:
            quotable: list[str] = []
            for row in rows:
                source = quote.source or _main_field(row, prompt, variable)
                texts = [s.text for p in _passages(row, source) for s in sentences(p.split("\n"))]
                texts = _seen(texts, source, shown or {})
                quotable += about(row.get(quote.about), texts) if quote.about is not None else texts
            known[quote] = list(dict.fromkeys(quotable))
        return known[quote]

    return quotes


def main_text_field(values: Mapping[str, Any], candidates: Collection[str]) -> str | None:
    """Choose the field that holds the longest text; None when no candidate holds any.

    A chunk rendered by gather stands for the chunk itself: quotes come from it, not from its neighbours.
    """
    texts = {key: values[key] for key in candidates if isinstance(values.get(key), str)}
    if not texts:
        return None
    longest = max(texts, key=lambda key: len(texts[key]))
    chunk = longest.removesuffix("_rendered")
    return chunk if isinstance(values.get(chunk), str) else longest


def _seen(texts: list[str], source: str | None, shown: Mapping[str, str]) -> list[str]:
    """Keep the sentences of a field that are in the part of it (or of its rendering by gather) that was shown."""
    part = shown.get(f"{source}", shown.get(f"{source}_rendered"))
    if part is None:
        return texts
    words = " ".join(part.split())
    return [text for text in texts if text in words]


def _main_field(values: Mapping[str, Any], prompt: Template | None, variable: str) -> str | None:
    named = sorted(prompt.mentions(variable)) if prompt and not prompt.reads_unknown else list(values)
    return main_text_field(values, named or list(values))


def _passages(values: Mapping[str, Any], field: str | None) -> list[str]:
    value = values.get(field) if field else None
    items = value if isinstance(value, list | tuple) else [value]
    return [item for item in items if isinstance(item, str)]


def reads_of(prompt: Template | None, variable: str, schema: Schema | None) -> frozenset[str]:
    """Return the fields that a prompt and the quotes of its schema need."""
    quoted = schema.quote_fields() if schema else frozenset()
    return (prompt.reads(variable) if prompt else frozenset()) | frozenset(q for q in quoted if q)
