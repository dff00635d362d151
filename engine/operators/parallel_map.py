"""parallel_map: ask several independent prompts about each row (paper section 2.2.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from engine.language.expressions import Expression
from engine.language.schema import Schema
from engine.language.templates import SHOWS_ROWS, Template, show_rows
from engine.operators.accounting import row_by_row, succeed_all
from engine.operators.asking import (
    COMPONENTS,
    Component,
    Gleaning,
    ModelNode,
    Question,
    ask,
    refuse_invalid_parts,
    visible,
)
from engine.operators.base import Operator, Tools
from engine.operators.map import Map
from engine.operators.row_prompts import REFUSED, row_question
from engine.plan.node import Traits
from engine.rows import Row


@dataclass(frozen=True, kw_only=True)
class PromptPart:
    """One of the prompts and the fields of the schema that it answers. `name` labels it for people.

    `model` and `gleaning` are this prompt's own; None stands for those of the operator.
    """

    prompt: Template = field(metadata={SHOWS_ROWS: True})
    output_keys: tuple[str, ...]
    name: str = ""
    model: str | None = None
    gleaning: Gleaning | None = None

    def __post_init__(self) -> None:
        show_rows(self)
        if not self.output_keys:
            raise ValueError("output_keys names no field; name the fields of output.schema that this prompt answers")


@dataclass(frozen=True, kw_only=True)
class ParallelMap(ModelNode):
    """Add the fields of `schema` to each row, each answered by the prompt that has it in `output_keys`.

    Each prompt is a map of its own fields and knows nothing of the other answers. Where prompts begin with the same
    text (the document), the model reads it once. A row whose prompts are not all answered, fails.
    """

    kind: ClassVar[str] = "parallel_map"
    refused: ClassVar[Mapping[str, str]] = REFUSED
    takes: ClassVar[tuple[Component, ...]] = COMPONENTS

    prompts: tuple[PromptPart, ...] = ()
    schema: Schema | None = field(default=None, metadata={"yaml": "output.schema"})
    input: tuple[str, ...] = ()
    drop_keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(
            bool(self.prompts) == (self.schema is not None),
            "parallel_map needs prompts and output.schema together",
            "Write prompts: [{prompt: ..., output_keys: [field]}] and output.schema with all their fields.",
        )
        self.require(bool(self.prompts or self.drop_keys), "parallel_map has nothing to do", "Write prompts.")
        self._check_coverage(self.answered_fields)
        judged = [part for part in self.prompts if self._judged & set(part.output_keys)]
        self.require(
            len(judged) < 2,
            f"gleaning names {' and '.join(sorted(self._judged))}, which are answered by several prompts",
            "Write gleaning in each of prompts, about its own fields.",
        )
        self.require_shown(self.input, *((part.prompt, "input") for part in self.prompts))

    def _check_coverage(self, names: Sequence[str]) -> None:
        answered = Counter(key for part in self.prompts for key in part.output_keys)
        valid = f"The fields of output.schema are: {', '.join(names)}."
        for key, prompts in answered.items():
            self.require(key in names, f"output_keys names {key!r}, which is not in output.schema", valid)
            self.require(prompts == 1, f"the field {key!r} is in the output_keys of more than one prompt", valid)
        left = [name for name in names if name not in answered]
        self.require(
            not left,
            f"no prompt answers {', '.join(left)} of output.schema",
            "Name each field in the output_keys of one prompt.",
        )

    @cached_property
    def maps(self) -> tuple[Map, ...]:
        """Return each prompt as the map it is."""
        return tuple(self._map(part) for part in self.prompts)

    def _map(self, part: PromptPart) -> Map:
        assert self.schema is not None  # __post_init__
        schema = Schema(tuple(f for f in self.schema.fields if f.name in part.output_keys))
        part_keys = {
            "model": part.model or self.model,
            "gleaning": part.gleaning or (None if self._judged - set(schema.names) else self.gleaning),
            "validate": tuple(e for e in self.validate if not self._named(e) - set(schema.names)),
            "examples": tuple(_example_of(example, schema) for example in self.examples),
        }
        return Map(**{**self.common_keys, **part_keys}, prompt=part.prompt, schema=schema, input=self.input)

    def prompts_of(self, example: Mapping[str, Any]) -> Sequence[Template]:
        """Return the prompts that answer a field of an example."""
        return [part.prompt for part in self.prompts if set(part.output_keys) & set(example["output"])]

    def _named(self, expression: Expression) -> frozenset[str]:
        """Return the fields of the schema that an expression is about."""
        return expression.mentions("output") & frozenset(self.answered_fields)

    @property
    def _judged(self) -> frozenset[str]:
        """Return the fields of the schema that the operator's gleaning is about; none: it is about each prompt's."""
        return self.gleaning.named & frozenset(self.answered_fields) if self.gleaning else frozenset()

    @property
    def other_models(self) -> tuple[str, ...]:
        """Return the models that are asked beside the operator's own."""
        models = [part.model for part in self.prompts if part.model]
        return tuple(
            dict.fromkeys([*super().other_models, *models, *(m for map in self.maps for m in map.other_models)])
        )

    def own_traits(self) -> Traits:
        """Say what it reads and writes."""
        asked = [map.traits() for map in self.maps]
        return Traits(
            reads=frozenset(self.input).union(*(traits.reads for traits in asked)),
            writes=frozenset(self.answered_fields) - frozenset(self.drop_keys),
            removes=frozenset(self.drop_keys),
            calls_model=bool(self.prompts),
            reads_unknown=any(traits.reads_unknown for traits in asked),
        )


async def answer(node: ParallelMap, row: Row, tools: Tools) -> Sequence[Row]:
    """Ask everything about a row at once; it keeps its document and span."""
    numbers = range(len(node.prompts))
    results = await succeed_all(numbers, lambda number: ask(node.maps[number], _question(node, row, number), tools))
    answers = {key: value for result in results for key, value in result.items()}
    ordered = {name: answers[name] for name in node.answered_fields}
    refuse_invalid_parts(node, row, ordered)
    values = {**row.values, **ordered}
    return [row.derive(node.name, {k: v for k, v in values.items() if k not in node.drop_keys})]


def _question(node: ParallelMap, row: Row, number: int) -> Question:
    part, part_map = node.prompts[number], node.maps[number]
    assert part_map.schema is not None  # a map of a prompt has one
    question = row_question(row, part.prompt, part_map.schema, visible(row.values, node.input), layout=part_map.layout)
    return replace(question, task=part.name or f"prompt {number + 1}", model=part.model)


def _example_of(example: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    return {**example, "output": {k: v for k, v in example["output"].items() if k in schema.names}}


OPERATOR = Operator(ParallelMap, row_by_row(answer))
