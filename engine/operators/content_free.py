"""Rows that say nothing, in the form of real ones: what a model answers to them is its lean.

Of a question about one row, texts are replaced by random words of the rows' own, as many as a row has (Fei et al. 2023,
domain-context calibration, https://arxiv.org/abs/2305.19148): to "N/A" the right answer mostly is no. Of a question
about two, all texts become "N/A" and the like (Zhao et al. 2021, contextual calibration,
https://arxiv.org/abs/2102.09690): two lots of random words plainly are not the same. See docs/decisions/0012.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

MOST_WORDS = 200
"""Words of a random text: what comes after so many adds to the cost and not to the lean."""

BLANKS = ("N/A", "", "[MASK]")
"""The texts without content that Zhao et al. average over."""

Values = Mapping[str, Any]
Path = tuple[str, ...]
Left = TypeVar("Left")
Right = TypeVar("Right")


def blank(values: Values) -> list[Values]:
    """Return copies of a row's values with all texts replaced by each of BLANKS; numbers stay."""
    return [_blanked(values, text) for text in BLANKS]


def _blanked(values: Values, blank: str) -> Values:
    return _mapped(values, lambda _path, _text: blank)


def shuffled(rows: Sequence[Values], count: int, seed: int) -> list[Values]:
    """Return `count` rows whose texts are random words of the same field of all rows; numbers stay those of a row.

    Each has the lengths of a row drawn at random. The same rows and seed give the same texts. None without rows.
    """
    words: dict[Path, list[str]] = {}
    for values in rows:
        for path, text in _texts(values, ()):
            words.setdefault(path, []).extend(text.split())
    draw = random.Random(seed)

    def scrambled(path: Path, text: str) -> str:
        return " ".join(draw.choice(words[path]) for _ in text.split()[:MOST_WORDS])

    return [_mapped(draw.choice(rows), scrambled) for _ in range(count)] if rows else []


def cycled(lefts: Sequence[Left], rights: Sequence[Right]) -> list[tuple[Left, Right]]:
    """Put all of two lists into pairs, the shorter one going round; none if one is empty."""
    count = max(len(lefts), len(rights)) if lefts and rights else 0
    return [(lefts[i % len(lefts)], rights[i % len(rights)]) for i in range(count)]


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    match value:
        case str():
            yield path, value
        case Mapping():
            for key, item in value.items():
                yield from _texts(item, (*path, str(key)))
        case list() | tuple():
            for item in value:
                yield from _texts(item, path)


def _mapped(value: Any, change: Callable[[Path, str], str], path: Path = ()) -> Any:
    match value:
        case str():
            return change(path, value)
        case Mapping():
            return {key: _mapped(item, change, (*path, str(key))) for key, item in value.items()}
        case list() | tuple():
            return [_mapped(item, change, path) for item in value]
    return value
