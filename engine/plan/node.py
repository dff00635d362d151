"""The base of all plan nodes, and the traits by which the engine reasons about them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from engine.errors import PipelineError
from engine.language.problems import Finding
from engine.language.schema import Schema, Type
from engine.rows import Row

LEFT, RIGHT = "_left", "_right"
"""What a join appends to the name of a field that both of its sides have."""

Cardinality = Literal["one_to_one", "zero_or_one", "one_to_many", "many_to_many", "many_to_one"]


@dataclass(frozen=True, slots=True)
class Traits:
    """What a node does to rows, known before it runs.

    `reads` are fields its prompts and keys need; `writes` fields it adds or replaces; `removes` fields it drops.
    `keeps_others` is False when only `writes` survive (reduce). `row_local`: each output row depends on one input row.
    `opens`: the node also writes fields whose names are known only at run time (unnest of a
    dictionary), so fields read further down cannot be checked against it.
    `counts_tokens`: it needs the model's tokenizer, though it may ask nothing (split).
    `embeds`: it needs the embedding model.
    `reads_unknown`: it may read fields beyond `reads` (a prompt with `{{ input }}`), so none may be dropped before it.
    `runs_code`: it runs Python from the pipeline, which must be trusted. `scans`: the dataset whose rows it begins a
    step with.
    `inputs`: 2 for joins, whose step names a left and a right input; `reads` are then fields of the left rows,
    `reads_right` those of the right ones, and the fields of both survive: one that both have as `x_left` and `x_right`.
    `keeps_first`: it passes on the first so many rows it is given, unchanged, and turns down the others, whatever
    they hold. `fuses`: neighbours that name the same group are run in one call (engine.operators.base.Operator).
    """

    reads: frozenset[str]
    writes: frozenset[str]
    removes: frozenset[str] = frozenset()
    keeps_others: bool = True
    cardinality: Cardinality = "one_to_one"
    row_local: bool = True
    calls_model: bool = True
    opens: bool = False
    counts_tokens: bool = False
    embeds: bool = False
    reads_unknown: bool = False
    inputs: Literal[1, 2] = 1
    reads_right: frozenset[str] = frozenset()
    runs_code: bool = False
    scans: str = ""
    keeps_first: int | None = None
    fuses: str = ""


@dataclass(frozen=True, kw_only=True)
class Node:
    """One operator of a plan. Subclasses are frozen dataclasses validated in `__post_init__`.

    `kind` is the YAML `type`. `sample`: work on so many rows, the first ones, while a pipeline is being written; the
    executor sees to it. A subclass lives in its operator's module and is listed in engine.operators.registry.
    `refused` are keys that peers have and that cannot work here, each with the reason. `limit_counts`: `limit` counts
    the work items that are begun, or the rows that are kept (filter). Properties say what holds for an operator that
    has no key of that name.
    """

    kind: ClassVar[str]
    limit_counts: ClassVar[Literal["begun", "kept"]] = "begun"
    refused: ClassVar[Mapping[str, str]] = MappingProxyType({})

    name: str
    sample: int | None = None

    def require(self, condition: bool, message: str, advice: str = "") -> None:
        """Raise PipelineError naming the operator unless `condition` holds; for `__post_init__`."""
        if not condition:
            raise PipelineError(message, advice=advice, operator=self.name)

    def require_at_least(self, **least: int) -> None:
        """Raise PipelineError if a number of the node is smaller than that; None is not."""
        for key, smallest in least.items():
            value = getattr(self, key)
            self.require(value is None or value >= smallest, f"{key} must be at least {smallest}, not {value}")

    def require_alone(self, key: str, others: Mapping[str, bool], advice: str) -> None:
        """Raise PipelineError if one of the other keys is set too; `advice` may name the `{first}` of them."""
        both = [other for other, is_set in others.items() if is_set]
        advice = advice.format(first="".join(both[:1]))
        self.require(not both, f"{key} and {', '.join(both)} cannot be combined", advice)

    @cached_property  # not a property: a required key could not take its place
    def schema(self) -> Schema | None:
        """Return what the model or the code answers, as far as it is declared."""
        return None

    @cached_property
    def name_in_fields(self) -> str:
        """Return the name that fields carry (`{name}_id`): the plan's, also where a run numbers a further use of it."""
        return self.name

    @property
    def judged_fields(self) -> tuple[str, ...] | None:
        """Return the fields of an answer that `validate` and `gleaning` are about; None where they are not known."""
        return self.schema.names if self.schema else None

    @property
    def model(self) -> str | None:
        """Return the model that is asked, None for the pipeline's."""
        return None

    @property
    def other_models(self) -> tuple[str, ...]:
        """Return the models that are asked beside that one."""
        return ()

    @property
    def retriever(self) -> str | None:
        """Return the retriever that is asked about each row or group."""
        return None

    @property
    def limit(self) -> int | None:
        """Return how many rows or groups are worked on at most; None for all."""
        return None

    def work_items(self, rows: Sequence[Row]) -> Sequence[Sequence[Row]]:
        """Give what `limit` counts: the rows one by one, or the groups of an operator that makes a row of each.

        A row that can be in no group is in none of them.
        """
        return [[row] for row in rows]

    def problems(self) -> Iterator[Finding]:
        """Say what is wrong, or odd, beyond what `__post_init__` refuses."""
        return iter(())

    def traits(self) -> Traits:
        """Say what this node reads, writes and removes."""
        raise TypeError(f"{type(self).__name__} must define traits()")

    def misfits(self, types: Mapping[str, Any], fields: Collection[str]) -> Iterator[Finding]:
        """Say what is wrong, or odd, with rows that have these fields, of these types as far as schemas tell."""
        return iter(())

    def opened(self, types: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the fields that `traits().opens` stands for, with their types, where those of the rows tell.

        `types` are types of a schema (engine.language.schema_types); None where only a run can tell.
        """
        return None

    def written_fields(self) -> tuple[str, ...]:
        """Return the fields of `traits().writes` in the order in which rows receive them."""
        writes = self.traits().writes
        named = [name for name in (self.schema.names if self.schema else ()) if name in writes]
        return (*named, *sorted(writes - set(named)))

    def written_types(self) -> Mapping[str, Type]:
        """Return the types of the fields of `traits().writes`, as far as they are known before it runs."""
        writes = self.traits().writes
        return {each.name: each.type for each in (self.schema.fields if self.schema else ()) if each.name in writes}
