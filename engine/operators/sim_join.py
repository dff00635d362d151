"""sim_join: give each left row the right rows most similar to it, by embeddings and without a model call."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from engine.operators.base import Decision, Operator, Outcome, Tools
from engine.operators.blocking import vectors_of
from engine.operators.merging import How, Join, Match, Merge
from engine.operators.vectors import text_to_embed
from engine.plan.node import Node, Traits
from engine.rows import Row
from models.matrices import Matrix
from models.nearest import ROWS, Neighbours, prepare_search


@dataclass(frozen=True, kw_only=True)
class SimJoin(Node):
    """Merge each left row with the `k` right rows whose `right_key` is most similar to its `left_key`.

    Pairs with a cosine below `min_similarity` do not count. The cosine is written to `score_key`. `how` left keeps
    a left row without a match, with null for the right fields and the score.

    Beyond 100,000 right rows an index answers, if there are many left rows: it may miss a few, and the ledger says how
    many about. With `exact` every pair is compared.
    """

    kind: ClassVar[str] = "sim_join"

    left_key: str
    right_key: str
    k: int = 1
    min_similarity: float | None = None
    score_key: str = "similarity"
    how: How = "inner"
    exact: bool = False

    def __post_init__(self) -> None:
        self.require_at_least(k=1)
        least = self.min_similarity
        self.require(least is None or -1 <= least <= 1, f"min_similarity is a cosine, not {least}")
        self.require(bool(self.score_key), "score_key must not be empty", "Name a field, or leave score_key out.")

    def traits(self) -> Traits:
        """Say what it reads of either side and writes."""
        return Traits(
            reads=frozenset([self.left_key]),
            reads_right=frozenset([self.right_key]),
            writes=frozenset([self.score_key]),
            inputs=2,
            row_local=False,
            cardinality="many_to_many",
            calls_model=False,
            embeds=True,
        )


async def run(node: SimJoin, rows: tuple[Sequence[Row], Sequence[Row]], tools: Tools) -> Outcome:
    """Join; the matches of a left row are in the order of their similarity."""
    lefts, rights = rows
    texts = [text_to_embed(row.values, [node.left_key]) for row in lefts]
    other_texts = [text_to_embed(row.values, [node.right_key]) for row in rights]
    vectors = await vectors_of([*texts, *other_texts], tools)

    def reason(side: str, index: int) -> str:
        if not (texts if side == "left" else other_texts)[index].strip():
            return f"{node.left_key if side == 'left' else node.right_key} is empty"
        if side == "left":
            return f"none of {len(rights)} right rows is similar enough"
        return f"not among the {node.k} most similar of any left row"

    matches, decisions = await _matches(node, vectors[: len(lefts)], vectors[len(lefts) :])
    return Join(node, lefts, rights, node.how, Merge.of(lefts, rights, tools.joined_fields)).outcome(
        matches, reason, added=[node.score_key], decisions=decisions
    )


async def _matches(node: SimJoin, vectors: Matrix, others: Matrix) -> tuple[list[Match], list[Decision]]:
    """Give the `k` best matches of each row, and say so if they were not looked for one and all."""
    search = await asyncio.to_thread(prepare_search, others, vectors, node.k, exact=node.exact)
    matches: list[Match] = []
    for start in range(0, len(vectors), ROWS):
        neighbours = await asyncio.to_thread(search.search, vectors[start : start + ROWS], node.k)
        matches += _near_enough(node, start, neighbours)
    if search.recall is None:
        return matches, []
    detail = f"an index over {len(others)} right rows finds about {search.recall:.1%} of the most similar ones"
    return matches, [Decision(node.name, f"the {node.k} most similar", "", "approximate", "index", detail)]


def _near_enough(node: SimJoin, first: int, neighbours: Neighbours) -> Iterator[Match]:
    """Give matches of rows from `first` on; an empty text has none."""
    for row, (places, cosines) in enumerate(
        zip(neighbours.indices.tolist(), neighbours.cosines.tolist(), strict=True), first
    ):
        for place, cosine in zip(places, cosines, strict=True):
            score = round(cosine, 4)
            if place >= 0 and (node.min_similarity is None or score >= node.min_similarity):
                yield Match(row, place, {node.score_key: score})


OPERATOR = Operator(SimJoin, run)
