"""search: keep the rows that answer a query best, by full text and embeddings, without a model call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from engine.operators.asking import visible
from engine.operators.base import Operator, Outcome, Rejected, Tools
from engine.operators.vectors import text_to_embed
from engine.plan.node import Node, Traits
from engine.rows import Row
from engine.text.ranking import Method, best, rank

LONGEST_SHOWN = 80
"""Characters of the query that a reason repeats."""


@dataclass(frozen=True, kw_only=True)
class Search(Node):
    """Keep the `top_k` rows whose fields `keys` (default: all) answer `query` best, the best first.

    `mode`: fts ranks by the words they share (BM25), embedding by meaning, hybrid by both (reciprocal rank fusion).
    A row without any word of the query is no answer under fts. The score is written to `score_key` if given; scores of
    different modes cannot be compared.
    """

    kind: ClassVar[str] = "search"

    query: str
    keys: tuple[str, ...] = ()
    top_k: int = 10
    mode: Method = "hybrid"
    score_key: str | None = None

    def __post_init__(self) -> None:
        self.require(bool(self.query.strip()), "query is empty", "Write what to search for.")
        self.require_at_least(top_k=1)
        self.require(self.score_key != "", "score_key is empty", "Name a field, or leave score_key out.")

    def traits(self) -> Traits:
        """Say what it reads and writes."""
        return Traits(
            reads=frozenset(self.keys),
            writes=frozenset([self.score_key] if self.score_key else ()),
            cardinality="zero_or_one",
            row_local=False,
            calls_model=False,
            embeds=self.mode != "fts",
            reads_unknown=not self.keys,
        )


async def run(node: Search, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Rank all rows; those that are not among the best are rejected with their rank."""
    texts = [text_to_embed(row.values, node.keys or visible(row.values)) for row in rows]
    scores = dict.fromkeys(range(len(rows)), 0.0)
    filled = [i for i, text in enumerate(texts) if text.strip()]
    if filled:
        ranked = await rank(node.mode, node.query, [texts[i] for i in filled], tools.embed)
        scores |= dict(zip(filled, ranked, strict=True))
    answers = [i for i in filled if node.mode != "fts" or scores[i] > 0]
    order = [answers[i] for i in best([scores[i] for i in answers], len(answers))]
    place = {index: number for number, index in enumerate(order, 1)}
    kept = [
        rows[i].derive(node.name, {**rows[i].values, **({node.score_key: scores[i]} if node.score_key else {})})
        for i in order[: node.top_k]
    ]
    return Outcome(
        kept,
        [
            Rejected(row, f"search {node.name}: {_reason(node, texts[i], place.get(i), scores[i])}")
            for i, row in enumerate(rows)
            if place.get(i, node.top_k + 1) > node.top_k
        ],
    )


def _reason(node: Search, text: str, place: int | None, score: float) -> str:
    query = node.query if len(node.query) <= LONGEST_SHOWN else node.query[:LONGEST_SHOWN] + "…"
    if not text.strip():
        return "it has no text to search"
    if place is None:
        return f"it has no word of {query!r}"
    return f"not among the top {node.top_k} for {query!r}: rank {place}, score {score:.4g}"


OPERATOR = Operator(Search, run)
