"""reduce: one row per group of rows with equal keys (paper section 2.2.2)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from engine.errors import PipelineError
from engine.language.position import did_you_mean
from engine.language.schema import Schema
from engine.language.templates import SHOWS_ROWS, Template
from engine.operators.accounting import label, process, value_of
from engine.operators.asking import RETRIEVER, Component, ModelNode, ask, reads_of, visible
from engine.operators.base import Decision, Operator, Outcome, Tools
from engine.operators.grouping import ALL, GroupingNode, group_rows
from engine.operators.reduce.aggregates import Aggregate, parse_aggregates
from engine.operators.reduce.folding import Fold, Merge, State, fold_and_merge, fold_rows, needs_folding
from engine.operators.row_prompts import REFUSED
from engine.operators.vectors import representatives, text_to_embed
from engine.plan.frozen import FrozenMap, freeze
from engine.plan.node import Traits
from engine.rows import Row
from engine.text.ranking import embed_whole
from models.protocol import canonical_json

KEY = "reduce_key"
"""What prompts call the values by which a group is formed."""


@dataclass(frozen=True, kw_only=True)
class Reduce(GroupingNode, ModelNode):
    """Make one row of each group with equal values of `reduce_key` (`_all`: one group of everything).

    The row has the keys, with `pass_through` the first row's other fields, then the fields of `schema`, which the model
    writes from `prompt` (`inputs`, `reduce_key`), then those of `aggregate`, which code computes. Either may be absent:

        aggregate: {acts: collect, first_date: {min: date}, records: {count: filename}}

    `input` names the fields that prompts see, as a list or as DocETL's `{schema: {field: type}}`; `value_sampling` the
    rows. `lineage` names fields of all rows of the group to list in `<name>_lineage`.

    A group larger than `fold_batch_size`, or than the context, is folded in order with `fold_prompt` (`inputs`,
    `output`, `reduce_key`). With `merge_prompt` (`outputs`, `reduce_key`) or `merge_batch_size`, parts of it are folded
    at once and merged, if it is `associative`. A prompt that is absent is made from `prompt`. Rows keep their order in
    all cases. `persist_intermediates` lists the results on the way in `_<name>_intermediates`. A group that fails,
    fails all its rows. `synthesize_resolve: false` tells the optimizer to put no resolve before it.
    """

    kind: ClassVar[str] = "reduce"
    takes: ClassVar[tuple[Component, ...]] = (RETRIEVER,)
    refused: ClassVar[Mapping[str, str]] = FrozenMap({key: REFUSED[key] for key in ("agent", "tools")})

    reduce_key: tuple[str, ...]
    prompt: Template | None = field(default=None, metadata={"variables": ("inputs", "reduce_key"), SHOWS_ROWS: True})
    schema: Schema | None = field(default=None, metadata={"yaml": "output.schema"})
    lineage: tuple[str, ...] = field(default=(), metadata={"yaml": "output.lineage"})
    input: tuple[str, ...] | Mapping[str, Any] = ()
    fold_prompt: Template | None = field(default=None, metadata={"variables": ("inputs", "output", "reduce_key")})
    fold_batch_size: int | None = None
    merge_prompt: Template | None = field(default=None, metadata={"variables": ("outputs", "reduce_key")})
    merge_batch_size: int | None = None
    value_sampling: ValueSampling | None = None
    pass_through: bool = False
    associative: bool = True
    persist_intermediates: bool = False
    synthesize_resolve: bool = True
    aggregate: Mapping[str, Any] = FrozenMap({})

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "input", _field_names(self, self.input))
        object.__setattr__(self, "aggregate", freeze(self.aggregate))
        try:
            parse_aggregates(self.aggregate)
        except ValueError as error:
            raise PipelineError(str(error), operator=self.name) from error
        self._check_prompts()
        self.require_at_least(fold_batch_size=1, merge_batch_size=2)
        self._check_fields()

    def _check_prompts(self) -> None:
        self.require(
            (self.prompt is None) == (self.schema is None),
            "reduce needs prompt and output.schema together",
            "Write both, or neither and aggregate: {field: collect}.",
        )
        self.require(bool(self.prompt or self.aggregate), "reduce has nothing to compute", "Write prompt or aggregate.")
        for name in _ONLY_WITH_PROMPT:
            alone = self.prompt is not None or not getattr(self, name)
            self.require(alone, f"{name} needs a prompt", "Aggregates are computed over all rows at once.")
        for prompt, wanted in (
            ("prompt", ("inputs", "reduce_key")),
            ("fold_prompt", ("inputs",)),
            ("fold_prompt", ("output",)),
            ("merge_prompt", ("outputs",)),
        ):
            template: Template | None = getattr(self, prompt)
            used = template is None or any(template.uses(variable) for variable in wanted)
            advice = f"{{% for item in {wanted[0]} %}} ... {{% endfor %}}" if wanted[0] != "output" else "{{ output }}"
            self.require(used, f"the {prompt} does not use {wanted[0]!r}", f"Write {advice}.")

    def _check_fields(self) -> None:
        others = {*self.keys, *self.answered_fields}
        twice = sorted(others & set(self.aggregate))
        self.require(not twice, f"aggregate would overwrite {', '.join(twice)}", "Give the aggregate another name.")
        query = self.value_sampling.query_text if self.value_sampling else None
        for prompt, variable, fields in (
            (self.prompt, "inputs", set(self.fields_seen)),
            (self.fold_prompt, "inputs", set(self.fields_seen)),
            (self.fold_prompt, "output", others),
            (self.merge_prompt, "outputs", others),
            *((each, KEY, set(self.keys)) for each in (self.prompt, self.fold_prompt, self.merge_prompt, query)),
        ):
            is_known = bool(fields) or variable == KEY
            lacking = sorted(prompt.reads(variable) - fields) if prompt and is_known else []
            where = _LEFT_OUT.get(variable, "output.schema does not have")
            self.require(
                not lacking,
                f"a prompt reads {variable} field {''.join(lacking[:1])!r}, which {where}",
                did_you_mean("".join(lacking[:1]), sorted(fields)) or f"{ALL} is one group, which has no key.",
            )

    @property
    def fields_seen(self) -> tuple[str, ...]:
        """Return the fields that prompts see; none for all."""
        return tuple(self.input)

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """Return what code computes."""
        return parse_aggregates(self.aggregate)

    @property
    def merges(self) -> bool:
        """Say whether the parts of a large group are folded at once and merged."""
        return self.associative and (self.merge_prompt is not None or self.merge_batch_size is not None)

    @property
    def extra_fields(self) -> tuple[str, ...]:
        """Return the fields that tell of the rows behind the answer, in DocETL's spelling."""
        wanted = (self.prompt is not None, bool(self.lineage), self.persist_intermediates)
        return tuple(compress(_about_fields(self), wanted))

    def own_traits(self) -> Traits:
        """Say what it reads and writes; with `pass_through` the first row's fields survive."""
        reads = reads_of(self.prompt, "inputs", self.schema) | reads_of(self.fold_prompt, "inputs", None)
        sampled = self.value_sampling.embedding_keys if self.value_sampling else ()
        named = {
            *self.keys,
            *self.fields_seen,
            *self.lineage,
            *sampled,
            *(s for a in self.aggregates for s in a.sources),
        }
        prompts = [p for p in (self.prompt, self.fold_prompt) if p]
        whole_rows = any("inputs" in p.all_reads.unknown for p in prompts) or bool(
            self.value_sampling and self.value_sampling.embeds and not sampled
        )
        return Traits(
            reads=reads | named,
            writes=frozenset(self.written_fields()),
            keeps_others=self.pass_through,
            cardinality="many_to_one",
            row_local=False,
            calls_model=self.prompt is not None,
            embeds=bool(self.value_sampling and self.value_sampling.embeds),
            reads_unknown=whole_rows and not self.fields_seen,
        )

    def written_fields(self) -> tuple[str, ...]:
        """Return the keys, the schema's fields, the aggregates, and the fields about the rows behind them."""
        return tuple(dict.fromkeys([*self.keys, *self.answered_fields, *self.aggregate, *self.extra_fields]))


