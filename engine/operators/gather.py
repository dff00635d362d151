"""gather: show each chunk with its neighbours and the headings above it (paper section 2.3.3 and appendix A)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from engine.errors import ItemError, PipelineError
from engine.operators.accounting import Failure, attempt, fail, kind_of, process_rows, text_of, value_of
from engine.operators.base import Operator, Outcome, Tools
from engine.operators.headers import Header, header_path, headers_of
from engine.operators.peripheral import Part, PeripheralChunks, Side
from engine.plan.frozen import FrozenMap, freeze
from engine.plan.node import Node, Traits
from engine.rows import Row
from models.protocol import canonical_json


@dataclass(frozen=True, kw_only=True)
class Gather(Node):
    """Write `{content_key}_rendered`: the chunk `content_key` among the chunks with the same `doc_id_key`.

    Chunks are ordered by `order_key`. `doc_header_key` holds each chunk's headings: [{header, level}, ...].
    """

    kind: ClassVar[str] = "gather"

    content_key: str
    doc_id_key: str
    order_key: str
    peripheral_chunks: Mapping[str, Any] = FrozenMap({})
    doc_header_key: str | None = None

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


@dataclass(frozen=True, slots=True)
class Chunk:
    """A row with what rendering needs of it."""

    row: Row
    order: float | str
    text: str
    headers: tuple[Header, ...] | Failure


async def run(node: Gather, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Render every row; rows keep their order. A row that is no chunk fails and is no one's neighbour."""
    read = [await attempt(_reader(node), row) for row in rows]
    chunks = {chunk.row.id: chunk for chunk in read if isinstance(chunk, Chunk)}
    documents = _documents(node, list(chunks.values()))

    async def render_row(row: Row) -> Sequence[Row]:
        document, index = documents[row.id]
        return [row.derive(node.name, {**row.values, node.rendered_key: render(node, document, index)})]

    outcome = await process_rows(node, [row for row in rows if row.id in chunks], render_row, tools)
    unread = [
        f for row, chunk in zip(rows, read, strict=True) if isinstance(chunk, Failure) for f in fail(node, [row], chunk)
    ]
    return Outcome(outcome.rows, failed=[*unread, *outcome.failed])


def render(node: Gather, document: Sequence[Chunk], index: int) -> str:
    """Render chunk `index` of a document's chunks in order.

    The gather page contradicts itself in two places. Its rule labels summaries `[Chunk 5 (Summary)]`, its sample
    writes `[Chunk 17]` for one: the rule is followed, so that a model knows what it reads. Its sample opens the main
    chunk with `--- Begin Main Chunk ---` but the context with `--- Previous Context ---`: both are as in the sample.
    Text left out at either end of a configured side is noted like a gap, as the sample does after chunk 20.
    """
    chunk, around = document[index], node.around
    sections = [
        _current_section(document, index),
        _context("Previous", node, around.previous, document[:index], nearest_last=True),
        f"--- Begin Main Chunk ---\n{_one_newline_less(chunk.text)}\n--- End Main Chunk ---",
        _context("Next", node, around.next, document[index + 1 :], nearest_last=False),
    ]
    return "\n\n".join(s for s in sections if s)


def _current_section(document: Sequence[Chunk], index: int) -> str:
    headers = document[index].headers
    if isinstance(headers, Failure):
        raise ItemError(headers.error, advice=headers.advice)
    before = [h for chunk in document[:index] if not isinstance(chunk.headers, Failure) for h in chunk.headers]
    path = header_path(before, headers)
    return "_Current Section:_ " + " > ".join(h.text for h in path) if path else ""


def _context(name: str, node: Gather, side: Side | None, chunks: Sequence[Chunk], *, nearest_last: bool) -> str:
    if side is None or not chunks:
        return ""
    lines: list[str] = []
    skipped = 0
    for chunk, part in zip(chunks, side.assign(len(chunks), nearest_last=nearest_last), strict=True):
        if part is None:
            skipped += len(chunk.text)
            continue
        lines += [*_skipped(skipped), _labelled(node, chunk, part)]
        skipped = 0
    lines += _skipped(skipped)
    return "\n".join([f"--- {name} Context ---", *lines, f"--- End {name} Context ---"])


def _labelled(node: Gather, chunk: Chunk, part: Part) -> str:
    key = part.content_key or node.content_key
    summary = " (Summary)" if key != node.content_key else ""
    text = chunk.row.values.get(key)
    if not isinstance(text, str):
        raise ItemError(f"its neighbour, chunk {chunk.order}, has no text in field {key!r}")
    return f"[Chunk {chunk.order}{summary}] {_one_newline_less(text)}"


def _one_newline_less(text: str) -> str:
    """Drop the newline that ends a chunk, for the frame adds its own."""
    return text.removesuffix("\n")


def _skipped(characters: int) -> Iterator[str]:
    if characters:
        yield f"[... {characters} characters skipped ...]"


def _reader(node: Gather) -> Callable[[Row], Awaitable[Chunk]]:
    async def read(row: Row) -> Chunk:
        value_of(row, node.doc_id_key)
        order = value_of(row, node.order_key)
        if isinstance(order, bool) or not isinstance(order, int | float | str):
            raise ItemError(f"field {node.order_key!r} is {kind_of(order)}; chunks are ordered by numbers or text")
        return Chunk(row, order, text_of(row, node.content_key), _headers(node, row))

    return read


def _headers(node: Gather, row: Row) -> tuple[Header, ...] | Failure:
    """Read the headings; a chunk with bad ones fails itself, yet remains its neighbours' context."""
    if node.doc_header_key is None:
        return ()
    try:
        return headers_of(value_of(row, node.doc_header_key), node.doc_header_key)
    except ItemError as error:
        return Failure(str(error), error.advice)


def _documents(node: Gather, chunks: Sequence[Chunk]) -> Mapping[str, tuple[list[Chunk], int]]:
    """Find for each row id its document's chunks in order, and its place among them."""
    groups: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        groups.setdefault(canonical_json(chunk.row.values[node.doc_id_key]), []).append(chunk)
    places: dict[str, tuple[list[Chunk], int]] = {}
    for group in groups.values():
        group.sort(key=lambda c: (isinstance(c.order, str), c.order))
        places |= {chunk.row.id: (group, index) for index, chunk in enumerate(group)}
    return places


OPERATOR = Operator(Gather, run)
