"""What an answer is: items with a value and spans of their own, the signals beside them, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.rows import Span
from engine.values.cells import is_typed, parts

Shape = Literal["single", "list", "table", "tree", "nested"]
"""How the items of an answer belong together (answer_shape of the article, section 2.1)."""

Method = Literal["verbatim", "computed", "inferred"]
"""How a value was come by. `verbatim`: it stands in the cited lines. `computed`: from several parts of them.
`inferred`: the cited lines bear it out in other words."""

Status = Literal["found", "partial", "none", "conflict", "clarify"]
"""What became of a question: the first that applies of clarify, none, conflict, partial, found."""

Contract = Literal["minimal", "rich"]


@dataclass(frozen=True, slots=True)
class Item:
    """One value and where it stands.

    `spans` are lines of the document (or of the text, from 1, where it is no document's), inclusive, ascending.
    `original` is the value as the lines have it; `snippet` the cited lines, recovered from the text and never written
    by the model; `page` that of the first line, None without pages. `problem` says what could not be normalised.
    `level` is the depth in a tree, from 1.
    """

    value: Any
    spans: tuple[Span, ...]
    snippet: str
    method: Method
    original: str = ""
    page: int | None = None
    problem: str = ""
    level: int = 1

    @property
    def is_read(self) -> bool:
        """Say whether code could read the value as what was asked for; else only its words are there."""
        return not is_typed(self.value) or any(True for _ in parts(self.value))


@dataclass(frozen=True, slots=True)
class Dropped:
    """An item that the checks did not let pass, as the model wrote it, and why."""

    written: Any
    why: str


@dataclass(frozen=True)
class Answer:
    """The checked answer of one round, or of all of them together.

    `signals` is what the model said of its own answer and of the passages, by the names of the contract; `headers` are
    a table's columns.
    """

    items: tuple[Item, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    signals: Mapping[str, Any] = field(default_factory=dict)
    headers: tuple[str, ...] = ()

    @property
    def best(self) -> tuple[Item, ...]:
        """Return the items whose values could be read, or all of them where none could."""
        return tuple(item for item in self.items if item.is_read) or self.items

    @property
    def says_incomplete(self) -> bool:
        """Say whether the model told that there is more than it could give."""
        return self.signals.get("complete_answer_found") is False

    def listed(self, name: str) -> list[str]:
        """Return a signal that is a list of texts; empty where it was not asked for."""
        signal = self.signals.get(name)
        return [text for text in signal if isinstance(text, str) and text.strip()] if isinstance(signal, list) else []


def spans_of(items: Sequence[Item]) -> tuple[Span, ...]:
    """Return the lines that items cite, each span once, ascending."""
    return tuple(sorted({span for item in items for span in item.spans}))
