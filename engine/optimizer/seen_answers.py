"""How the answers of a plan look, field by field: texts copied word for word, and lists that say an item again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.directives.base import AnswersSeen
from engine.evidence.items import leaves
from engine.optimizer.outputs import PlanOutput, folded
from engine.optimizer.packing import shown
from engine.optimizer.signals import distinct
from engine.rows import Row

IDENTIFIER = re.compile(r"(?=\S*\d)\S{3,}")
"""One word of three characters or more with a digit in it."""

_INDEX = re.compile(r"\[\d+\]")


def seen_answers(output: PlanOutput | None) -> Mapping[str, AnswersSeen]:
    """Say it of each path of the answers, `clauses.text_span` for all items of a list; of texts only."""
    if output is None:
        return {}
    texts = {id: folded(" ".join(map(shown, values.values()))) for id, values in output.inputs.items()}
    found: dict[str, list[tuple[bool, int]]] = {}
    for row in output.rows:
        for cell in row.cells:
            for leaf in leaves(cell.field, cell.value, {}):
                if isinstance(leaf.value, str):
                    told = folded(leaf.value)
                    stands = any(told in texts[id] for id in row.sources)
                    found.setdefault(_INDEX.sub("", leaf.path), []).append((stands, len(told.split())))
    return {
        path: AnswersSeen(
            verbatim=sum(stands for stands, _ in all) / len(all), words=sum(count for _, count in all) / len(all)
        )
        for path, all in found.items()
    }


def seen_repeats(output: PlanOutput | None) -> Mapping[str, float]:
    """Say of each field that holds lists which share of their items only repeats one before."""
    found: dict[str, list[Sequence[Any]]] = {}
    for row in output.rows if output else ():
        for cell in row.cells:
            if isinstance(cell.value, list | tuple) and cell.value:
                found.setdefault(cell.field, []).append(cell.value)
    return {field: 1 - sum(map(distinct, lists)) / sum(map(len, lists)) for field, lists in found.items()}


def identifiers(rows: Sequence[Row]) -> frozenset[str]:
    """Return the fields that hold an identifier in every row which has a text there, different ones."""
    texts: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.values.items():
            if isinstance(value, str) and value.strip():
                texts.setdefault(name, set()).add(value.strip())
    return frozenset(name for name, said in texts.items() if len(said) > 1 and all_identifiers(said))


def all_identifiers(values: Iterable[str]) -> bool:
    """Say whether every value is an identifier."""
    return all(IDENTIFIER.fullmatch(value.strip()) for value in values)
