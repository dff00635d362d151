"""Choose the pairs that operators which compare pairs ask a model about (paper section 4.2.1, blocking)."""

from __future__ import annotations

import functools
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from engine.language.conditions import Condition, condition
from engine.operators.accounting import Failure, attempt_all
from engine.operators.asking import LAYOUT, Component
from engine.operators.base import Decision, Tools
from engine.operators.deciding import DecidingNode, LeanMethod
from engine.operators.pairs import (
    MOST_PAIRS,
    Order,
    Proposal,
    Sampled,
    by_left,
    count_pairs,
    in_order,
    pairs_by_condition,
    sample_by_rank,
    too_many,
    top_pairs,
)
from engine.text.ranking import STEP, embed_whole
from models.matrices import Matrix, new_matrix
from models.protocol import Sampling

SAMPLE = 200
"""Pairs asked about to find the threshold ("hundreds" in the paper); so few in all are compared without one."""

WORTHWHILE = 10
"""Pairs per item, the most similar of all, among which the threshold is sought: more comparisons are not affordable."""

SPARE = 10
"""Pairs kept ready for each comparison of `limit_comparisons`: many are settled by transitivity."""

Pair = tuple[int, int]
Compare = Callable[[Proposal], Awaitable[bool]]
Answer = bool | Failure


@dataclass(frozen=True, kw_only=True)
class ComparingNode(DecidingNode):
    """What all operators have that ask a model about pairs.

    Pairs are proposed by `blocking_conditions` and by embeddings with a cosine of at least `blocking_threshold`. With
    neither, the threshold is found out: by a sample that the model is asked about, the part `blocking_target_recall`
    of the pairs that are the same is at least so alike. At most `limit_comparisons` pairs are asked, the most alike
    first, and at most `compare_batch_size` at once before it is looked at which others have become superfluous.
    A pair is the same where the model's odds are above its border (engine.operators.anchors), unless `correct_lean` is
    `none`; those of a model that does not say how sure it is are as it answers.
    `comparison_model` is asked about pairs; without `model`, it is the operator's model.
    """

    takes: ClassVar[tuple[Component, ...]] = (LAYOUT,)
    lean_methods: ClassVar[tuple[LeanMethod, ...]] = ("none", "anchors", "reviewed")

    correct_lean: LeanMethod = "anchors"
    blocking_threshold: float | None = None
    blocking_target_recall: float = 0.95
    blocking_conditions: tuple[Condition, ...] = ()
    limit_comparisons: int | None = None
    compare_batch_size: int | None = None
    comparison_model: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.only_compares:
            object.__setattr__(self, "model", self.model or self.comparison_model)
        parsed = (condition(each) if isinstance(each, str) else each for each in self.blocking_conditions)
        object.__setattr__(self, "blocking_conditions", tuple(parsed))
        threshold, recall = self.blocking_threshold, self.blocking_target_recall
        self.require(threshold is None or -1 <= threshold <= 1, f"blocking_threshold is a cosine, not {threshold}")
        self.require(0 < recall <= 1, f"blocking_target_recall must be above 0 and at most 1, not {recall}")
        limit = self.limit_comparisons
        self.require(limit is None or limit >= 0, f"limit_comparisons must not be negative, but is {limit}")
        self.require_at_least(compare_batch_size=1)

    @property
    def decision(self) -> str:
        """Return the boolean that is the answer about a pair."""
        return "same"

    def sampling(self, tools: Tools) -> Sampling:
        """Decide greedily where the operator names no temperature of its own.

        Of thousands of pairs that differ, dice would call some the same, and one joins two groups.
        """
        return replace(super().sampling(tools), temperature=self.temperature or 0.0)

    @property
    def reads_probabilities(self) -> bool:
        """Say whether it is asked how sure the model is of a pair."""
        return self.corrects_lean

    @property
    def only_compares(self) -> bool:
        """Say whether the model is asked about pairs and nothing else."""
        return True

    @property
    def judged_fields(self) -> tuple[str, ...] | None:
        """Return the fields of an answer that expressions are about; None where the model only compares."""
        return None if self.only_compares else super().judged_fields

    @property
    def other_models(self) -> tuple[str, ...]:
        """Return the models that are asked beside the operator's own."""
        named = (*super().other_models, self.comparison_model)
        return tuple(dict.fromkeys(name for name in named if name and name != self.model))

    @property
    def uses_embeddings(self) -> bool:
        """Say whether embeddings propose pairs, or say which of too many are asked about."""
        return self.proposes_by_embeddings or self.is_limited

    @property
    def is_limited(self) -> bool:
        """Say whether a limit may leave out pairs: the most similar ones are asked about then."""
        return self.limit_comparisons is not None

    @property
    def proposes_by_embeddings(self) -> bool:
        """Say whether embeddings propose pairs."""
        return self.blocking_threshold is not None or not self.blocking_conditions

    def if_other(self, model: str | None) -> str | None:
        """Return a model where it is another than the operator's own, else None."""
        return model if model != self.model else None

    def condition_reads(self, side: int) -> frozenset[str]:
        """Return the fields its conditions need of the left (0) or right (1) row."""
        return frozenset().union(*(each.reads(side) for each in self.blocking_conditions))


