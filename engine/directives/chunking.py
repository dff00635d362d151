"""Cut a text into chunks, show each among its neighbours, and put together what was said of them.

Arithmetic chooses the sizes where a model would guess (paper section 4.2.1): ranges of plausible values, the smallest
first, for plans to be compared on a sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from engine.directives.base import Site
from engine.directives.splicing import free_name
from engine.directives.wording import asked_for, task_of, worded
from engine.language.schema import Field, ListOf, Record, Scalar, Schema
from engine.language.schema_types import quotes_in
from engine.language.template_text import field_place
from engine.language.templates import Template
from engine.operators.gather import Gather
from engine.operators.reduce import Reduce
from engine.operators.row_prompts import RowPromptNode
from engine.operators.split import Split
from engine.plan.frozen import FrozenMap

Merge = Literal["code", "texts", "model"]
"""Who puts answers together: code alone; code lists and truths, the model the rest; the model all but quotes."""

REDUCE_VARIABLES = frozenset({"inputs", "reduce_key"})

SMALLEST_SHARE, LARGEST_SHARE = 0.2, 0.8
"""Of the context that a chunk takes, inclusive."""

MOST_PREVIOUS, MOST_NEXT = 5, 2
"""Chunks shown around one, however long the document is."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the operators that a chunked operator becomes."""

    cut: str
    context: str
    merge: str
    tidy: str

    @classmethod
    def of(cls, site: Site) -> Names:
        """Name them after the operator that is cut up."""
        stem = site.nodes[-1].name
        return cls(*(free_name(site.plan, f"{stem}_{part}") for part in ("chunks", "context", "merged", "tidy")))


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """How many chunks are shown before and after each."""

    previous: int
    following: int

    @property
    def chunks(self) -> int:
        """Return how many chunks a prompt holds."""
        return self.previous + 1 + self.following


BASE_WINDOWS = (Window(0, 0), Window(1, 0), Window(1, 1))
"""What is tried whatever the document: no context, one previous chunk, one previous and one next."""


def chunk_sizes(context_tokens: int) -> tuple[int, ...]:
    """Return four sizes in tokens, evenly from 20 % to 80 % of the context, both inclusive."""
    step = (LARGEST_SHARE - SMALLEST_SHARE) / 3
    sizes = (round(context_tokens * (SMALLEST_SHARE + step * number)) for number in range(4))
    return tuple(dict.fromkeys(sizes))


def windows(document_tokens: int, chunk_tokens: int, room_tokens: int | None = None) -> tuple[Window, ...]:
    """Return what to show around a chunk: the three of `BASE_WINDOWS`, and more for documents of many chunks.

    The number of previous chunks grows with the square root of the document's length in chunks, to at most five; half
    as many follow, at most two. With `room_tokens`, only what fits a prompt is returned, at least the chunk alone.
    """
    root = math.isqrt(max(1, document_tokens // chunk_tokens))
    previous, following = min(MOST_PREVIOUS, root), min(MOST_NEXT, root // 2)
    more = [Window(number, 0) for number in range(2, previous + 1)]
    more += [Window(previous, number) for number in range(1, following + 1)]
    choices = dict.fromkeys([*BASE_WINDOWS, *more])
    return tuple(w for w in choices if room_tokens is None or w.chunks == 1 or w.chunks * chunk_tokens <= room_tokens)


def splitting(name: str, key: str, tokens: int) -> Split:
    """Cut a field into chunks of at most so many tokens."""
    return Split(name=name, split_key=key, method="token_count", num_tokens=tokens)


def gathering(name: str, split: Split, previous: int, following: int) -> Gather:
    """Show each chunk with so many chunks before and after it."""
    sides: dict[str, Any] = {}
    if previous:
        sides["previous"] = {"tail": {"count": previous}}
    if following:
        sides["next"] = {"head": {"count": following}}
    return Gather(
        name=name,
        content_key=split.chunk_key,
        doc_id_key=split.id_key,
        order_key=split.number_key,
        peripheral_chunks=FrozenMap(sides),
    )


def merges_of(schema: Schema) -> tuple[Merge, ...]:
    """Return the ways that make a difference to answers of a schema."""
    ways: dict[frozenset[str], Merge] = {}
    for way in get_args(Merge):
        ways.setdefault(frozenset(_asked(schema, way)), way)
    return tuple(ways.values())


def default_merge(schema: Schema) -> Merge:
    """Let the model put together what code cannot."""
    return "texts" if "texts" in merges_of(schema) else "code"


def merge_fields(schema: Schema, merge: Merge) -> tuple[Field, ...]:
    """Return the fields that a model puts together."""
    names = _asked(schema, merge)
    return tuple(f for f in schema.fields if f.name in names)


def merge_prompt(node: RowPromptNode, merge: Merge) -> str:
    """Write the prompt that puts the answers of parts together; empty where code does."""
    if node.schema is None or node.prompt is None or not (asked := merge_fields(node.schema, merge)):
        return ""
    answers = [f"{f.name}: {field_place(f.name, 'part')}" for f in asked]
    return worded("merge_parts", task=task_of(node.prompt), answers=answers, asked=asked_for(asked))


def merging(name: str, node: RowPromptNode, id_key: str, merge: Merge, prompt: str) -> Reduce:
    """Make one row again of the rows with one id; its other fields are those of the first."""
    assert node.schema is not None  # what is cut up asks a model
    asked = merge_fields(node.schema, merge)
    named = {f.name for f in asked}
    is_cut = bool(asked) and node.too_long != "split"  # a reduce puts the parts of a text together itself
    return Reduce(
        name=name,
        reduce_key=(id_key,),
        pass_through=True,
        associative=False,
        model=node.model,
        too_long=node.too_long if is_cut else "error",
        prompt=Template(prompt, REDUCE_VARIABLES) if asked else None,
        schema=Schema(asked) if asked else None,
        aggregate=FrozenMap({f.name: _by_code(f) for f in node.schema.fields if f.name not in named}),
    )


def _asked(schema: Schema, merge: Merge) -> Sequence[str]:
    free = [f for f in schema.fields if not any(True for _ in quotes_in(f.type))]
    if merge == "code":
        return []
    if merge == "texts":
        free = [f for f in free if not isinstance(f.type, ListOf) and f.type != Scalar("boolean")]
    return [f.name for f in free]


def _by_code(field: Field) -> str | Mapping[str, str]:
    match field.type:
        case ListOf():
            return "union"
        case Scalar(name="boolean"):
            return "any"
        case Scalar(name="string") | Record():
            return "first"
    return "first" if any(True for _ in quotes_in(field.type)) else "most_common"
