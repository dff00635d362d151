"""What operators that ask one prompt about each row have in common: map and filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from engine.language.layout import Layout, lay_out
from engine.language.schema import Schema
from engine.language.templates import SHOWS_ROWS, Template
from engine.operators.asking import COMPONENTS, Component, ModelNode, Question, quote_source, reads_of, texts_of
from engine.plan.frozen import FrozenMap
from engine.rows import Row

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