@dataclass(frozen=True)
class Side:
    """What is known of the items on one side: the text that is embedded, and the values that conditions see."""

    texts: Sequence[str]
    values: Sequence[Mapping[str, Any]]


@dataclass(kw_only=True)
class PairAsking:
    """Asks about proposed pairs, at most `limit_comparisons` of the node in all and `compare_batch_size` at once.

    What is asked at once is asked in `order`. What the model has said before of a pair is `known` and not asked again.
    """

    node: ComparingNode
    compare: Compare
    progress: Callable[[int, int], None]
    known: Mapping[Pair, Answer]
    order: Order
    asked: int = 0

    def room(self, count: int) -> int:
        """Return how many of so many pairs may be asked about at once."""
        limit = self.node.limit_comparisons
        room = count if limit is None else limit - self.asked
        return min(room, self.node.compare_batch_size or room)

    async def ask(self, pairs: Sequence[Proposal], waiting: int) -> list[Answer]:
        """Return what the model says of pairs, same order; `waiting` are those that come later."""
        before = self.asked

        def report(done: int, total: int) -> None:
            self.progress(before + done, before + total + waiting)

        new = sorted((p for p in pairs if (p.left, p.right) not in self.known), key=self.order)
        answers: list[Answer] = await attempt_all(new, self.compare, report)
        self.asked += len(new)
        said = {**self.known, **{(p.left, p.right): answer for p, answer in zip(new, answers, strict=True)}}
        return [said[pair.left, pair.right] for pair in pairs]


@dataclass(frozen=True)
class Candidates:
    """The pairs to compare, best first; what the model has said of some of them; and what the ledger must tell."""

    proposals: list[Proposal] = field(default_factory=list)
    known: dict[Pair, Answer] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)


async def block(
    node: ComparingNode,
    subject: str,
    left: Side,
    right: Side | None,
    compare: Compare | None,
    tools: Tools,
    order: Order = by_left,
) -> Candidates:
    """Propose pairs of two sides, or of one with itself (`right` None).

    Those of a sample are asked about in `order`; without `compare` there is none. Raises PipelineError where the
    threshold or a condition leaves more pairs than a model could compare.
    """
    proposals, decisions = await pairs_by_condition(
        node.blocking_conditions, left.values, None if right is None else right.values
    )
    if node.is_limited and proposals:
        proposals = await _rated(proposals, left, right or left, tools)
    if not node.proposes_by_embeddings:
        return Candidates(in_order(proposals), decisions=decisions)
    both = await vectors_of([*left.texts, *(right.texts if right else ())], tools)
    vectors, others = both[: len(left.texts)], both[len(left.texts) :] if right else None
    count = count_pairs(len(vectors), None if others is None else len(others))
    most_similar = functools.partial(top_pairs, vectors, others=others)
    most = None if node.limit_comparisons is None else max(node.limit_comparisons * SPARE, SAMPLE)
    if node.blocking_threshold is not None:
        alike, reached = await most_similar(MOST_PAIRS, at_least=node.blocking_threshold)
        if reached > MOST_PAIRS:
            if most is None:
                raise too_many(f"blocking_threshold: a similarity of {node.blocking_threshold} is reached")
            alike = alike[:most]
            detail = f"{reached} pairs are so alike; the {len(alike)} most alike ones may be compared"
            what = f"similarity of at least {node.blocking_threshold}"
            decisions.append(Decision(subject, what, "", "compared", "threshold", detail))
        return Candidates(in_order([*proposals, *alike]), decisions=decisions)
    if most is not None:
        return Candidates((await most_similar(min(most, count, MOST_PAIRS)))[0], decisions=decisions)
    if count <= SAMPLE or compare is None:
        return Candidates((await most_similar(count))[0], decisions=decisions)
    worthwhile, _ = await most_similar(min(count, max(WORTHWHILE * len(both), SAMPLE), MOST_PAIRS))
    return await _by_sample(node, subject, worthwhile, count, compare, tools, order)


