"""topk: keep the rows that answer a query best, by words, by meaning, or as the model compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.language.schema import Scalar, Type
from engine.language.templates import Template
from engine.operators.accounting import all_or_none, process_rows, value_of
from engine.operators.asking import ModelNode, visible
from engine.operators.base import Operator, Outcome, Rejected, Tools
from engine.operators.grouping import written_alike
from engine.operators.rank import Rank, document_text, ranked_rows
from engine.operators.sample import count_of
from engine.plan.node import Traits
from engine.rows import Row
from engine.text.ranking import best, rank

COMPARE = "llm_compare"


@dataclass(frozen=True, kw_only=True)
class TopK(ModelNode):
    """Keep the best `k` rows (a share of the rows if below 1) for `query`, in order; reject the others.

    `fts` scores the words of the fields `keys` (BM25), `embedding` their meaning, `hybrid` both; none asks the model.
    `llm_compare` orders the rows as `rank` does, from a first order by embeddings, with at most `rerank_call_budget`
    windows of `batch_size` rows; its query is plain text. `query` may read fields of the rows: those with the same
    query, `{{ input.question }}`, compete. With `stratify_key`, k rows are kept of each group of equal values. The
    fields `_<name>_rank` (from 1) and, unless the model compares, `_<name>_score` are added.
    """

    kind: ClassVar[str] = "topk"

    method: Literal["embedding", "fts", "hybrid", "llm_compare"]
    k: float
    keys: tuple[str, ...]
    query: Template
    stratify_key: tuple[str, ...] = ()
    rerank_call_budget: int = 10
    num_top_items_per_window: int = 3
    batch_size: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = float(self.k).is_integer() and self.k >= 1
        self.require(
            whole or 0 < self.k < 1,
            f"k must be a whole number of at least 1, or a share between 0 and 1, not {self.k:g}",
        )
        self.require(bool(self.keys), "keys names no field", "Name the fields that are compared with the query.")
        self.require(bool(self.query.text.strip()), "query is empty")
        self.require(
            not (self.compares and (self.query.mentions() or self.query.reads_unknown)),
            "query reads fields, but one criterion must hold for all rows that the model compares",
            "Use method embedding, fts or hybrid, or write the criterion as plain text.",
        )
        if self.compares:
            self.ranking("x")

    @property
    def compares(self) -> bool:
        """Say whether the model compares rows."""
        return self.method == COMPARE

    @property
    def rank_key(self) -> str:
        """Return the field for the place of a row, from 1."""
        return f"_{self.name_in_fields}_rank"

    @property
    def score_key(self) -> str:
        """Return the field for the score of a row."""
        return f"_{self.name_in_fields}_score"

    def count(self, rows: int) -> int:
        """Return how many of so many rows are kept, at least 1."""
        return min(rows, max(1, count_of(self.k, rows)) if self.k < 1 else int(self.k))

    def ranking(self, criterion: str) -> Rank:
        """Return the rank operator that compares rows by a criterion."""
        return Rank(
            **self.common_keys,
            prompt=criterion,
            input_keys=self.keys,
            initial_ordering_method="embedding",
            rerank_call_budget=self.rerank_call_budget,
            num_top_items_per_window=self.num_top_items_per_window,
            window_size=self.batch_size,
            k=int(self.k) if self.k >= 1 else None,
        )

    def own_traits(self) -> Traits:
        """Say what it reads and writes."""
        return Traits(
            reads=frozenset((*self.keys, *self.stratify_key)) | self.query.reads(),
            writes=frozenset(self.written_types()),
            cardinality="zero_or_one",
            row_local=False,
            calls_model=self.compares,
            embeds=self.method != "fts",
            reads_unknown=self.query.reads_unknown,
        )

    def written_types(self) -> Mapping[str, Type]:
        """Return the types of place and score."""
        scores = {} if self.compares else {self.score_key: Scalar("float")}
        return {self.rank_key: Scalar("integer"), **scores}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A row with what it is searched by, and the group in which it competes."""

    row: Row
    text: str
    query: str
    group: str


async def run(node: TopK, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Keep the best rows of each group; groups come out in the order in which each first appeared."""
    entries: dict[str, _Entry] = {}

    async def read(row: Row) -> Sequence[Row]:
        query = node.query.render(input=visible(row.values))
        group = written_alike([query, [value_of(row, key) for key in node.stratify_key]])
        entries[row.id] = _Entry(row, document_text(row, _present(node, row)), query, group)
        return [row]

    outcome = await process_rows(node, rows, read, tools)
    groups: dict[str, list[_Entry]] = {}
    for row in outcome.rows:
        groups.setdefault(entries[row.id].group, []).append(entries[row.id])
    choose = _compared if node.compares else _scored
    chosen = await all_or_none([choose(node, group, tools) for group in groups.values()])
    return Outcome.together([Outcome(failed=outcome.failed), *chosen])


def _present(node: TopK, row: Row) -> Sequence[str]:
    """Return the keys that a row has; all where it has none, so that it fails."""
    return [key for key in node.keys if row.values.get(key) is not None] or node.keys


async def _scored(node: TopK, group: Sequence[_Entry], tools: Tools) -> Outcome:
    scores = await rank(node.method, group[0].query, [entry.text for entry in group], tools.embed)
    order = best(scores, len(group))
    kept = order[: node.count(len(group))]
    rows = [
        group[index].row.derive(
            node.name, {**group[index].row.values, node.rank_key: place, node.score_key: round(scores[index], 6)}
        )
        for place, index in enumerate(kept, 1)
    ]
    rejected = [_rejected(node, group[index], f"score {scores[index]:.3g}", group) for index in order[len(kept) :]]
    return Outcome(rows, rejected)


async def _compared(node: TopK, group: Sequence[_Entry], tools: Tools) -> Outcome:
    by_row = {entry.row.id: entry for entry in group}
    texts = {entry.row.id: entry.text for entry in group}
    ranked = await ranked_rows(node.ranking(group[0].query), [entry.row for entry in group], texts, tools)
    count = node.count(len(group))
    rows = [
        row.derive(node.name, {**row.values, node.rank_key: place}) for place, row in enumerate(ranked.rows[:count], 1)
    ]
    rejected = [
        _rejected(node, by_row[row.id], f"place {place}", group)
        for place, row in enumerate(ranked.rows[count:], count + 1)
    ]
    return Outcome(rows, rejected, ranked.failed, ranked.decisions)


def _rejected(node: TopK, entry: _Entry, place: str, group: Sequence[_Entry]) -> Rejected:
    kept = node.count(len(group))
    return Rejected(entry.row, f"topk {node.name}: not among the {kept} best of {len(group)} ({place})")


OPERATOR = Operator(TopK, run)
