"""Operators that exercise every kind of field the loader converts, and the traits the checks reason with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pytest

from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.base import Operator, Outcome
from engine.plan.frozen import FrozenMap
from engine.plan.node import Node, Traits


@dataclass(frozen=True)
class Window:
    count: int
    content_key: str = "text"


@dataclass(frozen=True)
class Windows:
    previous: Window | None = None
    following: Window | None = field(default=None, metadata={"yaml": "next.head"})


@dataclass(frozen=True, kw_only=True)
class Ask(Node):
    kind: ClassVar[str] = "ask"
    prompt: Template
    schema: Schema = field(metadata={"yaml": "output.schema"})
    samples: int = field(default=1, metadata={"yaml": "output.n"})
    threshold: float = 0.5
    keep: bool = True
    drop_keys: tuple[str, ...] = ()
    mode: Literal["fast", "slow"] = "fast"
    model: str | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: FrozenMap({}))
    pairs: tuple[tuple[str, str], ...] = ()
    windows: Windows = field(default_factory=Windows)

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ValueError(f"samples must be at least 1, not {self.samples}")

    def traits(self) -> Traits:
        quoted = frozenset(q for q in self.schema.quote_fields() if q)
        return Traits(
            reads=self.prompt.reads() | quoted,
            writes=frozenset(self.schema.names) - frozenset(self.drop_keys),
            removes=frozenset(self.drop_keys),
            reads_unknown=self.prompt.reads_unknown,
        )


@dataclass(frozen=True, kw_only=True)
class Group(Node):
    kind: ClassVar[str] = "group"
    reduce_key: tuple[str, ...]
    prompt: Template = field(metadata={"variables": frozenset({"inputs", "reduce_key"})})
    schema: Schema = field(metadata={"yaml": "output.schema"})

    def traits(self) -> Traits:
        keys = frozenset(self.reduce_key)
        return Traits(
            reads=self.prompt.reads("inputs") | keys,
            writes=keys | frozenset(self.schema.names),
            keeps_others=False,
            cardinality="many_to_one",
            row_local=False,
        )


@dataclass(frozen=True, kw_only=True)
class Unify(Node):
    kind: ClassVar[str] = "unify"
    key: str
    prompt: Template = field(metadata={"variables": frozenset({"input1", "input2"})})

    def traits(self) -> Traits:
        reads = self.prompt.reads("input1") | self.prompt.reads("input2") | {self.key}
        return Traits(reads=reads, writes=frozenset({self.key}), row_local=False)


async def run(node: Any, rows: Any, tools: Any) -> Outcome:
    return Outcome(rows=rows)


@pytest.fixture(scope="session")
def registry() -> dict[str, Operator]:
    return {cls.kind: Operator(cls, run) for cls in (Ask, Group, Unify)}