async def _rated(proposals: Sequence[Proposal], left: Side, right: Side, tools: Tools) -> list[Proposal]:
    """Say of proposed pairs how alike they are, by the cosine of their texts' embeddings."""
    rows = sorted({pair.left for pair in proposals}), sorted({pair.right for pair in proposals})
    texts = [[side.texts[row] for row in chosen] for side, chosen in zip((left, right), rows, strict=True)]
    both = await vectors_of([*texts[0], *texts[1]], tools)
    at = [{row: place for place, row in enumerate(chosen)} for chosen in rows]
    lefts = np.array([at[0][pair.left] for pair in proposals])
    rights = np.array([at[1][pair.right] for pair in proposals]) + len(rows[0])
    rated: list[Proposal] = []
    for start in range(0, len(proposals), STEP):
        stop = start + STEP
        cosines = np.einsum("nd,nd->n", both[lefts[start:stop]], both[rights[start:stop]])
        pairs = zip(proposals[start:stop], cosines, strict=True)
        rated += [replace(pair, score=float(cosine)) for pair, cosine in pairs]
    return rated


async def _by_sample(
    node: ComparingNode,
    subject: str,
    worthwhile: Sequence[Proposal],
    count: int,
    compare: Compare,
    tools: Tools,
    order: Order,
) -> Candidates:
    sample = sorted(sample_by_rank(worthwhile, SAMPLE, tools.seed), key=lambda drawn: order(drawn.pair))
    answers = await attempt_all([drawn.pair for drawn in sample], compare, tools.progress)
    same = [drawn for drawn, answer in zip(sample, answers, strict=True) if answer is True]
    threshold = recall_threshold(same, node.blocking_target_recall) if same else math.inf
    known = {(drawn.pair.left, drawn.pair.right): answer for drawn, answer in zip(sample, answers, strict=True)}
    proposals = [p for p in worthwhile if p.score >= threshold or (p.left, p.right) in known]
    if same:
        what = f"similarity of at least {threshold:.4f}"
        finding = (
            f"{len(same)} of {len(sample)} sampled pairs are the same; "
            f"this keeps about {node.blocking_target_recall:.0%} of such"
        )
    else:
        what, finding = "the sample alone", f"none of {len(sample)} sampled pairs is the same"
    detail = f"{finding}; {len(proposals)} of {count} pairs are compared"
    return Candidates(proposals, known, [Decision(subject, what, "", "compared", "sample", detail)])


def recall_threshold(same: Sequence[Sampled], recall: float) -> float:
    """Return the highest cosine that at least the part `recall` of the pairs reach for which the sample stands."""
    best_first = sorted(same, key=lambda drawn: -drawn.pair.score)
    needed = recall * sum(drawn.weight for drawn in same) - 1e-9
    reached = 0.0
    for drawn in best_first:
        reached += drawn.weight
        if reached >= needed:
            return drawn.pair.score
    return best_first[-1].pair.score


async def vectors_of(texts: Sequence[str], tools: Tools) -> Matrix:
    """Embed texts; an empty one is like no other: its vector is zero."""
    if not (filled := [text for text in texts if text.strip()]):
        return np.zeros((len(texts), 1), np.float32)
    vectors = await embed_whole(filled, tools.embed)
    if len(filled) == len(texts):
        return vectors
    padded = new_matrix(len(texts), vectors.shape[1])
    places = np.flatnonzero([bool(text.strip()) for text in texts])
    for start in range(0, len(places), STEP):
        padded[places[start : start + STEP]] = vectors[start : start + STEP]
    return padded
