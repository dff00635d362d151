"""split: cut a long text into chunks that join back to it exactly (paper section 2.3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from engine.operators.accounting import process_rows, require, text_of
from engine.operators.base import Operator, Outcome, Tools
from engine.plan.node import Node, Traits
from engine.rows import Row, Span

METHODS = ("token_count", "delimiter")


@dataclass(frozen=True, kw_only=True)
class Split(Node):
    """Cut `split_key` by `token_count` (at most `num_tokens` a chunk) or after each `delimiter`.

    `num_splits_to_group` pieces between delimiters make one chunk. Peers document that key both inside and beside
    `method_kwargs`; both places are read. `model` names the model whose tokens are counted.
    """

    kind: ClassVar[str] = "split"

    split_key: str
    method: str
    num_tokens: int | None = field(default=None, metadata={"yaml": "method_kwargs.num_tokens"})
    delimiter: str | None = field(default=None, metadata={"yaml": "method_kwargs.delimiter"})
    num_splits_to_group: int | None = field(default=None, metadata={"yaml": "method_kwargs.num_splits_to_group"})
    num_splits_to_group_outside: int | None = field(default=None, metadata={"yaml": "num_splits_to_group"})
    model: str | None = field(default=None, metadata={"yaml": "method_kwargs.model"})

    def __post_init__(self) -> None:
        require(
            self,
            self.method in METHODS,
            f"there is no split method {self.method!r}",
            f"Valid methods: {', '.join(METHODS)}.",
        )
        if self.method == "token_count":
            self._check_token_count()
        else:
            self._check_delimiter()

    def _check_token_count(self) -> None:
        require(
            self,
            self.num_tokens is not None and self.num_tokens >= 1,
            f"method token_count needs num_tokens of at least 1, not {self.num_tokens}",
            "Write method_kwargs: {num_tokens: 1000}.",
        )
        unused = self.delimiter is None and self.num_splits_to_group is self.num_splits_to_group_outside is None
        require(self, unused, "delimiter and num_splits_to_group belong to method delimiter, not token_count")

    def _check_delimiter(self) -> None:
        require(self, bool(self.delimiter), "method delimiter needs a delimiter", 'For example delimiter: "\\n\\n".')
        require(self, self.num_tokens is None, "num_tokens belongs to method token_count, not delimiter")
        both = {self.num_splits_to_group, self.num_splits_to_group_outside} - {None}
        require(self, len(both) < 2, "num_splits_to_group is given twice, with different values")
        require(self, self.group_size >= 1, f"num_splits_to_group must be at least 1, not {self.group_size}")

    @property
    def group_size(self) -> int:
        """Return how many pieces between delimiters make one chunk."""
        given = (self.num_splits_to_group, self.num_splits_to_group_outside)
        return next((n for n in given if n is not None), 1)

    @property
    def chunk_key(self) -> str:
        """Return the field that holds the chunk."""
        return f"{self.split_key}_chunk"

    @property
    def id_key(self) -> str:
        """Return the field that all chunks of one text share."""
        return f"{self.name}_id"

    @property
    def number_key(self) -> str:
        """Return the field that numbers the chunks of one text from 1."""
        return f"{self.name}_chunk_num"

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        return Traits(
            reads=frozenset({self.split_key}),
            writes=frozenset({self.chunk_key, self.id_key, self.number_key}),
            cardinality="one_to_many",
            calls_model=False,
            counts_tokens=self.method == "token_count",
        )


async def run(node: Split, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Make a row per chunk; an empty text is one empty chunk."""

    async def chunk(row: Row) -> Sequence[Row]:
        text = text_of(row, node.split_key)
        return list(_chunk_rows(node, row, text, cut(node, text, tools.count_tokens)))

    return await process_rows(node, rows, chunk, tools)


def cut(node: Split, text: str, count_tokens: Callable[[str], int]) -> list[str]:
    """Cut a text as the node says; the chunks joined are the text."""
    if node.delimiter:
        return by_delimiter(text, node.delimiter, node.group_size)
    assert node.num_tokens is not None  # __post_init__
    return by_tokens(text, node.num_tokens, count_tokens)


