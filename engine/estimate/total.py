"""What a whole pipeline will take: calls, tokens and time of all its operators together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.estimate.flow import Guess, WorkEstimate, estimate_work, total
from engine.estimate.sources import Looked, look_at
from engine.loader import Loaded
from engine.plan.rewrites import rewritten
from models.errors import ModelError
from models.protocol import CHARACTERS_PER_TOKEN
from models.rates import Rates, load_rates


@dataclass(frozen=True, slots=True)
class Total:
    """The sums. Of the prompt tokens `read` are computed: what prompts begin with alike is read once."""

    calls: Guess
    prompt_tokens: Guess
    read_tokens: Guess
    sampled_tokens: Guess

    def seconds(self, rates: Rates) -> tuple[float, float]:
        """Return how long it takes at these rates, likely and at most (which may be infinite)."""
        read, sampled = self.read_tokens, self.sampled_tokens
        return rates.seconds(read.likely, sampled.likely), rates.seconds(read.high, sampled.high)


@dataclass(frozen=True, slots=True)
class Forecast:
    """A pipeline's total in numbers. `seconds` is None where the model's speed is not known.

    `assumed` says what was taken for granted.
    """

    calls: int
    prompt_tokens: int
    sampled_tokens: int
    seconds: float | None
    model: str
    assumed: tuple[str, ...]


def total_of(found: Sequence[WorkEstimate]) -> Total:
    """Add up the operators."""
    return Total(
        calls=total(each.calls for each in found),
        prompt_tokens=total(each.prompt_tokens for each in found),
        read_tokens=total(each.read_tokens for each in found),
        sampled_tokens=total(each.sampled_tokens for each in found),
    )


def rates_of(model: str) -> Rates | None:
    """Return how fast a model is here; None where that was not measured or the model is not known."""
    try:
        return load_rates(model)
    except ModelError:
        return None  # the run says which model is missing; here its speed is just not known


def forecast(loaded: Loaded, *, case: Path | None = None, model: str = "", looked: Looked = lambda: None) -> Forecast:
    """Estimate a plan; `case` tells of documents that were read before, `model` replaces those of the pipeline.

    Raises what `looked` does, which hears of each row that is looked at.
    """
    workflow = rewritten(loaded.plan)
    name = model or loaded.plan.default_model
    rates = rates_of(name) if any(node.traits().calls_model for node in workflow.nodes()) else None
    per_token = rates.characters_per_token if rates else CHARACTERS_PER_TOKEN
    estimates, assumptions = estimate_work(workflow, look_at(loaded, case=case, looked=looked), per_token)
    whole = total_of(estimates)
    return Forecast(
        calls=round(whole.calls.likely),
        prompt_tokens=round(whole.prompt_tokens.likely),
        sampled_tokens=round(whole.sampled_tokens.likely),
        seconds=whole.seconds(rates)[0] if rates else None,
        model=name,
        assumed=tuple(assumptions),
    )
