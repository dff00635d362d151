"""split: cut a long text into chunks (paper section 2.3.2); but for delimiters they join back to it exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from engine.documents.headings import Heading, headings
from engine.language.schema import Field, ListOf, Record, Scalar, Type
from engine.operators.accounting import first_line_of, row_by_row, text_of
from engine.operators.base import Operator, Tools
from engine.operators.cutting import (
    Cut,
    after_form_feeds,
    before_lines,
    between_delimiters,
    by_tokens,
    following,
    lines_of,
)
from engine.plan.node import Node, Traits
from engine.rows import Row
from engine.text.numbered_text import lines_at

STRING = Scalar("string")
HEADERS = ListOf(Record((Field("header", STRING), Field("level", Scalar("integer")))))

_OWN_KEYS = {
    "token_count": {"num_tokens"},
    "delimiter": {"delimiter", "num_splits_to_group", "num_splits_to_group_outside"},
    "page": {"num_pages"},
    "section": {"max_level"},
}
"""The settings of each method; `model` goes with all, for it only says whose tokens would be counted."""


@dataclass(frozen=True, kw_only=True)
class Split(Node):
    """Cut `split_key` by `token_count` (at most `num_tokens` a chunk), at each `delimiter`, by page or by section.

    Method `page` puts `num_pages` pages into a chunk. Method `section` cuts before each heading, `max_level` being the
    lowest kind that counts (None: all), and writes each chunk's headings to `{name}_headers`, as gather takes them.
    Where a text is not that of a document, form feeds end pages, and headings are found by how they are written.

    `num_splits_to_group` pieces between delimiters make one chunk; a delimiter between chunks is in neither. Peers
    document that key both inside and beside `method_kwargs`; both places are read. `model` names the model whose tokens
    are counted.
    """

    kind: ClassVar[str] = "split"

    split_key: str
    method: str
    num_tokens: int | None = field(default=None, metadata={"yaml": "method_kwargs.num_tokens"})
    delimiter: str | None = field(default=None, metadata={"yaml": "method_kwargs.delimiter"})
    num_splits_to_group: int | None = field(default=None, metadata={"yaml": "method_kwargs.num_splits_to_group"})
    num_splits_to_group_outside: int | None = field(default=None, metadata={"yaml": "num_splits_to_group"})
    num_pages: int | None = field(default=None, metadata={"yaml": "method_kwargs.num_pages"})
    max_level: int | None = field(default=None, metadata={"yaml": "method_kwargs.max_level"})
    model: str | None = field(default=None, metadata={"yaml": "method_kwargs.model"})

    def __post_init__(self) -> None:
        self.require(
            self.method in _OWN_KEYS,
            f"there is no split method {self.method!r}",
            f"Valid methods: {', '.join(_OWN_KEYS)}.",
        )
        self._refuse_foreign_settings()
        if self.method == "token_count":
            self.require(
                self.num_tokens is not None and self.num_tokens >= 1,
                f"method token_count needs num_tokens of at least 1, not {self.num_tokens}",
                "Write method_kwargs: {num_tokens: 1000}.",
            )
        if self.method == "delimiter":
            self._check_delimiter()
        self.require_at_least(num_pages=1, max_level=1)

    def _refuse_foreign_settings(self) -> None:
        for method, keys in _OWN_KEYS.items():
            for key in sorted(keys - _OWN_KEYS[self.method]):
                shown = key.removesuffix("_outside")
                unused = getattr(self, key) is None
                self.require(unused, f"{shown} belongs to method {method}, not {self.method}")

    def _check_delimiter(self) -> None:
        self.require(bool(self.delimiter), "method delimiter needs a delimiter", 'For example delimiter: "\\n\\n".')
        both = {self.num_splits_to_group, self.num_splits_to_group_outside} - {None}
        self.require(len(both) < 2, "num_splits_to_group is given twice, with different values")
        self.require(self.group_size >= 1, f"num_splits_to_group must be at least 1, not {self.group_size}")

    @property
    def group_size(self) -> int:
        """Return how many pieces between delimiters make one chunk."""
        sizes = (self.num_splits_to_group, self.num_splits_to_group_outside)
        return next((n for n in sizes if n is not None), 1)

    @property
    def chunk_key(self) -> str:
        """Return the field that holds the chunk."""
        return f"{self.split_key}_chunk"

    @property
    def id_key(self) -> str:
        """Return the field that all chunks of one text share."""
        return f"{self.name_in_fields}_id"

    @property
    def number_key(self) -> str:
        """Return the field that numbers the chunks of one text from 1."""
        return f"{self.name_in_fields}_chunk_num"

    @property
    def headers_key(self) -> str:
        """Return the field that holds a section's headings: [{header, level}, ...]."""
        return f"{self.name_in_fields}_headers"

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        return Traits(
            reads=frozenset({self.split_key}),
            writes=frozenset(self.written_types()),
            cardinality="one_to_many",
            calls_model=False,
            counts_tokens=self.method == "token_count",
        )

    def written_types(self) -> Mapping[str, Type]:
        """Return the types of the fields of a chunk."""
        headers = {self.headers_key: HEADERS} if self.method == "section" else {}
        return {self.chunk_key: STRING, self.id_key: STRING, self.number_key: Scalar("integer"), **headers}