_LEFT_OUT = {"inputs": "input leaves out", KEY: "reduce_key does not name"}

_ONLY_WITH_PROMPT = (
    "fold_prompt",
    "fold_batch_size",
    "merge_prompt",
    "merge_batch_size",
    "value_sampling",
    "persist_intermediates",
)


def _field_names(node: Reduce, value: Sequence[str] | Mapping[str, Any]) -> tuple[str, ...]:
    """Read `input`: names, or DocETL's mapping with the names as the keys of `schema`."""
    if isinstance(value, Mapping):
        fields = value.get("schema")
        valid = set(value) == {"schema"} and isinstance(fields, Mapping) and bool(fields)
        node.require(valid, "input is neither a list of fields nor {schema: {field: type}}", "Write input: [text].")
        value = tuple(fields or ())
    return tuple(value)


async def run(node: Reduce, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Reduce all groups at once; they come out in the order in which each first appeared."""
    left_out: dict[str, list[Decision]] = {}
    absent = _absent(node, rows)

    async def reduce_group(group: Sequence[Row]) -> Sequence[Row]:
        keys = {key: value_of(group[0], key) for key in node.keys}
        for name in absent:
            value_of(group[0], name)
        shown, left_out[group[0].id] = await _sampled(node, group, keys, tools)
        passed = group[0].values if node.pass_through else {}
        answer, states = await _answer(node, shown, keys, tools)
        computed = {a.field: a.compute(group) for a in node.aggregates}
        values = {**passed, **answer, **keys, **computed, **_about(node, group, states)}
        return [Row.combine(node.name, group, {**keys, **values})]

    groups = group_rows(rows, node.keys)
    outcome = await process(node, groups, reduce_group, tools)
    decisions = [decision for group in groups for decision in left_out.get(group[0].id, ())]
    return replace(outcome, decisions=decisions)


def _absent(node: Reduce, rows: Sequence[Row]) -> list[str]:
    """List the fields that are aggregated or kept as lineage and that no row has: names written wrong."""
    known = {name for row in rows for name in row.values}
    named = (*(source for each in node.aggregates for source in each.sources), *node.lineage)
    return [name for name in dict.fromkeys(named) if name not in known]


async def _sampled(
    node: Reduce, group: Sequence[Row], keys: dict[str, Any], tools: Tools
) -> tuple[Sequence[Row], list[Decision]]:
    """Choose the rows that prompts see, with an entry for the ledger per row that they do not."""
    if node.value_sampling is None:
        return group, []
    seen = [visible(row.values, node.fields_seen) for row in group]
    chosen = await node.value_sampling.choose(group, seen, keys, tools)
    shown = [group[i] for i in chosen]
    name = canonical_json(list(keys.values())) if keys else ALL
    method = f"value_sampling {node.value_sampling.method}"
    detail = f"{len(shown)} of {len(group)} rows are shown to the model"
    kept = {row.id for row in shown}
    return shown, [
        Decision(", ".join(node.reduce_key), name, label(row), "left out", method, detail)
        for row in group
        if row.id not in kept
    ]


async def _answer(
    node: Reduce, group: Sequence[Row], keys: dict[str, Any], tools: Tools
) -> tuple[dict[str, Any], list[State]]:
    """Ask about a group: its values, and the states on the way if it was folded."""
    if node.prompt is None or node.schema is None:
        return {}, []
    fold = Fold(node, group, keys, node.prompt, node.fold_prompt, node.schema, node.fold_batch_size, node.fields_seen)
    if not needs_folding(fold, tools):
        return await ask(node, fold.question(), tools), []
    if node.merges:
        states = await fold_and_merge(Merge(fold, node.merge_prompt, node.merge_batch_size), tools)
    else:
        states = await fold_rows(fold, 0, len(group), tools)
    return states[-1].output, states


def _about(node: Reduce, group: Sequence[Row], states: Sequence[State]) -> dict[str, Any]:
    """Tell of the rows behind an answer: how many, what they hold, and the results on the way."""
    values = (
        len(group),
        [fields for row in group if (fields := {key: row.values[key] for key in node.lineage if key in row.values})],
        [{"iter": i, "intermediate": s.output, "scratchpad": s.scratchpad} for i, s in enumerate(states)],
    )
    return {name: value for name, value in zip(_about_fields(node), values, strict=True) if name in node.extra_fields}


def _about_fields(node: Reduce) -> tuple[str, str, str]:
    """Return the fields for what `_about` tells."""
    name = node.name_in_fields
    return f"_counts_prereduce_{name}", f"{name}_lineage", f"_{name}_intermediates"


Method = Literal["random", "first_n", "cluster", "sem_sim", "semantic_similarity"]


@dataclass(frozen=True, kw_only=True)
class ValueSampling:
    """Show a prompt at most `sample_size` rows of a group, in the order they have in it.

    `cluster` takes the row nearest to the middle of each of `sample_size` k-means clusters; `sem_sim` (also written
    semantic_similarity) those most alike to `query_text`, which may use `reduce_key`. Both embed the values of
    `embedding_keys` (default: all that the prompt may see). The pipeline's seed decides what is random.
    """

    enabled: bool = True
    method: Method | None = None
    sample_size: int | None = None
    embedding_keys: tuple[str, ...] = ()
    query_text: Template | None = field(default=None, metadata={"variables": ("reduce_key",)})

    def __post_init__(self) -> None:
        if self.enabled and (self.method is None or self.sample_size is None):
            raise PipelineError(
                "value_sampling needs a method and a sample_size",
                advice=f"Valid methods: {', '.join(get_args(Method))}. Or write enabled: false.",
            )
        if self.sample_size is not None and self.sample_size < 1:
            raise PipelineError(f"value_sampling.sample_size must be at least 1, not {self.sample_size}")
        if self.is_semantic and self.query_text is None:
            raise PipelineError(
                f"value_sampling by {self.method} needs a query_text", advice="For example query_text: battery life."
            )

    @property
    def is_semantic(self) -> bool:
        """Say whether rows are compared with a query."""
        return self.method in ("sem_sim", "semantic_similarity")

    @property
    def embeds(self) -> bool:
        """Say whether it needs the embedding model."""
        return self.enabled and (self.is_semantic or self.method == "cluster")

    async def choose(
        self, rows: Sequence[Row], seen: Sequence[Mapping[str, Any]], reduce_key: Mapping[str, Any], tools: Tools
    ) -> list[int]:
        """Choose the rows of a group to be shown, ascending; `seen` are the values of each that a prompt may see."""
        count, size = len(rows), self.sample_size
        if not self.enabled or size is None or count <= size:
            return list(range(count))
        if self.method == "first_n":
            return list(range(size))
        if self.method == "random":
            return sorted(sorted(range(count), key=lambda i: _lot(tools.seed, rows[i]))[:size])
        texts = [text_to_embed(row.values, self.embedding_keys or shown) for row, shown in zip(rows, seen, strict=True)]
        if self.query_text is None or not self.is_semantic:
            vectors = await embed_whole(texts, tools.embed)
            return await asyncio.to_thread(representatives, vectors, size, tools.seed)
        query = self.query_text.render(reduce_key=reduce_key)
        vectors = await embed_whole([query, *texts], tools.embed)
        likeness = vectors[1:] @ vectors[0]
        return sorted(np.argsort(-likeness, kind="stable")[:size].tolist())


def _lot(seed: int, row: Row) -> str:
    """Draw a lot for a row that does not depend on which other rows there are."""
    return hashlib.sha256(f"{seed}\n{row.id}".encode()).hexdigest()


OPERATOR = Operator(Reduce, run)
