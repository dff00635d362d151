"""Items into the value of a cell, by the shape that was asked for, each leaf with the lines it stands in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.answers.contract import Answer, Item, Shape, spans_of
from engine.answers.dispatching import rivals
from engine.answers.specs import identity_of
from engine.evidence.items import leaves
from engine.rows import Span

Cited = dict[str, tuple[Span, ...]]
"""The lines of each leaf of a row's fields, by its path."""


@dataclass
class Cell:
    """The value of one field, and the lines of its leaves."""

    value: Any
    cited: Cited = field(default_factory=dict)


def cell_of(name: str, shape: Shape, answer: Answer) -> Cell:
    """Make the field `name` of an answer.

    It is null where nothing was found, and where one value was asked for and the lines contradict each other.
    """
    items = answer.items
    if not items:
        return Cell(None)
    match shape:
        case "list":
            return _listed(name, [item.value for item in items], items)
        case "table":
            return _table(name, items, answer.headers)
        case "tree":
            return _tree(name, items)
    if rivals(answer, shape):
        return Cell(None)
    return Cell(answer.best[0].value, _cite(name, answer.best[0].value, spans_of(answer.best)))


def items_cell(name: str, items: Sequence[Item]) -> Cell:
    """Make the field that holds every item with its lines, snippet and page."""
    return _listed(name, [_written(item) for item in items], items)


def merge(before: Answer, after: Answer, shape: Shape) -> Answer:
    """Add the items of a further round: the same value once, with all its lines.

    Rows of a table and entries of a tree that say the same in other lines are others.
    The signals are those of the last round that found something: a round that found nothing says nothing of the rest.
    """
    items: list[Item] = []
    places: dict[str, list[int]] = {}
    for item in (*before.items, *after.items):
        same = places.setdefault(f"{item.level} {identity_of(item.value)}", [])
        at = next((n for n in same if shape not in ("table", "tree") or _overlap(items[n], item)), None)
        if at is None:
            same.append(len(items))
            items.append(item)
        elif not set(item.spans) <= set(items[at].spans):
            items[at] = _joined(items[at], item)
    ordered = sorted(items, key=lambda item: item.spans[0])
    signals = after.signals if after.items or not before.items else before.signals
    return Answer(tuple(ordered), (*before.dropped, *after.dropped), signals, after.headers or before.headers)


def _overlap(one: Item, other: Item) -> bool:
    return any(a.overlaps(b) for a in one.spans for b in other.spans)


def _joined(first: Item, second: Item) -> Item:
    earlier, later = sorted((first, second), key=lambda item: item.spans[0])
    spans = tuple(sorted({*first.spans, *second.spans}))
    snippet = first.snippet if second.snippet in first.snippet else f"{earlier.snippet}\n{later.snippet}"
    return replace(first, spans=spans, snippet=snippet, page=earlier.page)


def _listed(name: str, values: list[Any], items: Sequence[Item]) -> Cell:
    return Cell(values, _together([_cite(f"{name}[{n}]", values[n], item.spans) for n, item in enumerate(items)]))


def _table(name: str, items: Sequence[Item], headers: Sequence[str]) -> Cell:
    columns = list(headers)
    for item in items:
        columns += [c for c in item.value if c not in columns] if isinstance(item.value, Mapping) else []
    width = max([len(columns), *(len(item.value) for item in items)])
    columns += [f"column {n + 1}" for n in range(len(columns), width)]
    rows = []
    for item in items:
        cells = [item.value.get(c) for c in columns] if isinstance(item.value, Mapping) else list(item.value)
        rows.append(cells + [None] * (width - len(cells)))
    cited = [_cite(f"{name}.rows[{n}]", rows[n], item.spans) for n, item in enumerate(items)]
    named = _cite(f"{name}.headers", columns, spans_of(items))
    return Cell({"headers": columns, "rows": rows}, _together([named, *cited]))


def _tree(name: str, items: Sequence[Item]) -> Cell:
    """Nest entries by their levels; one that is more than a level deeper than the one before is its child."""
    roots: list[dict[str, Any]] = []
    open_entries: list[tuple[int, list[dict[str, Any]], str]] = [(0, roots, name)]
    cited: list[Cited] = []
    for item in items:
        while open_entries[-1][0] >= item.level:
            open_entries.pop()
        _, siblings, path = open_entries[-1]
        here = f"{path}[{len(siblings)}]"
        entry: dict[str, Any] = {"value": item.value, "children": []}
        siblings.append(entry)
        cited.append(_cite(f"{here}.value", item.value, item.spans))
        open_entries.append((item.level, entry["children"], f"{here}.children"))
    return Cell(roots, _together(cited))


def _written(item: Item) -> dict[str, Any]:
    return {
        "value": item.value,
        "original": item.original,
        "method": item.method,
        "lines": [[span.first, span.last] for span in item.spans],
        "page": item.page,
        "snippet": item.snippet,
        **({"problem": item.problem} if item.problem else {}),
    }


def _cite(path: str, value: Any, spans: tuple[Span, ...]) -> Cited:
    return {leaf.path: spans for leaf in leaves(path, value, {})}


def _together(parts: Sequence[Cited]) -> Cited:
    return {path: spans for part in parts for path, spans in part.items()}
