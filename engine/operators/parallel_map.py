"""parallel_map: ask several independent prompts about each row (paper section 2.2.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.accounting import process_rows, require, succeed_all
from engine.operators.asking import ModelNode, Question, ask, reads_of, visible
from engine.operators.base import Operator, Outcome, Tools
from engine.operators.row_prompts import REFUSED, row_question
from engine.plan.node import Traits
from engine.rows import Row


@dataclass(frozen=True, kw_only=True)
class PromptPart:
    """One of the prompts and the fields of the schema that it answers. `name` labels it for people."""

    prompt: Template
    output_keys: tuple[str, ...]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.output_keys:
            raise ValueError("output_keys names no field; name the fields of output.schema that this prompt answers")


@dataclass(frozen=True, kw_only=True)
class ParallelMap(ModelNode):
    """Add the fields of `schema` to each row, each answered by the prompt that has it in `output_keys`.

    The prompts know nothing of each other's answers. Where they begin with the same text (the document), the model
    reads it once. A row whose prompts are not all answered, fails.
    """

    kind: ClassVar[str] = "parallel_map"
    refused: ClassVar[Mapping[str, str]] = REFUSED

    prompts: tuple[PromptPart, ...] = ()
    schema: Schema | None = field(default=None, metadata={"yaml": "output.schema"})
    input: tuple[str, ...] = ()
    drop_keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self,
            bool(self.prompts) == (self.schema is not None),
            "parallel_map needs prompts and output.schema together",
            "Write prompts: [{prompt: ..., output_keys: [field]}] and output.schema with all their fields.",
        )
        require(self, bool(self.prompts or self.drop_keys), "parallel_map has nothing to do", "Write prompts.")
        self._check_coverage(self.schema.names if self.schema else ())

    def _check_coverage(self, names: Sequence[str]) -> None:
        answered = Counter(key for part in self.prompts for key in part.output_keys)
        fields = f"The fields of output.schema are: {', '.join(names)}."
        for key, prompts in answered.items():
            require(self, key in names, f"output_keys names {key!r}, which is not in output.schema", fields)
            require(self, prompts == 1, f"the field {key!r} is in the output_keys of more than one prompt", fields)
        left = [name for name in names if name not in answered]
        require(
            self,
            not left,
            f"no prompt answers {', '.join(left)} of output.schema",
            "Name each field in the output_keys of one prompt.",
        )

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        prompts = [part.prompt for part in self.prompts]
        names = frozenset(self.schema.names if self.schema else ())
        return Traits(
            reads=frozenset(self.input).union(
                reads_of(None, "input", self.schema), *(reads_of(prompt, "input", None) for prompt in prompts)
            ),
            writes=names - frozenset(self.drop_keys),
            removes=frozenset(self.drop_keys),
            calls_model=bool(prompts),
            reads_unknown=not self.input and any(prompt.reads_unknown for prompt in prompts),
        )


async def run(node: ParallelMap, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Ask everything about all rows at once; rows keep their order, document and span."""

    async def answer(row: Row) -> Sequence[Row]:
        seen = visible(row.values, node.input)
        numbered = list(enumerate(node.prompts, 1))
        found = await succeed_all(numbered, lambda item: ask(node, _question(node, row, seen, *item), tools))
        answers = {key: value for answer in found for key, value in answer.items()}
        names = node.schema.names if node.schema else ()
        values = {**row.values, **{name: answers[name] for name in names}}
        return [row.derive(node.name, {k: v for k, v in values.items() if k not in node.drop_keys})]

    return await process_rows(node, rows, answer, tools)


def _question(node: ParallelMap, row: Row, seen: Mapping[str, Any], number: int, part: PromptPart) -> Question:
    assert node.schema is not None  # __post_init__
    schema = Schema(tuple(f for f in node.schema.fields if f.name in part.output_keys))
    return replace(row_question(row, part.prompt, schema, seen), task=part.name or f"prompt {number}")


OPERATOR = Operator(ParallelMap, run)
