"""What operators that ask one prompt about each row have in common: map and filter.

They ask in batches and after a calibration where the node says so, several times where it asks for it.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from engine.errors import ItemError
from engine.language.layout import Layout, lay_out
from engine.language.sandbox import to_json
from engine.language.schema import Schema
from engine.language.templates import SHOWS_ROWS, Template, prompt_template
from engine.operators.accounting import Failure, attempt, attempt_all, fail, process_rows, succeed_all
from engine.operators.asking import (
    COMPONENTS,
    Component,
    ModelNode,
    Question,
    ask,
    ask_once,
    ask_reply,
    fits,
    quote_source,
    reads_of,
    settle,
    texts_of,
    visible,
)
from engine.operators.base import Outcome, Rejected, Tools
from engine.plan.frozen import FrozenMap
from engine.rows import Row, RowId
from engine.values.base import closed_object
from models.protocol import Reply, canonical_json

BATCH_SIZE = 5
"""Rows of a batch where the pipeline does not say."""


_CODE = "functions that a model calls would be code of the pipeline's; use code_map or code_filter for code"
REFUSED: Mapping[str, str] = FrozenMap(
    {
        "tools": _CODE,
        "agent": _CODE,
        "pdf_url_key": "nothing is fetched from the network; save the files and read them as a folder dataset",
    }
)
"""Keys of DocETL's map, filter, parallel_map and (agent) reduce that cannot work here, and why."""


