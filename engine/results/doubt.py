"""Which rows a person should look at first: those whose readings disagree, and whose values fail checks of code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.operators.asking import EMPTINESS
from engine.results.values import shown
from engine.values.base import PROBLEM
from engine.values.cells import is_typed

_AGREEMENT = re.compile(r"_.+_agreement")
_SURE = 0.9
"""From such a probability on, that there is an entry or none is not told."""

_STATUS, _ITEMS = "_status", "_items"
_TO_SEE_TO = ("partial", "conflict", "clarify")
_LONGEST = 80
"""Characters of another reading's value that are told."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """What speaks against a row. `cells` say it by column, for people.

    `disagreement` is 1 less the lowest share of agreement among its fields, or the lowest probability of there being an
    entry in a list or none; 0 without several readings and lists. `failed` are the checks it fails: typed values that
    could not be read, answers that are partial or in conflict, and values that were looked for in the records and not
    found.
    """

    disagreement: float
    failed: int
    cells: Mapping[str, str]

    @property
    def weight(self) -> float:
        """Return the sort key, higher for more doubt: a failed check weighs as much as no agreement at all."""
        return self.disagreement + self.failed


def doubt_of(values: Mapping[str, Any], not_located: Collection[str] = ()) -> Doubt:
    """Judge one row by its values, those included that no column shows."""
    reasons: dict[str, list[str]] = {}
    shares = [1.0]
    for name, agreement in _agreements(values):
        shares.append(agreement["share"])
        if agreement["share"] < 1:
            reasons.setdefault(name, []).append(_readings(agreement))
    for name, empty in _emptiness(values):
        is_found = values[name] not in (None, [])
        shares.append(1 - empty if is_found else empty)
        if shares[-1] < _SURE:
            reasons.setdefault(name, []).append(_of_empty(empty, is_found=is_found))
    failed = len(not_located)
    for name, value in values.items():
        problems = list(_problems(value))
        answered = name.removesuffix(_STATUS)
        if name.endswith(_STATUS) and answered + _ITEMS in values and value in _TO_SEE_TO:
            problems.append(f"the answer is {value}")
            name = answered if answered in values else name  # noqa: PLW2901 - it is told of the answer
        failed += len(problems)
        if problems:
            reasons.setdefault(name, []).extend(problems)
    return Doubt(round(1 - min(shares), 4), failed, {name: "; ".join(said) for name, said in reasons.items()})


def _agreements(values: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what `agree` kept of each field (engine.operators.asking.agreeing)."""
    for name, kept in values.items():
        if _AGREEMENT.fullmatch(name) and isinstance(kept, Mapping):
            yield from ((field, agreement) for field, agreement in kept.items() if isinstance(agreement, Mapping))


def _emptiness(values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield how likely each list that the row holds was to be empty (engine.operators.asking.emptiness)."""
    kept = values.get(EMPTINESS)
    if isinstance(kept, Mapping):
        yield from (
            (field, share) for field, share in kept.items() if field in values and isinstance(share, int | float)
        )


def _of_empty(probability: float, *, is_found: bool) -> str:
    if is_found:
        return f"The model might have listed nothing here: {probability:.0%} likely"
    return f"Nothing was found, but something was {1 - probability:.0%} likely"


def _readings(agreement: Mapping[str, Any]) -> str:
    said = [f"{_cut(shown(each['value'])) or 'nothing'} ({each['readings']})" for each in agreement["values"]]
    failed = f"; {agreement['failed']} failed" if agreement.get("failed") else ""
    return f"Readings agree by {agreement['share']:.0%}: {', '.join(said)}{failed}"


def _problems(value: Any) -> Iterator[str]:
    """Yield what could not be read of typed values in a cell."""
    if is_typed(value):
        if value[PROBLEM]:
            yield str(value[PROBLEM])
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _problems(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _problems(inner)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