def by_delimiter(text: str, delimiter: str, group_size: int = 1) -> list[str]:
    """Cut behind every `group_size`-th delimiter, which stays at the end of its chunk."""
    pieces = [piece + delimiter for piece in text.split(delimiter)]
    pieces[-1] = pieces[-1].removesuffix(delimiter)
    chunks = ["".join(pieces[i : i + group_size]) for i in range(0, len(pieces), group_size)]
    return [c for c in chunks if c] or [""]


def by_tokens(text: str, limit: int, count_tokens: Callable[[str], int]) -> list[str]:
    """Cut at line ends into chunks of at most `limit` tokens; a line that alone exceeds it is cut inside.

    A single character of more than `limit` tokens stays whole.
    """
    pieces = [piece for line in text.splitlines(keepends=True) for piece in _short_line(line, limit, count_tokens)]
    chunks: list[str] = []
    taken = 0
    while taken < len(pieces):
        size = _fitting(pieces, taken, limit, count_tokens)
        if taken + size < len(pieces):
            size = _whole_sentences(pieces, taken, size)
        chunks.append("".join(pieces[taken : taken + size]))
        taken += size
    return chunks or [""]


def _whole_sentences(pieces: Sequence[str], start: int, size: int) -> int:
    """Shorten a chunk to end with a paragraph, else with a sentence, if one ends in its last third.

    Lines of a page end anywhere; a sentence cut in two can neither be quoted nor understood.
    """
    ends = range(start + size, start + size - max(1, size // 3), -1)
    for is_end in (_ends_paragraph, _ends_sentence):
        found = next((end - start for end in ends if is_end(pieces, end)), None)
        if found is not None:
            return found
    return size


def _ends_paragraph(pieces: Sequence[str], end: int) -> bool:
    return not pieces[end - 1].strip() or not pieces[end].strip()


def _ends_sentence(pieces: Sequence[str], end: int) -> bool:
    return pieces[end - 1].rstrip().endswith((".", "?", "!", ":", '"', "”"))


def _fitting(pieces: Sequence[str], start: int, limit: int, count_tokens: Callable[[str], int]) -> int:
    """Count how many pieces from `start` on fit together, at least 1.

    Tokens of the parts need not add up to those of the whole, so the joined text has the last word.
    """
    size, total = 0, 0
    for index in range(start, len(pieces)):
        total += count_tokens(pieces[index])
        if total > limit and size:
            break
        size += 1
    while size > 1 and count_tokens("".join(pieces[start : start + size])) > limit:
        size -= 1
    return size


def _short_line(line: str, limit: int, count_tokens: Callable[[str], int]) -> Iterator[str]:
    while len(line) > 1 and count_tokens(line) > limit:
        end = _prefix(line, limit, count_tokens)
        yield line[:end]
        line = line[end:]
    if line:
        yield line


def _prefix(line: str, limit: int, count_tokens: Callable[[str], int]) -> int:
    """Find where to cut a line: behind the last space of the longest prefix that fits, at least 1 character."""
    low, high = 1, len(line) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(line[:middle]) <= limit else (low, middle - 1)
    space = line.rfind(" ", 0, low) + 1
    return space if space and count_tokens(line[:space]) <= limit else low


def _chunk_rows(node: Split, row: Row, text: str, chunks: Sequence[str]) -> Iterator[Row]:
    first_line = _first_line(row, text)
    offset = 0
    for index, chunk in enumerate(chunks):
        values = {**row.values, node.chunk_key: chunk, node.id_key: row.id, node.number_key: index + 1}
        span = _lines(text, offset, offset + len(chunk), first_line) if first_line and chunk else None
        yield row.derive(node.name, values, index=index, span=span)
        offset += len(chunk)


def _first_line(row: Row, text: str) -> int | None:
    """Return the document line on which the text begins; None when the text is not those lines.

    A row with a span whose number of lines differs from the text's holds a text made from them (a summary).
    """
    if row.document_id is None or not text:
        return None
    if row.span is None:
        return 1
    lines = text.count("\n") + (not text.endswith("\n"))
    return row.span.first if lines == row.span.last - row.span.first + 1 else None


def _lines(text: str, start: int, stop: int, first_line: int) -> Span:
    """Address characters `start` up to and excluding `stop`; a newline belongs to the line it ends."""
    first = first_line + text.count("\n", 0, start)
    return Span(first, first + text.count("\n", start, stop - 1))


OPERATOR = Operator(Split, run)
