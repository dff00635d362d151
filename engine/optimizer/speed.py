"""How long plans take here: tokens at the rates of each model, corrected by what the build itself has measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.estimate.total import rates_of
from engine.optimizer.stored_outcomes import Cost
from models.rates import Rates

UNMEASURED = Rates(prompt_per_second=150.0, sampled_per_second=30.0, characters_per_token=4.0, measured_at="")
"""A 1.5B on a laptop's processor, about; where the model was never measured, until the build has measured it."""

ENOUGH_SECONDS = 5.0
"""The rates are corrected once calls of so many seconds have been timed: less is start-up."""


@dataclass
class _Timed:
    predicted: float = 0.0
    measured: float = 0.0


class Speed:
    """Says what costs take, in seconds; `rates` gives what is known of a model, None where that is nothing."""

    def __init__(self, rates: Callable[[str], Rates | None] = rates_of) -> None:
        self._find = rates
        self._rates: dict[str, Rates] = {}
        self._timed: dict[str, _Timed] = {}

    def seconds(self, costs: Mapping[str, Cost]) -> float:
        """Say what calls of models, by name, would take if no reply were known."""
        return sum(self._predicted(model, cost) * self._correction(model) for model, cost in costs.items())

    def timed(self, costs: Mapping[str, Cost], seconds: float) -> None:
        """Learn how long calls took that were made; calls of several models at once teach nothing."""
        made = [(model, cost) for model, cost in costs.items() if cost.calls]
        if len(made) == 1:
            model, cost = made[0]
            timed = self._timed.setdefault(model, _Timed())
            timed.predicted += self._predicted(model, cost)
            timed.measured += seconds

    def _predicted(self, model: str, cost: Cost) -> float:
        if model not in self._rates:
            self._rates[model] = self._find(model) or UNMEASURED
        return self._rates[model].seconds(cost.read_tokens, cost.sampled_tokens)

    def _correction(self, model: str) -> float:
        timed = self._timed.get(model)
        if timed is None or timed.measured < ENOUGH_SECONDS or not timed.predicted:
            return 1.0
        return timed.measured / timed.predicted
