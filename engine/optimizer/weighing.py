"""How good lists are by how sure a model is of each of their items, in place of a label.

Plans that list too much agree with each other, so that agreement (engine.optimizer.pooling) holds for right what all of
them get wrong. Asked of one item whether it belongs into the answer, a small model says yes to nearly every one, but
with less conviction to those that are wrong: its log-odds, less its bias, are taken for how likely the item is. Of what
all plans list, each is told how much it should have, and should not: an expected F1. Why, and how far:
docs/decisions/0028.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.operators.bias import FEWEST, LEAST_SPREAD, PRIOR_SLOPE, Bias
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.pooling import Unit, reading_of, told_by, units_of
from engine.rows import RowId

SURE = 1.1
"""Log-odds (a probability of .75) from which on most items are right: a mean above it is no bias."""

NOTHING = 0.5
"""Counted as found beside all else, so that a plan that rightly lists nothing is no failure."""


def items_of(output: PlanOutput, source: RowId) -> dict[str, tuple[str, str]]:
    """Return the items of lists that an output has of a sample row: field and text, by the key of `odds`.

    What only repeats the prompt is not asked about.
    """
    units = [unit for unit in units_of(output, source) if unit.field in output.listing and not unit.is_echo]
    return {key_of(unit): (unit.field, text_of(unit)) for unit in units}


def key_of(unit: Unit) -> str:
    """Name an item: alike in all outputs that say it in these words."""
    return f"{unit.field}: {text_of(unit)}".casefold()


def text_of(unit: Unit) -> str:
    """Write an item for a model to read."""
    if len(unit.leaves) == 1:
        return str(next(iter(unit.leaves.values())))
    return "; ".join(f"{path.removeprefix('item').lstrip('.')}: {leaf}" for path, leaf in unit.leaves.items())


def weighed(outputs: Sequence[PlanOutput]) -> list[dict[RowId, float]]:
    """Return for each output the expected F1 of its lists, 0 to 1, by the sample rows that were asked about.

    With fewer than eight answers the bias of the model is not known, and nothing is said.
    """
    odds = {(id, key): value for output in outputs for id, items in output.odds.items() for key, value in items.items()}
    scores: list[dict[RowId, float]] = [{} for _ in outputs]
    if len(odds) < FEWEST:
        return scores
    bias = _bias(list(odds.values()))
    for id in dict.fromkeys(id for id, _ in odds):
        plans = [(number, reading_of(output.plan), _listed(output, id)) for number, output in enumerate(outputs)]
        shares = [(claim, _share(claim.unit, id, odds, bias)) for claim in told_by(plans)]
        known = [(claim, share) for claim, share in shares if share is not None]
        for number, output in enumerate(outputs):
            if id in output.inputs:
                listed = [share for claim, share in known if number in claim.plans]
                whole = sum(share for _, share in known)
                scores[number][id] = (2 * sum(listed) + NOTHING) / (len(listed) + whole + NOTHING)
    return scores


def _share(unit: Unit, source: RowId, odds: Mapping[tuple[RowId, str], float], bias: Bias) -> float | None:
    """Say how likely an item is, 0 to 1; None of one that nobody was asked about."""
    if unit.is_echo:
        return 0.0
    log_odds = odds.get((source, key_of(unit)))
    return None if log_odds is None else bias.probability(log_odds)


def _bias(answers: Sequence[float]) -> Bias:
    mean = sum(answers) / len(answers)
    spread = (sum((answer - mean) ** 2 for answer in answers) / len(answers)) ** 0.5
    return Bias(min(mean, SURE), PRIOR_SLOPE / max(spread, LEAST_SPREAD))


def _listed(output: PlanOutput, source: RowId) -> list[Unit]:
    """Return the items of lists, each once."""
    units = {key_of(unit): unit for unit in units_of(output, source) if unit.field in output.listing}
    return list(units.values())
