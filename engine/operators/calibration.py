"""Calibrate a prompt: answer a sample of rows first, and show what was learned to the model with every row."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import ItemError
from engine.language.sandbox import to_json
from engine.language.schema import Schema
from engine.language.templates import Template, prompt_template
from engine.operators.accounting import Failure, attempt_all
from engine.operators.asking import ModelNode, Question, ask, fits, visible
from engine.operators.base import Tools
from engine.operators.replies import ask_once
from engine.operators.row_prompts import RowPromptNode, row_question
from engine.rows import Row

MOST_ANCHORS = 10
"""Reference points that are asked for at most; they are read again with every row."""

_ANCHORS = {
    "type": "object",
    "properties": {
        "reference_points": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_ANCHORS}
    },
    "required": ["reference_points"],
    "additionalProperties": False,
}

Example = Mapping[str, str]


async def find_anchors(node: RowPromptNode, rows: Sequence[Row], tools: Tools) -> str:
    """Return the text that is added to the prompt of every row; empty where there are no rows or nothing is calibrated.

    Raises ItemError when no row of the sample can be answered, and what `ask` raises.
    """
    prompt, schema = node.prompt, node.schema
    if not (node.calibrate and rows and prompt and schema):
        return ""
    examples = await _examples(node, prompt, schema, sample_of(rows, node.num_calibration_docs, tools.seed), tools)
    while len(examples) > 1 and not fits(node, _question(prompt, examples), tools):
        examples = examples[: len(examples) // 2]
    reply = await ask_once(node, _question(prompt, examples), tools)
    return prompt_template("anchors").render(anchors=reply.value["reference_points"]).strip()


def sample_of(rows: Sequence[Row], size: int, seed: int) -> list[Row]:
    """Draw `size` rows at random, in the order of `rows`; the same seed draws the same ones."""
    drawn = random.Random(seed).sample(range(len(rows)), min(size, len(rows)))
    return [rows[index] for index in sorted(drawn)]


async def _examples(
    node: ModelNode, prompt: Template, schema: Schema, sample: Sequence[Row], tools: Tools
) -> list[Example]:
    seen_keys = getattr(node, "input", ())

    async def example(row: Row) -> Example:
        seen = visible(row.values, seen_keys)
        answer = await ask(node, row_question(row, prompt, schema, seen, layout=node.layout), tools)
        return {"input": to_json(_mentioned(prompt, seen)), "answer": to_json(answer)}

    results = await attempt_all(sample, example, lambda done, total: None)
    examples = [result for result in results if not isinstance(result, Failure)]
    first = next((result for result in results if isinstance(result, Failure)), None)
    if not examples and first is not None:
        raise ItemError(
            f"calibration: none of the {len(sample)} rows of the sample could be answered; the first: {first.error}",
            advice=first.advice,
            raw_reply=first.raw_reply,
        )
    return examples


def _mentioned(prompt: Template, values: Mapping[str, Any]) -> Mapping[str, Any]:
    names = prompt.mentions("input")
    return values if prompt.reads_unknown else {key: value for key, value in values.items() if key in names}


def _question(prompt: Template, examples: Sequence[Example]) -> Question:
    return Question(
        prompt=prompt_template("calibrate").render(instructions=prompt.text, examples=examples),
        json_schema=_ANCHORS,
        form='{"reference_points": [string, ...]}',
        task=f"calibrate on {len(examples)} rows",
    )
