"""Read a row that is too long to be read at once in parts: split, gather, the operator on each, then one answer.

This is what a map becomes for a single row at run time (paper, end of section 4.1), where the pipeline declares
`too_long: split`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.errors import ItemError
from engine.language.sandbox import to_json
from engine.language.schema import ListOf, Schema
from engine.language.templates import prompt_template
from engine.operators.accounting import all_or_none
from engine.operators.asking.lengths import asked_about, shown_texts, spare_tokens, texts_within
from engine.operators.asking.model_node import ModelNode
from engine.operators.asking.question import Question, fits
from engine.operators.asking.replies import ask_once, check_fit
from engine.operators.base import Tools
from engine.operators.cutting import by_tokens
from engine.operators.gather import Chunk, ChunkedDocument, Gather, render
from engine.rows import Row, RowId
from models.protocol import Reply, canonical_json

Answer = Callable[[ModelNode, Question, Tools], Coroutine[Any, Any, Reply]]

PART_TOKENS = 4_000
"""Parts are not made larger, whatever the model's context (docs/decisions/0057)."""

WHOLE_TOKENS = 8_000
"""A longer text is read in parts even if it fits, where code joins the answers (docs/decisions/0057)."""

OWN_SHARE = 0.8
"""Of the tokens that a part and its context may have, how many are its own."""

CONTEXT_TOKENS = 500
"""Of the part before, at most so many tokens of its end are shown as context, and at most a quarter of its own."""

FEWEST_TOKENS = 16
"""Parts are not made smaller: then the rest of the prompt is what is too long."""

_AROUND = {"previous": {"tail": {"count": 1}}}


def needs_parts(node: ModelNode, question: Question, tools: Tools) -> bool:
    """Say whether a question is asked part by part."""
    if node.too_long != "split" or question.about is None:
        return False
    return not fits(node, question, tools) or (_gives_lists_only(node) and _shows_long_text(question, tools))


def _gives_lists_only(node: ModelNode) -> bool:
    """Say whether `_joined_lists` makes the whole answer, so that no model has to merge the answers about parts."""
    fields = node.schema.fields if node.schema is not None else ()
    return bool(fields) and all(isinstance(field.type, ListOf) and field.type.most is None for field in fields)


def _shows_long_text(question: Question, tools: Tools) -> bool:
    texts = (text for text in shown_texts(question).values() if len(text) > WHOLE_TOKENS)
    return any(tools.count_tokens(text) > WHOLE_TOKENS for text in texts)


async def answer_in_parts(node: ModelNode, question: Question, tools: Tools, answer: Answer) -> Reply:
    """Ask about each part, and make one reply of the answers. Raises what asking raises."""
    texts = shown_texts(question)
    if not texts:
        raise ItemError(
            "the prompt does not fit the context, and shows no text of the row that could be split",
            advice="Shorten the prompt itself, or choose a model with a larger context.",
        )
    field = max(texts, key=lambda name: len(texts[name]))
    parts = _parts(node, question, field, texts[field], tools)
    tools.record.note(question.row_id, "split", "too_long: split", f"{field} was read in {len(parts)} parts")
    replies = await all_or_none([answer(node, part, tools) for part in parts])
    merged = await _merged(node, question, replies, tools)
    check_fit(question, merged)
    return merged


