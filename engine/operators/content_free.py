"""Rows that say nothing, or less, in the form of real ones: what a model answers to them tells its bias.

Texts are replaced by random words of the rows' own, as many as a row has (Fei et al. 2023, domain-context calibration,
https://arxiv.org/abs/2305.19148): to "N/A" the right answer mostly is no. See docs/decisions/0012.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

MOST_WORDS = 200
"""Words of a random text: what comes after so many adds to the cost and not to the bias."""

FEWEST_WORDS = 3
"""Words of a text that says the same without one of them."""

Values = Mapping[str, Any]
Path = tuple[str, ...]


def shuffled(rows: Sequence[Values], count: int, seed: int) -> list[Values]:
    """Return `count` rows whose texts are random words of the same field of all rows; numbers stay those of a row.

    Each has the lengths of a row drawn at random. The same rows and seed give the same texts. None without rows.
    """
    words: dict[Path, list[str]] = {}
    draw = random.Random(seed)

    def noted(path: Path, text: str) -> str:
        words.setdefault(path, []).extend(text.split())
        return text

    def scrambled(path: Path, text: str) -> str:
        return " ".join(draw.choice(words[path]) for _ in text.split()[:MOST_WORDS])

    _mapped(rows, noted)
    return [_mapped(draw.choice(rows), scrambled) for _ in range(count)] if rows else []


def shortened(values: Any) -> Any:
    """Return values whose texts of three words or more lack one; the same text always lacks the same."""

    def without_some(_: Path, text: str) -> str:
        words = re.findall(r"\S+\s*", text)
        if len(words) < FEWEST_WORDS:
            return text
        del words[random.Random(text).randrange(len(words))]  # noqa: S311 - nothing secret
        return "".join(words).rstrip()

    return _mapped(values, without_some)


def _mapped(value: Any, change: Callable[[Path, str], str], path: Path = ()) -> Any:
    match value:
        case str():
            return change(path, value)
        case Mapping():
            return {key: _mapped(item, change, (*path, str(key))) for key, item in value.items()}
        case list() | tuple():
            return [_mapped(item, change, path) for item in value]
    return value
