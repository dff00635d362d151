"""What can be said of an output without a label and without an opinion: shares from 0 (bad) to 1 (good).

Why these, and why they weigh what they weigh: docs/decisions/0020.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from engine.evidence.items import leaves
from engine.language.schema_types import stands_in_text
from engine.optimizer.outputs import OutputRow, PlanOutput
from engine.plan.frozen import FrozenMap
from engine.plan.plan import Plan
from engine.rows import RowId
from engine.text.normalise import plain, words
from models.protocol import canonical_json

COUNTED = "counted"

WEIGHTS: Mapping[str, float] = {"located": 0.5, "verbatim": 0.2, "filled": 0.15, "unrepeated": 0.15, COUNTED: 0.3}
"""How much each signal counts among those that there are of an output."""

NO_COUNTS: Mapping[str, int] = FrozenMap({})

COMPLETED = "completed"
"""The share of sample rows that came to an end. It multiplies the mean of all others: what is lost is not read."""

POOLED = "pooled"
"""How far an output agrees with other readings of the same rows (engine.optimizer.pooling)."""

WEIGHED = "weighed"
"""How good its lists are by how sure a model is of each item (engine.optimizer.weighing); then there is no POOLED."""


def signals(
    rows: Sequence[OutputRow], counts: Mapping[str, int] = NO_COUNTS, optional: Collection[str] = ()
) -> dict[str, float]:
    """Return the signals of rows, those of `WEIGHTS` that can be said of them.

    `located`: of the values that have a place in a source, those that were found. `verbatim`: of those that are asked
    for as quotes, the ones that stand word for word. `filled`: of the cells that are not `optional`, those that hold
    something. `unrepeated`:
    of list items and rows, those that are not said twice. `counted`: of the items that `counts` asks for in lists, by
    their fields, those that are there, what is said twice counting once.
    """
    cells = [cell for row in rows for cell in row.cells]
    shares = {
        "located": _mean([cell.located for cell in cells]),
        "verbatim": _mean([cell.verbatim for cell in cells]),
        "filled": _mean([float(_holds_something(cell.value)) for cell in cells if cell.field not in optional]),
        "unrepeated": unrepeated(rows),
        COUNTED: _mean([_counted(cell.value, counts[cell.field]) for cell in cells if cell.field in counts]),
    }
    return {name: share for name, share in shares.items() if share is not None}


def checkable_fields(plan: Plan) -> tuple[str, ...]:
    """Return the fields that the model fills and whose values code can look for in the documents, in plan order.

    Without any, and without reviewed rows, nothing tells two plans apart.
    """
    nodes = (node for step in plan.steps for node in plan.nodes(step))
    fields = (field for node in nodes if node.schema for field in node.schema.fields)
    return tuple(dict.fromkeys(field.name for field in fields if stands_in_text(field.type)))


def joined_signals(found: Mapping[str, float]) -> float | None:
    """Return the weighted mean of signals; None where there are none."""
    weight = sum(WEIGHTS[name] for name in found)
    return sum(WEIGHTS[name] * share for name, share in found.items()) / weight if weight else None


def completed(output: PlanOutput) -> float:
    """Return the share of sample rows, or of rows on their way, that did not fail; 1 where there was nothing to do.

    A row with a list that is longer than the user allows is no better than one that failed.
    """
    lost = len(lost_inputs(output)) / len(output.inputs) if output.inputs else 0.0
    ended = len(output.rows) + len(output.rejected)
    broken = len(output.failed) / (len(output.failed) + ended) if output.failed else 0.0
    too_long = sum(_is_too_long(row, output.limits) for row in output.rows) / max(1, len(output.rows))
    return 1.0 - max(lost, broken, too_long)


def _counted(value: Any, count: int) -> float | None:
    return min(distinct(value), count) / count if isinstance(value, list | tuple) else None


def _is_too_long(row: OutputRow, limits: Mapping[str, int]) -> bool:
    lists = ((cell.value, limits[cell.field]) for cell in row.cells if cell.field in limits)
    return any(isinstance(value, list | tuple) and len(value) > most for value, most in lists)


def lost_inputs(output: PlanOutput) -> list[RowId]:
    """Return the sample rows that are in no output row and were not left out, where rows failed.

    Without a failure, a row that is in no output row had nothing to give: a list that was empty when it was unnested.
    """
    if not output.failed:
        return []
    sources = {source for row in output.rows for source in row.sources}
    return [id for id in output.inputs if id not in sources and id not in output.rejected]


def unrepeated(rows: Sequence[OutputRow]) -> float | None:
    """Return the share of rows, and of the items of their lists, that do not repeat one before; None without any.

    Rows that were made of other sample rows repeat nothing: two records may name one officer.
    """
    groups = [items for row in rows for cell in row.cells for items in _lists(cell.value)]
    of_one: dict[tuple[RowId, ...], list[Any]] = {}
    for row in rows:
        if row.cells:
            of_one.setdefault(row.sources, []).append(row.values)
    groups += of_one.values()
    total = sum(len(group) for group in groups)
    return sum(map(distinct, groups)) / total if total else None


def distinct(items: Sequence[Any]) -> int:
    """Count the items that do not repeat one before, but for case, white space and punctuation."""
    return len({_key(item) for item in items})


def _mean(shares: Sequence[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else None


def _holds_something(value: Any) -> bool:
    """Say whether a cell holds a value, false and 0 included."""
    return next(leaves("value", value, {}), None) is not None


def _lists(value: Any) -> Iterator[Sequence[Any]]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _lists(item)
    elif isinstance(value, list | tuple):
        yield value
        for item in value:
            yield from _lists(item)


def _key(item: Any) -> str:
    """Write an item so that what differs in case, white space and punctuation alone is the same."""
    return " ".join(words(plain(item if isinstance(item, str) else canonical_json(item))))
