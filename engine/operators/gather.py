"""gather: show each chunk with its neighbours and the headings above it (paper section 2.3.3 and appendix A)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

from engine.errors import ItemError, PipelineError
from engine.language.position import did_you_mean
from engine.language.schema import Scalar, Type
from engine.operators.accounting import Failure, kind_of, process_rows, text_of, value_of
from engine.operators.base import Operator, Outcome, Tools
from engine.plan.frozen import FrozenMap, freeze
from engine.plan.node import Node, Traits
from engine.rows import Row
from models.protocol import canonical_json


@dataclass(frozen=True, kw_only=True)
class Gather(Node):
    """Write `{content_key}_rendered`: the chunk `content_key` among the chunks with the same `doc_id_key`.

    `main_chunk_start` and `main_chunk_end` are the lines around it. Chunks are ordered by `order_key`. `doc_header_key`
    holds each chunk's headings: [{header, level}, ...].
    """

    kind: ClassVar[str] = "gather"

    content_key: str
    doc_id_key: str
    order_key: str
    peripheral_chunks: Mapping[str, Any] = FrozenMap({})
    doc_header_key: str | None = None
    main_chunk_start: str = "--- Begin Main Chunk ---"
    main_chunk_end: str = "--- End Main Chunk ---"

    def __post_init__(self) -> None:
        object.__setattr__(self, "peripheral_chunks", freeze(self.peripheral_chunks))
        try:
            PeripheralChunks.parse(self.peripheral_chunks)
        except ValueError as error:
            raise PipelineError(str(error), operator=self.name) from error

    @cached_property
    def around(self) -> PeripheralChunks:
        """Return what is shown of the neighbours."""
        return PeripheralChunks.parse(self.peripheral_chunks)

    @property
    def rendered_key(self) -> str:
        """Return the field that is written."""
        return f"{self.content_key}_rendered"

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        contents = {key or self.content_key for key in self.around.content_keys}
        keys = {self.content_key, self.doc_id_key, self.order_key, *contents}
        return Traits(
            reads=frozenset(keys | ({self.doc_header_key} if self.doc_header_key else set())),
            writes=frozenset({self.rendered_key}),
            row_local=False,
            calls_model=False,
        )

    def written_types(self) -> Mapping[str, Type]:
        """Return the type of what it renders."""
        return {self.rendered_key: Scalar("string")}


@dataclass(frozen=True, slots=True)
class Chunk:
    """A row with what rendering needs of it."""

    row: Row
    order: float | str
    text: str
    headers: tuple[Header, ...] | Failure


async def run(node: Gather, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Render every row; rows keep their order. A row that is no chunk fails and is no one's neighbour."""
    chunks: list[Chunk] = []

    async def read(row: Row) -> Sequence[Row]:
        chunks.append(_chunk(node, row))
        return [row]

    read_rows = await process_rows(node, rows, read, tools)
    documents = _documents(node, chunks)

    async def render_row(row: Row) -> Sequence[Row]:
        document, index = documents[row.id]
        return [row.derive(node.name, {**row.values, node.rendered_key: render(node, document, index)})]

    outcome = await process_rows(node, read_rows.rows, render_row, tools)
    return Outcome(outcome.rows, failed=[*read_rows.failed, *outcome.failed])


PREVIOUS, NEXT = "Previous", "Next"


@dataclass(frozen=True)
class ChunkedDocument:
    """The chunks of one document in order, with what rendering each of them needs of all those before it."""

    chunks: Sequence[Chunk]

    @cached_property
    def open_paths(self) -> Sequence[Sequence[Header]]:
        """Return for each chunk the headings that are open where it begins."""
        paths: list[Sequence[Header]] = []
        path: list[Header] = []
        for chunk in self.chunks:
            paths.append(path)
            path = path if isinstance(chunk.headers, Failure) else header_path(path, chunk.headers, all_of_them=True)
        return paths

    def characters(self, start: int, stop: int) -> int:
        """Return how many characters the chunks `start` up to and excluding `stop` have."""
        return self._ends[stop] - self._ends[start]

    @cached_property
    def _ends(self) -> Sequence[int]:
        return [0, *accumulate(len(chunk.text) for chunk in self.chunks)]