@dataclass(frozen=True, kw_only=True)
class RowPromptNode(ModelNode):
    """A prompt about each row, which may be asked in batches and calibrated on a sample.

    `input` lists the fields the prompts may see (empty: all). With `batch_prompt` (`inputs`), up to `max_batch_size`
    rows are asked about at once; `prompt` serves those that such a reply does not answer. With `calibrate`, the
    answers to `num_calibration_docs` rows become reference points in the prompt of all rows.
    """

    refused: ClassVar[Mapping[str, str]] = REFUSED
    takes: ClassVar[tuple[Component, ...]] = COMPONENTS

    prompt: Template | None = field(default=None, metadata={SHOWS_ROWS: True})
    schema: Schema | None = field(default=None, metadata={"yaml": "output.schema"})
    batch_prompt: Template | None = field(default=None, metadata={"variables": ("inputs",), SHOWS_ROWS: True})
    max_batch_size: int | None = None
    calibrate: bool = False
    num_calibration_docs: int = 10
    input: tuple[str, ...] = ()
    drop_keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(
            self.prompt is not None or not (self.batch_prompt or self.calibrate),
            f"{'batch_prompt' if self.batch_prompt else 'calibrate'} needs a prompt",
            "Write prompt: it asks about one row, for rows that no batch answers and for the sample of calibrate.",
        )
        self.require(
            not (self.batch_prompt and self.retriever),
            "batch_prompt and retriever cannot be combined: what is found for one row would be shown with others",
            "Remove one of them.",
        )
        self.require_at_least(max_batch_size=1, num_calibration_docs=1)
        self.require_shown(self.input, (self.prompt, "input"), (self.batch_prompt, "inputs"))

    @property
    def counted_otherwise(self) -> Mapping[str, bool]:
        """Return the keys by which answers are counted or shared in another way than by `agree`: which are set."""
        return {"batch_prompt": self.batch_prompt is not None}

    @property
    def batch_size(self) -> int:
        """Return how many rows are asked about at once; 1 without a batch prompt."""
        return (self.max_batch_size or BATCH_SIZE) if self.batch_prompt else 1

    @property
    def is_row_local(self) -> bool:
        """Say whether the answer about a row depends on that row alone."""
        return not (self.calibrate or self.batch_size > 1)

    @property
    def prompt_reads(self) -> frozenset[str]:
        """Return the fields that the prompts and the quotes of the schema need."""
        batch = reads_of(self.batch_prompt, "inputs", None)
        return reads_of(self.prompt, "input", self.schema) | batch | frozenset(self.input)

    @property
    def reads_unknown_fields(self) -> bool:
        """Say whether a prompt may read fields beyond `prompt_reads`."""
        return not self.input and any(p.reads_unknown for p in (self.prompt, self.batch_prompt) if p)

    def without_drop_keys(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that stay in the row."""
        return {key: value for key, value in values.items() if key not in self.drop_keys}


def row_question(
    row: Row,
    prompt: Template,
    schema: Schema,
    seen: Mapping[str, Any],
    shown: Mapping[str, str] = FrozenMap({}),
    *,
    layout: Layout = "as_written",
    anchors: str = "",
) -> Question:
    """Put a prompt about one row, of which it sees the values `seen`; quotes come from all of the row.

    `shown` are fields that the prompt sees another text of; their quotes come from that (Question.about).
    """
    seen = {**seen, **{name: text for name, text in shown.items() if name in seen}}
    return Question(
        prompt=with_anchors(prompt, lay_out(prompt, layout, input=seen), layout, anchors),
        json_schema=schema.json_schema(quote_source([row.values], prompt, shown=shown)),
        form="" if schema.is_one_boolean else schema.describe(),
        read=schema.read,
        texts=texts_of(seen, prompt),
        row_id=row.id,
        values=row.values,
        template=prompt,
        about=lambda texts: row_question(row, prompt, schema, seen, texts, layout=layout, anchors=anchors),
    )


def with_anchors(template: Template, prompt: str, layout: Layout, anchors: str) -> str:
    """Add the reference points of a calibration, if there are any, to a prompt that was filled in.

    They are the same for all rows. So they go before it, where the model reads them once; but behind a prompt that
    begins with the row, whose text other prompts may begin with too.
    """
    if not anchors:
        return prompt
    if layout == "document_first" or template.begins_with_value:
        return f"{prompt.rstrip()}\n\n{anchors}"
    return f"{anchors}\n\n{prompt}"


Answered = Callable[[Row, Sequence[Reply]], Sequence[Row] | Rejected]
"""Make rows of the replies about a row: one reply for each sample."""


async def ask_rows(
    node: RowPromptNode,
    rows: Sequence[Row],
    answered: Answered,
    tools: Tools,
    *,
    samples: int = 1,
    probabilities: bool = False,
) -> Outcome:
    """Ask about all rows at once, `samples` times each; what comes of them keeps the order of the rows.

    A calibration that fails, fails all rows; one sample of several that fails, fails its row.
    """
    anchors = await attempt(lambda given: find_anchors(node, given, tools), rows)
    if isinstance(anchors, Failure):
        return Outcome(failed=fail(node, rows, anchors))
    batched = await batch_replies(node, rows, tools, anchors=anchors, probabilities=probabilities)

    async def answer(row: Row) -> Sequence[Row] | Rejected:
        assert node.prompt is not None and node.schema is not None  # callers ask only with both
        seen = visible(row.values, node.input)
        question = row_question(row, node.prompt, node.schema, seen, layout=node.layout, anchors=anchors)
        question = replace(question, probabilities=probabilities)
        if row.id in batched:
            return answered(row, [await settle(node, question, batched[row.id], tools)])
        numbered = [replace(question, sample=number) for number in range(samples)]
        return answered(row, await succeed_all(numbered, lambda q: ask_reply(node, q, tools)))

    return await process_rows(node, rows, answer, tools)


MOST_ANCHORS = 10
"""Reference points that are asked for at most; they are read again with every row."""

_ANCHORS = closed_object(
    {"reference_points": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_ANCHORS}}
)

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
    node: RowPromptNode, prompt: Template, schema: Schema, sample: Sequence[Row], tools: Tools
) -> list[Example]:
    async def example(row: Row) -> Example:
        seen = visible(row.values, node.input)
        answer = await ask(node, row_question(row, prompt, schema, seen, layout=node.layout), tools)
        return {"input": to_json(_mentioned(prompt, seen)), "answer": to_json(answer)}

    results = await attempt_all(sample, example)
    examples = [result for result in results if not isinstance(result, Failure)]
    first = next((result for result in results if isinstance(result, Failure)), None)
    if not examples and first is not None:
        raise first.as_error(
            f"calibration: none of the {len(sample)} rows of the sample could be answered; the first: "
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
        replies: dict[RowId, Reply] = {}
        for part in _askable(node, group, tools, anchors):
            question = replace(batch_question(node, part, anchors), probabilities=probabilities)
            reply = await attempt(lambda q: ask_once(node, q, tools), question)
            if not isinstance(reply, Failure):
                replies |= {row.id: _part_of(reply, str(number)) for number, row in enumerate(part, 1)}
        return replies

    results = await attempt_all(groups, answer, lambda done, _: tools.progress(min(done * size, len(rows)), len(rows)))
    return {row: reply for replies in results if not isinstance(replies, Failure) for row, reply in replies.items()}


def batch_question(node: RowPromptNode, rows: Sequence[Row], anchors: str = "") -> Question:
    """Put the batch prompt about rows.

    The reply holds one answer for each, under its number from 1: by name rather than by place in a list, so that each
    answer may quote its own row alone and the model keeps count.
    """
    prompt, schema = node.batch_prompt, node.schema
    assert prompt is not None and schema is not None  # __post_init__; batch_size is 1 without
    seen = [visible(row.values, node.input) for row in rows]
    answers = {
        str(number): schema.json_schema(quote_source([row.values], node.prompt)) for number, row in enumerate(rows, 1)
    }
    return Question(
        prompt=with_anchors(prompt, prompt.render(inputs=seen), "as_written", anchors),
        json_schema=closed_object(answers),
        form=prompt_template("batch_form").render(form=schema.describe(), count=len(rows)).strip(),
        texts=[text for values in seen for text in texts_of(values, prompt, variable="inputs")],
        task=f"batch of {len(rows)}",
        row_id=rows[0].id,
    )


def _askable(node: RowPromptNode, rows: Sequence[Row], tools: Tools, anchors: str) -> list[Sequence[Row]]:
    if len(rows) < 2:
        return []
    with contextlib.suppress(ItemError):  # of one of the rows: asked by itself, it fails by itself
        if fits(node, batch_question(node, rows, anchors), tools):
            return [rows]
    middle = (len(rows) + 1) // 2
    return [*_askable(node, rows[:middle], tools, anchors), *_askable(node, rows[middle:], tools, anchors)]


def _part_of(reply: Reply, number: str) -> Reply:
    """Return the reply about one row: its value, and how sure the model was of its choices."""
    value: Any = reply.value[number]
    start = f"/{number}"
    sure = {p.removeprefix(start): chosen for p, chosen in reply.probabilities.items() if p.startswith(f"{start}/")}
    return replace(reply, value=value, text=canonical_json(value), probabilities=sure)
