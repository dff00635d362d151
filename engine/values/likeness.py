"""How alike two readings of one field are, 0 to 1, and which of several is nearest to all: the vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.text.normalise import fold, plain
from engine.values.base import MARKS
from engine.values.cells import is_typed, main_part


@dataclass(frozen=True, slots=True)
class Vote:
    """What several readings say of one field.

    `winner` is the place of the reading that is nearest to all, the first of equals. `share` is how alike all are to
    it on average, itself included: of three readings of which two say the same, two thirds. `values` are the different
    readings with how many say each, most first.
    """

    winner: int
    share: float
    values: tuple[tuple[Any, int], ...]


def vote(readings: Sequence[Any]) -> Vote:
    """Choose among readings of one field (the medoid: for values that are equal or not, the majority)."""
    alike = [[likeness(one, other) for other in readings] for one in readings]
    sums = [sum(row) for row in alike]
    winner = max(range(len(readings)), key=lambda place: (round(sums[place], 9), -place))
    groups: list[tuple[Any, int]] = []
    for reading in readings:
        at = next((n for n, (known, _) in enumerate(groups) if likeness(known, reading) == 1), None)
        if at is None:
            groups.append((reading, 1))
        else:
            groups[at] = (groups[at][0], groups[at][1] + 1)
    ordered = sorted(groups, key=lambda group: -group[1])
    return Vote(winner, round(sums[winner] / len(readings), 4), tuple(ordered))


def likeness(one: Any, other: Any) -> float:
    """Compare two values: texts without case, accents and space, typed values by what was read of them.

    Lists by the items they share, in any order (Dice: twice the shared ones by all), objects by their fields.
    """
    if is_typed(one) and is_typed(other) and main_part(one) is not None and main_part(other) is not None:
        return likeness(_read_parts(one), _read_parts(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        names = one.keys() | other.keys()
        return sum(likeness(one.get(name), other.get(name)) for name in names) / len(names) if names else 1.0
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return _shared(one, other)
    if isinstance(one, str) and isinstance(other, str):
        return float(fold(plain(one)) == fold(plain(other)))
    return float(isinstance(one, bool) == isinstance(other, bool) and one == other)


def _read_parts(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a typed value, whichever words they were read from."""
    return {name: part for name, part in value.items() if name not in MARKS}


def _shared(one: Sequence[Any], other: Sequence[Any]) -> float:
    if not one and not other:
        return 1.0
    left, shared = list(other), 0.0
    for item in one:
        scores = [likeness(item, rest) for rest in left]
        best = max(scores, default=0.0)
        if best > 0:
            left.pop(scores.index(best))
            shared += best
    return 2 * shared / (len(one) + len(other))
