"""How good what a plan wrote is, from 1 (useless) to 4: by gold where enough is known, else by what code sees in it.

No model is asked for an opinion. Between plans that neither gold nor code can tell apart nothing is decided, and the
user's own stands (docs/decisions/0037; the paper, section 4.2.2, lets a model judge).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.optimizer.agent import Agent, AgentModel
from engine.optimizer.gold import Gold, GoldScore
from engine.optimizer.item_odds import item_odds
from engine.optimizer.outputs import OutputCell, PlanOutput
from engine.optimizer.pooling import pooled
from engine.optimizer.signals import COMPLETED, POOLED, WEIGHED, completed, joined_signals, lost_inputs, signals
from engine.optimizer.weighing import weighed
from engine.rows import RowId

POOLED_WEIGHT = 0.5
"""Of the agreement with other readings among what code can see, where there is one."""

HIGHEST = 4.0

MARGIN = 0.1
"""Ratings, 1 to 4, that differ by less draw."""


@dataclass(frozen=True, kw_only=True)
class Rating:
    """How good an output is. `grounds` names what the score was made of: "gold of 7 rows", or each signal, 0 to 1."""

    score: float
    grounds: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Rater:
    """Rates outputs of plans that do the same task. `model` is asked of single items of lists (`weigh`)."""

    model: AgentModel
    gold: Gold = field(default_factory=lambda: Gold({}))
    seed: int = 0

    def rate(self, output: PlanOutput, others: Sequence[PlanOutput] = ()) -> Rating:
        """Rate an output; `others` are what other plans made of the same rows: what several say is likely."""
        if (score := self.gold.score(output)) is not None:
            return _gold_rating(score)
        lost = lost_inputs(output)
        agreed = _agreement([output, *others])[0]
        told = (_seen(output, id, agreed) for id in output.inputs if id not in lost)
        known = [share for share in told if share is not None]
        mean = sum(known) / len(known) if known else 0.0
        agreement = WEIGHED if weighed([output, *others])[0] else POOLED
        grounds = tuple(_grounds(output, agreed, agreement))
        return Rating(score=1 + (HIGHEST - 1) * completed(output) * mean, grounds=grounds)

    async def weigh(self, outputs: Sequence[PlanOutput]) -> Sequence[PlanOutput]:
        """Ask of each item that the outputs list whether it belongs there; where gold tells, nobody is asked."""
        if any(self.gold.score(output) is not None for output in outputs):
            return outputs
        found = await item_odds(Agent(self.model, "weighing", self.seed), outputs)
        return [replace(output, odds=found) for output in outputs]


def _agreement(outputs: Sequence[PlanOutput]) -> list[dict[RowId, float]]:
    """Return how good each output is by what all say, by row: by the odds of its items, or the agreement of readings.

    Where the odds are known they tell more: readings of one model list the same wrong things.
    """
    both = zip(pooled(outputs), weighed(outputs), strict=True)
    return [{**votes, **odds} for votes, odds in both]


def _grounds(output: PlanOutput, agreed: Mapping[RowId, float], agreement: str) -> Iterator[tuple[str, float]]:
    if agreed:
        yield agreement, sum(agreed.values()) / len(agreed)
    yield from signals(output.rows, output.counts, output.optional).items()
    yield COMPLETED, completed(output)


def _seen(output: PlanOutput, source: RowId, agreed: Mapping[RowId, float]) -> float | None:
    """Join what code sees of one sample row, 0 to 1; None where it sees nothing."""
    both = agreed.get(source)
    rows = output.rows_of(source)
    if both is not None and output.odds.get(source):  # they say of an empty list, too, how good it is
        rows = tuple(replace(row, cells=tuple(c for c in row.cells if not _is_empty_list(output, c))) for row in rows)
    own = joined_signals(signals(rows, output.counts, output.optional))
    if own is None or both is None:
        return own if both is None else both
    return POOLED_WEIGHT * both + (1 - POOLED_WEIGHT) * own


def _is_empty_list(output: PlanOutput, cell: OutputCell) -> bool:
    return cell.field in output.listing and isinstance(cell.value, list | tuple) and not cell.value


def _gold_rating(score: GoldScore) -> Rating:
    grounds = ((f"gold of {score.rows} rows", score.f1), ("precision", score.precision), ("recall", score.recall))
    return Rating(score=1 + (HIGHEST - 1) * score.f1, grounds=grounds)
