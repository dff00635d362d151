"""Read a long document in chunks (paper section 3.1.1, equation 1).

Arithmetic chooses the sizes where a model would guess (section 4.2.1): ranges of plausible values, the smallest first,
for plans to be compared on a sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from engine.directives.base import Directive, Facts, Params, Site
from engine.directives.fields import fields_before
from engine.directives.fitting import SHORTEST, cuttable_texts, divided_drops, row_node, undividable
from engine.directives.prompt_checks import REDUCE_VARIABLES, ProposedPrompt
from engine.directives.proposals import a_number, a_prompt, an_object, one_of
from engine.directives.rereading import reading
from engine.directives.splicing import cutting, free_name, spliced, without_fields
from engine.directives.wording import asked_for, task_of, with_note, worded
from engine.errors import PipelineError
from engine.language.schema import Field, ListOf, Record, Scalar, Schema
from engine.language.schema_types import quotes_in
from engine.language.template_text import field_place, rename_fields, replace_places, static_text
from engine.language.templates import Template
from engine.operators.filter import Filter
from engine.operators.gather import Gather
from engine.operators.map import Map
from engine.operators.reduce import Reduce
from engine.operators.split import Split
from engine.plan.frozen import FrozenMap
from engine.plan.node import Node
from engine.plan.plan import Plan
from models.protocol import CHARACTERS_PER_TOKEN

Merge = Literal["code", "texts", "model"]
"""Who puts answers together: code alone; code lists and truths, the model the rest; the model all but quotes."""

SMALLEST_SHARE, LARGEST_SHARE = 0.2, 0.8
"""Of the context that a chunk takes, inclusive."""

MOST_PREVIOUS, MOST_NEXT = 5, 2
"""Chunks shown around one, however long the document is."""

SMALLEST = 300
"""Tokens of a chunk: a shorter one says nothing by itself."""

LONG_INSTRUCTIONS = 0.5
"""Of a chunk's tokens: instructions that are longer are read once, before the chunk, and not again behind each."""

PROMPT_AND_REPLY = 0.25
"""Of the context, what is left for instructions and reply beside the chunks that a prompt shows."""


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


@dataclass(frozen=True, kw_only=True)
class ChunkingParams(Params):
    """The field to cut, the most tokens of a chunk, the chunks shown around one, and the prompts.

    `merge_prompt` is empty where `merge` leaves the model nothing to put together.
    """

    split_key: str
    chunk_tokens: int
    previous: int
    following: int
    prompt: str
    merge: Merge
    merge_prompt: str