def render(node: Gather, document: ChunkedDocument, index: int) -> str:
    """Render chunk `index` of a document.

    The gather page contradicts itself in two places. Its rule labels summaries `[Chunk 5 (Summary)]`, its sample
    writes `[Chunk 17]` for one: the rule is followed, so that a model knows what it reads. Its sample opens the main
    chunk with `--- Begin Main Chunk ---` but the context with `--- Previous Context ---`: both are as in the sample.
    Text left out at either end of a configured side is noted like a gap, as the sample does after chunk 20.
    """
    chunk, around, count = document.chunks[index], node.around, len(document.chunks)
    sections = [
        _current_section(document, index),
        _context(PREVIOUS, node, around.previous, document, range(index)),
        "\n".join([node.main_chunk_start, chunk.text.removesuffix("\n"), node.main_chunk_end]),  # one newline, not two
        _context(NEXT, node, around.next, document, range(index + 1, count)),
    ]
    return "\n\n".join(s for s in sections if s)


def _current_section(document: ChunkedDocument, index: int) -> str:
    headers = document.chunks[index].headers
    if isinstance(headers, Failure):
        raise headers.as_error()
    path = header_path(document.open_paths[index], headers)
    return "_Current Section:_ " + " > ".join(h.text for h in path) if path else ""


def _context(name: str, node: Gather, side: Side | None, document: ChunkedDocument, places: range) -> str:
    """Render one side, `places` of the document's chunks; "" where there is none. It takes as long as what it shows."""
    if side is None or not places:
        return ""
    lines: list[str] = []
    behind = places.start
    for offset, part in side.shown(len(places), nearest_last=name == PREVIOUS):
        place = places.start + offset
        lines += [*_skipped(document.characters(behind, place)), _labelled(node, document.chunks[place], part)]
        behind = place + 1
    lines += _skipped(document.characters(behind, places.stop))
    return "\n".join([f"--- {name} Context ---", *lines, f"--- End {name} Context ---"])


def _labelled(node: Gather, chunk: Chunk, part: Part) -> str:
    key = part.content_key or node.content_key
    summary = " (Summary)" if key != node.content_key else ""
    text = chunk.row.values.get(key)
    if not isinstance(text, str):
        raise ItemError(f"its neighbour, chunk {chunk.order}, has no text in field {key!r}")
    return f"[Chunk {chunk.order}{summary}] " + text.removesuffix("\n")


def _skipped(characters: int) -> Iterator[str]:
    if characters:
        yield f"[... {characters} characters skipped ...]"


def _chunk(node: Gather, row: Row) -> Chunk:
    if value_of(row, node.doc_id_key) in (None, ""):
        raise ItemError(f"field {node.doc_id_key!r} is empty; it says of which text this is a chunk")
    order = value_of(row, node.order_key)
    if isinstance(order, bool) or not isinstance(order, int | float | str):
        raise ItemError(f"field {node.order_key!r} is {kind_of(order)}; chunks are ordered by numbers or text")
    return Chunk(row, order, text_of(row, node.content_key), _headers(node, row))


def _headers(node: Gather, row: Row) -> tuple[Header, ...] | Failure:
    """Read the headings; a chunk with bad ones fails itself, yet remains its neighbours' context."""
    if node.doc_header_key is None:
        return ()
    try:
        return headers_of(value_of(row, node.doc_header_key), node.doc_header_key)
    except ItemError as error:
        return Failure(str(error), error.advice)


def _documents(node: Gather, chunks: Sequence[Chunk]) -> Mapping[str, tuple[ChunkedDocument, int]]:
    """Find for each row id its document, and its place among the chunks."""
    groups: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        groups.setdefault(canonical_json(chunk.row.values[node.doc_id_key]), []).append(chunk)
    places: dict[str, tuple[ChunkedDocument, int]] = {}
    for group in groups.values():
        group.sort(key=_place)
        document = ChunkedDocument(group)
        places |= {chunk.row.id: (document, index) for index, chunk in enumerate(group)}
    return places


def _place(chunk: Chunk) -> tuple[bool, int | float | str]:
    """Order numbers before texts; a number that is text, as CSV files have it, is a number."""
    order = chunk.order
    if isinstance(order, str) and re.fullmatch(r"\s*[+-]?\d{1,18}(?:\.\d{1,18})?\s*", order):
        order = float(order) if "." in order else int(order)
    return isinstance(order, str), order


@dataclass(frozen=True, slots=True)
class Header:
    """A heading; `level` counts from 1, the highest."""

    header: str
    level: int

    @property
    def text(self) -> str:
        """Write the heading in Markdown; marks a model already put there are not doubled."""
        return f"{'#' * self.level} {self.header.lstrip('# ').strip()}"


