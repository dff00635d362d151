"""How well what was found agrees with gold: counts, and precision, recall and F1 of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts of one comparison: `right` of the `predicted` were found in gold, which has `wanted`."""

    right: int
    predicted: int
    wanted: int

    @property
    def precision(self) -> float:
        """Return the share of predictions that are right; 0 when nothing was predicted."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Return the share of gold that was found; 0 when there is no gold."""
        return self.right / self.wanted if self.wanted else 0.0

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall."""
        return harmonic(self.precision, self.recall)

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(self.right + other.right, self.predicted + other.predicted, self.wanted + other.wanted)


def harmonic(precision: float, recall: float) -> float:
    """Return the harmonic mean of two shares; 0 when both are."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def average(values: Iterable[float]) -> float:
    """Return the mean; 0 of nothing."""
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0