class DocumentChunking(Directive[ChunkingParams]):
    """Map_x => Split -> Gather -> Map_y -> Reduce (1); of a filter, a row stays where one of its chunks does.

    before: report: find
    after:  report: find_chunks -> find_context -> find -> find_merged -> find_tidy
    """

    name: ClassVar[str] = "document_chunking"
    equation: ClassVar[str] = "1"
    purpose: ClassVar[str] = "reads the document in chunks, each among its neighbours, and puts the answers together"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "filter"})
    keeps_definitions: ClassVar[bool] = True
    prior: ClassVar[float] = 0.5
    prior_of_long_texts: ClassVar[float] = 0.3
    explores_sizes: ClassVar[bool] = True

    def _blocked(self, site: Site) -> str:
        node = row_node(site)
        if reason := undividable(node):
            return reason
        if not _texts(site):
            return f"the prompt of {node.name} shows no text that could be cut, or only a chunk"
        assert node.prompt is not None  # undividable
        try:
            rename_fields(node.prompt, {text: f"{text}_rendered" for text in _texts(site)})
        except PipelineError as error:
            return f"{node.name}: {error}"
        if isinstance(node, Map) and not _answer(node).names:
            return f"{node.name} keeps no field of its answer"
        return ""

    def params_schema(self, site: Site) -> dict[str, Any]:
        """Return the JSON Schema of the parameters."""
        texts = _texts(site)
        sizes = _sizes(texts[0], site.facts)
        merges = _merges(row_node(site))
        return an_object(
            split_key=one_of(texts),
            chunk_tokens=a_number(sizes[0], sizes[-1]),
            previous=a_number(0, MOST_PREVIOUS),
            following=a_number(0, MOST_NEXT),
            prompt=a_prompt(),
            merge=one_of(merges),
            merge_prompt=a_prompt(may_be_empty=True),
        )

    def default_params(self, site: Site) -> ChunkingParams:
        """Take the smallest chunks with one before each, the user's prompt, and a merge prompt where one is needed."""
        key = _texts(site)[0]
        tokens = _sizes(key, site.facts)[0]
        return self._params(site, key, tokens, _windows(key, tokens, site.facts)[:2][-1])

    def variants(self, site: Site) -> Sequence[ChunkingParams]:
        """Take each size with each window (paper, 4.2.1): the smallest alone, the default, the next larger alone first.

        Then come all sizes alone, all with one chunk before each, and so on to the largest windows.
        """
        key = _texts(site)[0]
        sizes = _sizes(key, site.facts)
        shown = {tokens: _windows(key, tokens, site.facts) for tokens in sizes}
        most = max(map(len, shown.values()))
        grid = [(size, shown[size][rank]) for rank in range(most) for size in sizes if rank < len(shown[size])]
        alone = [(size, Window(0, 0)) for size in sizes]
        first = [alone[0], (sizes[0], shown[sizes[0]][:2][-1]), *alone[1:2]]
        return [self._params(site, key, size, window) for size, window in dict.fromkeys([*first, *grid])]

    def _params(self, site: Site, key: str, tokens: int, window: Window) -> ChunkingParams:
        node = row_node(site)
        assert node.prompt is not None  # undividable
        merge: Merge = "texts" if "texts" in _merges(node) else "code"
        asked = merge_fields(_answer(node), merge)
        answers = [f"{f.name}: {field_place(f.name, 'part')}" for f in asked]
        merging = worded("merge_parts", task=task_of(node.prompt), answers=answers, asked=asked_for(asked))
        return ChunkingParams(
            split_key=key,
            chunk_tokens=tokens,
            previous=window.previous,
            following=window.following,
            prompt=_part_prompt(node, cutting(site, "chunks", key, tokens), window),
            merge=merge,
            merge_prompt=merging if asked else "",
        )

    def prompts(self, site: Site, params: ChunkingParams) -> Sequence[ProposedPrompt]:
        """Return the prompt about a chunk, and the one that puts answers together if there is one."""
        answer = _answer(row_node(site))
        split, gather = _cutting(site, params)
        fields = fields_before(site)
        fields = fields.with_names(split.chunk_key, split.id_key, split.number_key, gather.rendered_key)
        shown = frozenset({gather.rendered_key})
        proposed = [ProposedPrompt(name="prompt", text=params.prompt, fields=fields.closed, shows=shown, partial=True)]
        if asked := merge_fields(answer, params.merge):
            proposed.append(
                ProposedPrompt(
                    name="merge_prompt",
                    text=params.merge_prompt,
                    variables=tuple(sorted(REDUCE_VARIABLES)),
                    fields=fields.with_names(*answer.names).closed,
                    shows=frozenset(f.name for f in asked),
                    uses="inputs",
                )
            )
        return proposed

    def apply(self, site: Site, params: ChunkingParams) -> Plan:
        """Return the plan that reads chunks."""
        node = row_node(site)
        split, gather = _cutting(site, params)
        assert node.prompt is not None  # undividable
        part = reading(
            node,
            {params.split_key: gather.rendered_key},
            prompt=replace(node.prompt, text=params.prompt),
            quoted={params.split_key: split.chunk_key},
        )
        own, dropped = divided_drops(node)
        part = replace(part, schema=_of_a_chunk(part), drop_keys=own)
        added = [split.chunk_key, gather.rendered_key, split.id_key, split.number_key]
        merged = _merged(site, split, params)
        extra = merged.extra_fields if isinstance(node, Map) else tuple(merged.aggregate)
        tidy = without_fields(free_name(site.plan, f"{node.name}_tidy"), [*dropped, *added, *extra])
        nodes: list[Node] = [split, gather, part, merged, *tidy]
        return spliced(site, nodes)


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


def _sizes(key: str, facts: Facts) -> tuple[int, ...]:
    """Return sizes of chunks, the smallest first: shares of the context, or of the document where it is shorter."""
    if key not in facts.field_tokens:
        return chunk_sizes(facts.context_tokens)
    sizes = chunk_sizes(min(facts.context_tokens, max(SHORTEST, facts.field_tokens[key])))
    return tuple(size for size in sizes if size >= SMALLEST) or sizes[-1:]


def _windows(key: str, tokens: int, facts: Facts) -> tuple[Window, ...]:
    """Return what may be shown around chunks of a size, as far as a prompt has room for it."""
    room = round(facts.context_tokens * (1 - PROMPT_AND_REPLY))
    return windows(facts.field_tokens.get(key, 4 * tokens), tokens, room)


