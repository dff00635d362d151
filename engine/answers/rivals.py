"""Other dates that could be the answer to a question that was answered with one: found by code, for a model to judge.

A small model takes the first date that fits and stops. Code reads all dates of the lines shown; those on lines that
share a word with the question, as the answer's own line does, are worth a look each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.answers.contract import Item
from engine.answers.shown import Shown
from engine.answers.specs import identity_of
from engine.evidence.normalise import plain, words
from engine.values.base import ValueType
from engine.values.day_mentions import day_mentions

MOST_LOOKED_AT = 2
"""Other values that are judged, those first whose lines share most words with the question."""

_STEM = 5
"""Letters by which words are compared: "effect" and "effective" are one."""

_SHORTEST = 4
_SAYS_NOTHING = frozenset({"what", "which", "when", "where", "does", "this", "that", "date", "dates", "with", "from"})


def other_values(kind: ValueType, question: str, shown: Shown, items: Sequence[Item]) -> Iterator[Mapping[str, Any]]:
    """Yield other values that the lines hold, each as an item that a model could have written; whole days alone.

    Nothing where the answer's own lines share no word with the question: then the words do not tell what is meant.
    """
    if kind.name != "date" or not items:
        return
    asked = _stems(question)
    shared = asked & _stems(" ".join(item.snippet for item in items))
    known = {identity_of(item.value) for item in items}
    found: list[tuple[int, int, str]] = []
    for piece in sorted(shown.pieces):
        text = plain(shown.snippet([range(piece, piece + 1)]))
        weight = len(shared & _stems(text))
        for day in day_mentions(text) if weight else ():
            identity = identity_of(kind.cell(text[day.begin : day.end]))
            if day.is_whole and identity not in known:
                known.add(identity)
                found.append((-weight, piece, text[day.begin : day.end]))
    for _, piece, written in sorted(found)[:MOST_LOOKED_AT]:
        number = shown.text.first_number + piece
        yield {"spans": [{"line_start": number, "line_end": number}], "value": written}


def _stems(text: str) -> set[str]:
    found = (word for word in words(plain(text)) if len(word) >= _SHORTEST and word not in _SAYS_NOTHING)
    return {word[:_STEM] for word in found if not word.isdigit()}
