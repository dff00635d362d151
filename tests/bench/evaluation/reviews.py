"""Score reviews that were picked from long documents: made-up ids, sentiment, order (paper, section 5.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluation.agreement import average
from evaluation.orders import kendall_tau


@dataclass(frozen=True, slots=True)
class Review:
    """What is known of a review: whether its writer recommends the game, and by which number it is to be ordered."""

    positive: bool
    order: float


@dataclass(frozen=True, slots=True)
class Picked:
    """A list that was picked from one document: the ids in their order, and whether they are said to be positive."""

    ids: Sequence[str]
    positive: bool
    reviews: Mapping[str, Review]

    @property
    def real(self) -> list[str]:
        """Return the ids that the document has, each once, where it stands first."""
        return [one for one in dict.fromkeys(self.ids) if one in self.reviews]


def score_picked(lists: Iterable[Picked]) -> dict[str, float]:
    """Score lists of all documents together.

    `hallucination_rate`: the share of ids that their document does not have (1 when no id was given at all).
    `sentiment_accuracy`: of the others, the share whose writer judges as the list says. `kendall_tau`: how well the
    lists are in ascending order, the mean over lists in which there is an order. `picked`: ids, made-up ones too.
    """
    every = list(lists)
    picked = sum(len(one.ids) for one in every)
    made_up = sum(i not in one.reviews for one in every for i in one.ids)
    agreed = [one.reviews[i].positive == one.positive for one in every for i in one.real]
    taus = [tau for one in every if (tau := kendall_tau([one.reviews[i].order for i in one.real])) is not None]
    return {
        "hallucination_rate": made_up / picked if picked else 1.0,
        "sentiment_accuracy": average(map(float, agreed)),
        "kendall_tau": average(taus),
        "picked": float(picked),
    }