def headers_of(value: Any, key: str) -> tuple[Header, ...]:
    """Read [{header, level}, ...]; null is no headings. Raises ItemError naming the wrong entry."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise ItemError(f"field {key!r} is {kind_of(value)}, not a list of headings")
    return tuple(_header(entry, f"{key}[{index}]") for index, entry in enumerate(value))


def header_path(before: Iterable[Header], headers: Sequence[Header], *, all_of_them: bool = False) -> list[Header]:
    """Find the headings above a chunk that has `headers`, where earlier chunks had `before`, and its own first one.

    With `all_of_them`, find those that are open where it ends.

    As in the gather page's figure: a chunk whose first heading has level 3 gets the latest level 1 and 2 from before
    and its own. A chunk without headings gets the whole path that was open when it began.
    """
    path: list[Header] = []
    for header in [*before, *(headers if all_of_them else headers[:1])]:
        path = [*(h for h in path if h.level < header.level), header]
    return path


def _header(entry: Any, at: str) -> Header:
    match entry:
        case Mapping() if isinstance(entry.get("header"), str) and _is_level(entry.get("level")):
            return Header(entry["header"], entry["level"])
    raise ItemError(
        f"{at} is not a heading: {entry!r}",
        advice='A heading is {header: string, level: integer from 1}; see "list[{header: string, level: integer}]".',
    )


def _is_level(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


_PART_KEYS = {"head": ("count", "content_key"), "middle": ("content_key",), "tail": ("count", "content_key")}
"""The parts of a side, and the keys of each."""


@dataclass(frozen=True, slots=True)
class Part:
    """The first or last `count` chunks of one side, or all between them, shown by `content_key` (None: the node's)."""

    count: int
    content_key: str | None


@dataclass(frozen=True, slots=True)
class Side:
    """What to show of the chunks on one side; those of a part that is None are skipped, with a note."""

    head: Part | None = None
    middle: Part | None = None
    tail: Part | None = None

    def shown(self, count: int, *, nearest_last: bool) -> Iterator[tuple[int, Part]]:
        """Yield which of `count` chunks are shown, in order, and by which part.

        The gather page works outwards from the main chunk, so where head and tail overlap, the nearer one wins.
        """
        heads = min(self.head.count, count) if self.head else 0
        tail = count - min(self.tail.count, count) if self.tail else count
        border = min(heads, tail) if nearest_last else heads
        if self.head:
            yield from ((place, self.head) for place in range(border))
        if self.middle:
            yield from ((place, self.middle) for place in range(border, tail))
        if self.tail:
            yield from ((place, self.tail) for place in range(max(border, tail), count))


@dataclass(frozen=True, slots=True)
class PeripheralChunks:
    """What to show before and after the main chunk; a side that is None is not mentioned at all."""

    previous: Side | None = None
    next: Side | None = None

    @classmethod
    def parse(cls, value: Any) -> PeripheralChunks:
        """Read the YAML mapping; raises ValueError saying what is wrong where, and what would be valid."""
        sides = _mapping(value, "peripheral_chunks", ("previous", "next"))
        return cls(**{name: _side(side, f"peripheral_chunks.{name}") for name, side in sides.items()})

    @property
    def content_keys(self) -> frozenset[str | None]:
        """Return the fields that show neighbours; None is the operator's own content key."""
        sides = [side for side in (self.previous, self.next) if side]
        return frozenset(p.content_key for side in sides for p in (side.head, side.middle, side.tail) if p)


def _side(value: Any, at: str) -> Side:
    parts = _mapping(value, at, tuple(_PART_KEYS))
    return Side(**{name: _part(part, f"{at}.{name}", _PART_KEYS[name]) for name, part in parts.items()})


def _part(value: Any, at: str, keys: tuple[str, ...]) -> Part:
    part = _mapping(value, at, keys)
    count, key = part.get("count", 1), part.get("content_key")
    if isinstance(count, bool) or not isinstance(count, int | float) or not 0 <= count < math.inf:
        raise ValueError(f"{at}.count must be a number of chunks, 0 or more, not {count!r}")
    if not (key is None or isinstance(key, str)):
        raise ValueError(f"{at}.content_key must be the name of a field, not {key!r}")
    return Part(int(count), key)  # rounded down, as peers do


def _mapping(value: Any, at: str, valid: tuple[str, ...]) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{at} must be a mapping with {', '.join(valid)}, not {value!r}")
    for key in value:
        if key not in valid:
            raise ValueError(f"{at} has no {key!r}. {did_you_mean(str(key), valid)}")
    return value


OPERATOR = Operator(Gather, run)