async def chunk(node: Split, row: Row, tools: Tools) -> Sequence[Row]:
    """Make a row per chunk; an empty text is one empty chunk."""
    text = text_of(row, node.split_key)
    first_line = first_line_of(row, text, tools)
    outline = _headings(row, text, first_line, tools) if node.method == "section" else []
    rows, line = [], 1
    for index, cut in enumerate(_cuts(node, row, text, outline, tools)):
        values = {**row.values, node.chunk_key: cut.text, node.id_key: row.id, node.number_key: index + 1}
        if node.method == "section":
            last = line + len(lines_of(cut.text))
            inside = [heading for heading in outline if line <= heading.line < last]
            values[node.headers_key] = [{"header": heading.text, "level": heading.level} for heading in inside]
            line = last
        span = lines_at(text, cut.start, cut.stop, first_line) if first_line and cut.text else None
        rows.append(row.derive(node.name, values, index=index, span=span))
    return rows


def _cuts(node: Split, row: Row, text: str, outline: Sequence[Heading], tools: Tools) -> Iterable[Cut]:
    if node.delimiter is not None:
        return between_delimiters(text, node.delimiter, node.group_size)
    return following(_following_chunks(node, row, text, outline, tools))


def _following_chunks(node: Split, row: Row, text: str, outline: Sequence[Heading], tools: Tools) -> list[str]:
    """Cut a text so that the chunks joined are the text."""
    if node.num_tokens is not None:
        return by_tokens(text, node.num_tokens, tools.count_tokens)
    if node.method == "section":
        return before_lines(text, {h.line for h in outline if node.max_level is None or h.level <= node.max_level})
    pages = _page_lines(row, text, tools)
    if pages is None:
        return after_form_feeds(text, node.num_pages or 1)
    return before_lines(text, set(pages[:: node.num_pages or 1]))


def _page_lines(row: Row, text: str, tools: Tools) -> list[int] | None:
    """Return the lines of the text on which pages begin, from 1; None when the text is not that of a document."""
    first = first_line_of(row, text, tools)
    if row.document_id is None or first is None:
        return None
    lines = len(lines_of(text))
    starts = [start - first + 1 for _, start in tools.structure(row.document_id).pages]
    inside = [start for start in starts if 1 < start <= lines]
    return [1, *inside]


def _headings(row: Row, text: str, first: int | None, tools: Tools) -> list[Heading]:
    """Find the headings of the text, their lines counted from 1 in it."""
    lines = lines_of(text)
    if row.document_id is None or first is None:
        return list(headings([line.rstrip("\r\n") for line in lines]))
    moved = [replace(h, line=h.line - first + 1) for h in tools.structure(row.document_id).headings]
    return [heading for heading in moved if 1 <= heading.line <= len(lines)]


OPERATOR = Operator(Split, row_by_row(chunk))
