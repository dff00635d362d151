"""What two short texts have in common, computed: filters of conditions that propose pairs (paper section 4.2.1).

Case, accents and punctuation do not matter. None of this asks a model, and nothing depends on the order of the texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from rapidfuzz import fuzz, utils

from engine.text.normalise import fold

_NUMBER = re.compile(r"\d+")
_SOUNDS = {
    **dict.fromkeys("bfpv", "1"),
    **dict.fromkeys("cgjkqsxz", "2"),
    **dict.fromkeys("dt", "3"),
    "l": "4",
    **dict.fromkeys("mn", "5"),
    "r": "6",
}
_SILENT = "hw"
_SOUNDEX_LENGTH = 4


class Folded(str):
    """A text in lower case, without accents and punctuation, one space between words."""

    __slots__ = ()


class Words(tuple[str, ...]):
    """Distinct words in the order in which they were said first; a prompt shows them as a list."""

    @cached_property
    def members(self) -> frozenset[str]:
        """Return them as a set."""
        return frozenset(self)


def folded(text: Any) -> Folded:
    """Return a text without accents and punctuation, in lower case, with single spaces; "" for no text.

    The filter `TEXT | folded`.
    """
    if isinstance(text, Folded) or not isinstance(text, str):
        return text if isinstance(text, Folded) else Folded()
    return Folded(" ".join(utils.default_process(fold(text)).split()))


def contains_words(one: Any, other: Any) -> bool:
    """Say whether either text contains the other as whole words.

    The filter `TEXT | contains_words(TEXT)`.
    """
    left, right = f" {folded(one)} ", f" {folded(other)} "
    return bool(left.strip() and right.strip()) and (left in right or right in left)


def words(text: Any) -> Words:
    """Return the distinct words of a text; none of what is no text. The filter `TEXT | words`."""
    return text if isinstance(text, Words) else Words(dict.fromkeys(folded(text).split()))


def numbers(text: Any) -> Words:
    """Return the distinct runs of digits in a text. The filter `TEXT | numbers`."""
    return Words(dict.fromkeys(_NUMBER.findall(str(text)))) if isinstance(text, str | int) else Words()


def overlap(one: Any, other: Any) -> float:
    """Return the share of the shorter one's words that the other has, 0 to 1; 0 where one has none.

    The filter `TEXT | overlap(TEXT)`, of texts or of what `words` and `numbers` gave.
    """
    left, right = words(one).members, words(other).members
    return len(left & right) / min(len(left), len(right)) if left and right else 0.0


def spelling_likeness(one: Any, other: Any) -> float:
    """Return how alike two texts are spelt, 0 to 100 (RapidFuzz's ratio).

    The filter `TEXT | likeness(TEXT)`.
    """
    left, right = folded(one), folded(other)
    return fuzz.ratio(left, right) if left and right else 0.0


def abbreviates(one: Any, other: Any) -> bool:
    """Say whether one text abbreviates the other by initials: `D. H.` or `DH` and `Daniel Harmon`; either way round.

    The filter `TEXT | abbreviates(TEXT)`.
    """
    return _stands_for(folded(one), folded(other)) or _stands_for(folded(other), folded(one))


def sound(text: Any) -> str:
    """Return the phonetic key of the last word of a text (see `soundex`), "" where it has no letter.

    The filter `TEXT | sound`.
    """
    said = folded(text).split()
    return soundex(said[-1]) if said else ""


def soundex(word: str) -> str:
    """Return the American Soundex key of a word, a letter and three digits; "" for a word without letters."""
    letters = [c for c in fold(word) if "a" <= c <= "z"]
    if not letters:
        return ""
    digits: list[str] = []
    before = _SOUNDS.get(letters[0], "")
    for letter in letters[1:]:
        digit = _SOUNDS.get(letter, "")
        if digit and digit != before:
            digits.append(digit)
        before = before if letter in _SILENT else digit
    return (letters[0].upper() + "".join(digits)).ljust(_SOUNDEX_LENGTH, "0")[:_SOUNDEX_LENGTH]


def _stands_for(short: str, long: str) -> bool:
    letters, said = short.replace(" ", ""), long.split()
    return len(said) > 1 and letters == "".join(word[0] for word in said) and letters != "".join(said)


FILTERS: Mapping[str, Callable[..., Any]] = {
    "folded": folded,
    "contains_words": contains_words,
    "words": words,
    "numbers": numbers,
    "overlap": overlap,
    "likeness": spelling_likeness,
    "abbreviates": abbreviates,
    "sound": sound,
}
"""By their names in templates."""