def _part_prompt(node: Map | Filter, split: Split, window: Window) -> str:
    """Write the user's prompt about a chunk. Instructions that are long beside the chunk come before it: read once."""
    assert node.prompt is not None  # undividable
    rendered = f"{split.chunk_key}_rendered"
    prompt = rename_fields(node.prompt, {str(split.split_key): rendered})
    instruction_tokens = len(static_text(prompt)) // CHARACTERS_PER_TOKEN
    is_last = instruction_tokens > (split.num_tokens or 1) * LONG_INSTRUCTIONS
    moved = replace_places(prompt, lambda name: worded("part_below").strip() if name == rendered else None)
    is_last = is_last and not moved.mentions() & {rendered}
    noted = with_note(
        moved if is_last else prompt, "note_part", with_context=window.chunks > 1, decides=isinstance(node, Filter)
    )
    return f"{noted.text}\n{worded('part_last', place=field_place(rendered))}" if is_last else noted.text


def _cutting(site: Site, params: ChunkingParams) -> tuple[Split, Gather]:
    """Cut the text, and show each chunk with so many chunks before and after it."""
    split = cutting(site, "chunks", params.split_key, params.chunk_tokens)
    sides: dict[str, Any] = {}
    if params.previous:
        sides["previous"] = {"tail": {"count": params.previous}}
    if params.following:
        sides["next"] = {"head": {"count": params.following}}
    gather = Gather(
        name=free_name(site.plan, f"{site.operator.name}_context"),
        content_key=split.chunk_key,
        doc_id_key=split.id_key,
        order_key=split.number_key,
        peripheral_chunks=FrozenMap(sides),
    )
    return split, gather


def _merged(site: Site, split: Split, params: ChunkingParams) -> Reduce:
    """Make one row again of the chunks of a document; its other fields are those of the first."""
    node, answer = row_node(site), _answer(row_node(site))
    name = free_name(site.plan, f"{node.name}_merged")
    if isinstance(node, Filter):
        count = FrozenMap({f"{name}_parts": FrozenMap({"count": split.number_key})})
        return Reduce(name=name, reduce_key=(split.id_key,), pass_through=True, aggregate=count)
    asked = merge_fields(answer, params.merge)
    is_cut = bool(asked) and node.too_long != "split"  # a reduce puts the parts of a text together itself
    return Reduce(
        name=name,
        reduce_key=(split.id_key,),
        pass_through=True,
        associative=False,
        model=node.model,
        too_long=node.too_long if is_cut else "error",
        prompt=Template(params.merge_prompt, REDUCE_VARIABLES) if asked else None,
        schema=Schema(asked) if asked else None,
        aggregate=FrozenMap({f.name: _by_code(f) for f in answer.fields if f not in asked}),
    )


def _of_a_chunk(node: Map | Filter) -> Schema:
    """Let lists be shorter than those of the whole answer must be: a chunk has a part of what they hold."""
    assert node.schema is not None  # undividable
    fields = node.schema.fields
    return Schema(tuple(replace(f, type=replace(f.type, least=0)) if isinstance(f.type, ListOf) else f for f in fields))


def _answer(node: Map | Filter) -> Schema:
    """Return the part of the answer that stays in the row."""
    assert node.schema is not None  # undividable
    return Schema(tuple(f for f in node.schema.fields if f.name not in node.drop_keys))


def _merges(node: Map | Filter) -> tuple[Merge, ...]:
    """Return the ways that make a difference to the answer; a filter's is put together by code."""
    if isinstance(node, Filter):
        return ("code",)
    ways: dict[tuple[Field, ...], Merge] = {}
    for way in get_args(Merge):
        ways.setdefault(merge_fields(_answer(node), way), way)
    return tuple(ways.values())


def merge_fields(schema: Schema, merge: Merge) -> tuple[Field, ...]:
    """Return the fields that a model puts together."""
    if merge == "code":
        return ()
    free = (f for f in schema.fields if not any(True for _ in quotes_in(f.type)))
    is_all = merge == "model"
    return tuple(f for f in free if is_all or not (isinstance(f.type, ListOf) or f.type == Scalar("boolean")))


def _by_code(field: Field) -> str | Mapping[str, str]:
    match field.type:
        case ListOf():
            return "union"
        case Scalar(name="boolean"):
            return "any"
        case Scalar(name="string") | Record():
            return "first"
    return "first" if any(True for _ in quotes_in(field.type)) else "most_common"


def _texts(site: Site) -> list[str]:
    """Return the fields that may be cut: texts that are shown, in all rows seen, no chunks already, and not short."""
    chunks = {n.chunk_key for n in site.plan.operators if isinstance(n, Split)}
    chunks |= {n.rendered_key for n in site.plan.operators if isinstance(n, Gather)}
    return [text for text in cuttable_texts(site) if text not in chunks]
