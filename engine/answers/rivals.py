"""Other values that could be the answer to a question: found by code, for a model to judge.

A small model takes the first day or sum that fits and stops, or takes none. Code reads all days, or all sums of money,
of the lines shown; those on lines that share a word with the question are worth a look each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.answers.contract import Item
from engine.answers.shown import Shown
from engine.answers.specs import contradict, same_unit
from engine.text.normalise import plain, stems
from engine.values.base import ValueType

MOST_LOOKED_AT = 2
"""Other values that are judged, those first whose lines share most words with the question."""

_CLAUSE_END = re.compile(r"[,;.()](?:\s|$)|\s(?:and|or|plus)\s")
_LABEL = re.compile(r"^\W*(?P<label>[^:]{2,60}):")


@dataclass(frozen=True, slots=True)
class Rival:
    """Another value, as an item that a model could have written.

    `is_named_alike`: it stands behind the same label as the answer, as in `Effective date: ...`.
    """

    written: Mapping[str, Any]
    is_named_alike: bool = False


@dataclass(frozen=True, slots=True)
class _Mention:
    piece: int
    line: str
    begin: int
    written: str
    value: Any


def rival_values(kind: ValueType, question: str, shown: Shown, items: Sequence[Item]) -> list[Rival]:
    """List other values that the lines hold and that contradict the answer, if they are it.

    Only on lines that share a word with the question as the answer's own lines do: where these share none, the words do
    not tell what is meant, and there are no rivals.
    """
    if not items:
        return []
    shared = stems(question) & stems(" ".join(item.snippet for item in items))
    labels = {label for item in items for line in item.snippet.splitlines() if (label := _label(plain(line)))}
    mentions = list(_mentions(kind, shown))
    known = [_in_full(item, mentions) for item in items]
    ranked: list[tuple[tuple[bool, int, int], Rival]] = []
    for mention in mentions:
        weight = len(shared & stems(mention.line))
        if not weight or not all(
            contradict(mention.value, value) and same_unit(mention.value, value) for value in known
        ):
            continue
        known.append(mention.value)
        is_named = _label(mention.line[: mention.begin]) in labels
        ranked.append(((not is_named, -weight, mention.piece), Rival(_written(shown, mention), is_named)))
    return [rival for _, rival in sorted(ranked, key=lambda entry: entry[0])[:MOST_LOOKED_AT]]


def likely_values(kind: ValueType, question: str, shown: Shown) -> list[Rival]:
    """List values that may be the answer where the model gave none: those on lines with most words of the question.

    The line before counts, too: a label may stand above its value.
    """
    asked = stems(question)
    known: list[Any] = []
    ranked: list[tuple[int, int, Rival]] = []
    for mention in _mentions(kind, shown):
        before = shown.snippet([range(mention.piece - 1, mention.piece)]) if mention.piece - 1 in shown.pieces else ""
        weight = 2 * len(asked & stems(mention.line)) + len(asked & stems(plain(before)))
        if weight and all(contradict(mention.value, value) for value in known):
            known.append(mention.value)
            ranked.append((-weight, mention.piece, Rival(_written(shown, mention))))
    return [rival for *_, rival in sorted(ranked, key=lambda entry: entry[:2])[:MOST_LOOKED_AT]]


def _mentions(kind: ValueType, shown: Shown) -> Iterator[_Mention]:
    for piece in sorted(shown.pieces):
        line = plain(shown.snippet([range(piece, piece + 1)]))
        for begin, end in kind.mentions(line):
            value = kind.cell(line[begin:end])
            yield _Mention(piece, line, begin, line[begin:end].strip(), _with_unit(kind, line[begin:], value))


def _in_full(item: Item, mentions: Sequence[_Mention]) -> Any:
    """Return the value of an item as its lines have it: a model may leave out what a sum is for."""
    values = (
        m.value for m in mentions if m.line.strip() in plain(item.snippet) and not contradict(m.value, item.value)
    )
    return next(values, item.value)


def _with_unit(kind: ValueType, text: str, value: Any) -> Any:
    """Read what a sum is for, too, if that follows it: `USD 100 a month`."""
    if not isinstance(value, Mapping) or "unit" not in value:
        return value
    length = len(value["original"])
    behind = _CLAUSE_END.split(text[length:], maxsplit=1)[0]
    wide = kind.cell(text[:length] + behind)
    return {**value, "unit": wide["unit"]} if wide["value"] == value["value"] else value


def _written(shown: Shown, mention: _Mention) -> Mapping[str, Any]:
    number = shown.text.first_number + mention.piece
    return {"spans": [{"line_start": number, "line_end": number}], "value": mention.written}


def _label(text: str) -> frozenset[str]:
    """Return the words of what stands before a colon at the head of a line; nothing where there is none."""
    match = _LABEL.match(text)
    return frozenset(stems(match["label"])) if match else frozenset()
