"""Ask about several rows in one prompt: fewer calls, and the instructions are read once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.errors import ItemError
from engine.language.schema import Schema
from engine.language.templates import Template, prompt_template
from engine.operators.accounting import Failure, attempt, attempt_all
from engine.operators.asking import Question, fits, quote_source, texts_of, visible
from engine.operators.base import Tools
from engine.operators.replies import ask_once
from engine.operators.row_prompts import RowPromptNode, with_anchors
from engine.rows import Row, RowId
from models.protocol import Reply, canonical_json


async def batch_replies(
    node: RowPromptNode, rows: Sequence[Row], tools: Tools, *, anchors: str = "", probabilities: bool = False
) -> dict[RowId, Reply]:
    """Ask about the rows batch by batch; rows that no reply answers are left out, to be asked one by one.

    The replies are first ones: gleaning and validation are still to come, row by row (asking.settle).

    A batch that does not fit the context is halved until it does; so is one with a row that cannot be asked about.
    """
    size = node.batch_size
    groups = [rows[start : start + size] for start in range(0, len(rows), size)] if size > 1 else []

    async def answer(group: Sequence[Row]) -> Mapping[RowId, Reply]:
        found: dict[RowId, Reply] = {}
        for part in _askable(node, group, tools, anchors):
            question = replace(batch_question(node, part, anchors), probabilities=probabilities)
            reply = await attempt(lambda q: ask_once(node, q, tools), question)
            if not isinstance(reply, Failure):
                found |= {row.id: _part_of(reply, str(number)) for number, row in enumerate(part, 1)}
        return found

    results = await attempt_all(groups, answer, _count_rows(tools, size, len(rows)))
    return {row: reply for found in results if not isinstance(found, Failure) for row, reply in found.items()}


def batch_question(node: RowPromptNode, rows: Sequence[Row], anchors: str = "") -> Question:
    """Put the batch prompt about rows.

    The reply holds one answer for each, under its number from 1: by name rather than by place in a list, so that each
    answer may quote its own row alone and the model keeps count.
    """
    prompt, schema = _prompts(node)
    seen = [visible(row.values, node.input) for row in rows]
    answers = {
        str(number): schema.json_schema(quote_source([row.values], node.prompt)) for number, row in enumerate(rows, 1)
    }
    return Question(
        prompt=with_anchors(prompt, prompt.render(inputs=seen), "as_written", anchors),
        json_schema={
            "type": "object",
            "properties": answers,
            "required": list(answers),
            "additionalProperties": False,
        },
        form=prompt_template("batch_form").render(form=schema.describe(), count=len(rows)).strip(),
        texts=[text for values in seen for text in texts_of(values, prompt, variable="inputs")],
        task=f"batch of {len(rows)}",
        row_id=rows[0].id,
    )


def _prompts(node: RowPromptNode) -> tuple[Template, Schema]:
    assert node.batch_prompt is not None and node.schema is not None  # __post_init__; batch_size is 1 without
    return node.batch_prompt, node.schema


def _askable(node: RowPromptNode, rows: Sequence[Row], tools: Tools, anchors: str) -> list[Sequence[Row]]:
    if len(rows) < 2:
        return []
    if _is_askable(node, rows, tools, anchors):
        return [rows]
    middle = (len(rows) + 1) // 2
    return [*_askable(node, rows[:middle], tools, anchors), *_askable(node, rows[middle:], tools, anchors)]


def _is_askable(node: RowPromptNode, rows: Sequence[Row], tools: Tools, anchors: str) -> bool:
    try:
        return fits(node, batch_question(node, rows, anchors), tools)
    except ItemError:  # of one of the rows: asked by itself, it fails by itself
        return False


def _part_of(reply: Reply, number: str) -> Reply:
    """Return the reply about one row: its value, and how sure the model was of its choices."""
    value: Any = reply.value[number]
    start = f"/{number}"
    sure = {p.removeprefix(start): chosen for p, chosen in reply.probabilities.items() if p.startswith(f"{start}/")}
    return replace(reply, value=value, text=canonical_json(value), probabilities=sure)


def _count_rows(tools: Tools, size: int, total: int) -> Callable[[int, int], None]:
    return lambda done, _: tools.progress(min(done * size, total), total)