def _parts(node: ModelNode, question: Question, field: str, text: str, tools: Tools) -> list[Question]:
    """Cut the text into parts of at most PART_TOKENS that fit with their context, as few as possible."""
    spare = spare_tokens(node, question, {field: text}, tools)
    limit = min(int(spare * OWN_SHARE) // question.prompt.count(text), PART_TOKENS)
    while limit >= FEWEST_TOKENS:
        shown = _gathered(field, by_tokens(text, limit, tools.count_tokens), limit, tools)
        parts = [part for piece in shown if (part := asked_about(node, question, {field: piece})) is not None]
        if len(parts) == len(shown) and all(fits(node, part, tools) for part in parts):
            return [
                replace(part, task=f"part {number} of {len(parts)}", values={**question.values, field: piece})
                for number, (part, piece) in enumerate(zip(parts, shown, strict=True), 1)
            ]
        limit = limit * 4 // 5
    raise ItemError(
        f"the prompt does not fit the context even with {field!r} split into parts",
        advice="Shorten the prompt or max_tokens, or choose a model with a larger context.",
    )


def _gathered(field: str, chunks: Sequence[str], limit: int, tools: Tools) -> list[str]:
    """Show each chunk with the end of the one before it, as gather does."""
    node = Gather(name="parts", content_key=field, doc_id_key="id", order_key="number", peripheral_chunks=_AROUND)
    half = max(min(limit // 4, CONTEXT_TOKENS) // 2, 1)
    shown = []
    for number, chunk in enumerate(chunks, 1):
        before = "".join(by_tokens(chunks[number - 2], half, tools.count_tokens)[-2:]) if number > 1 else ""
        pieces = [(number - 1, before), (number, chunk)] if before else [(number, chunk)]
        made = [
            Chunk(Row(RowId(str(at)), {field: piece, "id": "", "number": at}), at, piece, ()) for at, piece in pieces
        ]
        shown.append(render(node, ChunkedDocument(made), len(made) - 1))
    return shown


async def _merged(node: ModelNode, question: Question, replies: Sequence[Reply], tools: Tools) -> Reply:
    """Make one reply: the one that the operator chooses; else code joins lists, and the model other fields."""
    if (chosen := node.chosen(replies)) is not None:
        return chosen
    schema = node.schema
    assert schema is not None  # of map, whose schema is there where it asks
    values = [reply.value for reply in replies]
    value = _joined_lists(schema, values)
    rest = Schema(tuple(f for f in schema.fields if f.name not in value)) if len(value) < len(schema.fields) else None
    if rest is not None:
        value |= await _merge(node, question, rest, values, tools)
    ordered = {name: value[name] for name in schema.names}
    return Reply(value=ordered, text=canonical_json(ordered))


def _joined_lists(schema: Schema, values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put the lists of all parts one after another, each item once; a list that then is too long is not joined."""
    joined: dict[str, Any] = {}
    for field in schema.fields:
        if isinstance(field.type, ListOf):
            items = list({canonical_json(item): item for value in values for item in value[field.name]}.values())
            if field.type.most is None or len(items) <= field.type.most:
                joined[field.name] = items
    return joined


async def _merge(
    node: ModelNode, about: Question, schema: Schema, values: Sequence[Mapping[str, Any]], tools: Tools
) -> dict[str, Any]:
    """Put the fields of the schema for all parts together into one, by the model; of too many answers in two halves."""
    wanted = [{field.name: value[field.name] for field in schema.fields} for value in values]
    if all(value == wanted[0] for value in wanted):
        return wanted[0]
    question = _merge_question(about, schema, wanted)
    if not fits(node, question, tools) and len(wanted) > 2:
        middle = len(wanted) // 2
        halves = [await _merge(node, about, schema, half, tools) for half in (wanted[:middle], wanted[middle:])]
        return await _merge(node, about, schema, halves, tools)
    reply = await ask_once(node, question, tools)
    return dict(reply.value)


def _merge_question(about: Question, schema: Schema, values: Sequence[Mapping[str, Any]]) -> Question:
    task = about.prompt
    for text in sorted(shown_texts(about).values(), key=len, reverse=True):
        task = task.replace(text, "[the text]")
    prompt = prompt_template("merge_parts").render(task=task, answers=[to_json(value) for value in values])
    return Question(
        prompt=prompt.strip(),
        # A quote of the whole is one of those of the parts.
        json_schema=schema.json_schema(lambda _: [text for _, text in texts_within(values)]),
        form=schema.describe(),
        task=f"merge {len(values)} parts",
        row_id=about.row_id,
        sample=about.sample,
        model=about.model,
    )
