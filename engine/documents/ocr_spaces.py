"""Find the spaces that the text recogniser saw but did not write.

The recogniser reads a line in columns of a sixth of the line's height and says in which column each letter lies. On
slanted and dense lines it leaves out every fifth space, although the columns show the gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

_NARROW = frozenset("ijlt1fr.,:;'!|()[]-I\"`")
_WIDE = frozenset("mw@%&")
_EXTRA_COLUMNS = 1.75


def spaced(text: str, found: Any) -> str:
    """Return a recognised line with the missing spaces; `found` is the recogniser's account of its words, or None.

    Lines with letters of scripts that need no spaces are left as they are.
    """
    words = [(word, cols) for word, cols in zip(found.words, found.word_cols, strict=True)] if found else []
    letters = "".join(letter for word, _ in words for letter in word)
    if any(ord(c) > 0x2E7F for c in text) or letters != "".join(text.split()):
        return text
    scale = _scale(words)
    return " ".join(_split(word, columns, scale) for word, columns in words if word)


def _split(word: Sequence[str], columns: Sequence[int], scale: float) -> str:
    """Split a word where two letters lie further apart than their widths explain."""
    pieces = [word[0]]
    for left, right, start, end in zip(word, word[1:], columns, columns[1:], strict=False):
        is_gap = end - start - scale * _advance(left, right) >= _EXTRA_COLUMNS * scale
        pieces.append(f" {right}" if is_gap else right)
    return "".join(pieces)


def _scale(words: Sequence[tuple[Sequence[str], Sequence[int]]]) -> float:
    """Return how wide this line is set against an ordinary typeface, at least 1."""
    ratios = [
        (end - start) / _advance(left, right)
        for word, columns in words
        for left, right, start, end in zip(word, word[1:], columns, columns[1:], strict=False)
    ]
    return max(1.0, median(ratios)) if ratios else 1.0


def _advance(left: str, right: str) -> float:
    """Return the usual number of columns from the middle of one letter to that of the next."""
    return (_width(left) + _width(right)) / 2


def _width(letter: str) -> float:
    if letter in _NARROW:
        return 1.4
    return 3.0 if letter in _WIDE or letter.isupper() else 2.0
