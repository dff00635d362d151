"""The windows of rank: the model picks the best of each, from the bottom of the order to its top ("picky windows")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.language.schema import Enum, Field, Schema
from engine.language.templates import prompt_template
from engine.operators.accounting import Failure, attempt
from engine.operators.asking import Question, ask, fits
from engine.operators.base import Decision, Tools
from engine.operators.packing import batch_size
from engine.operators.rank_order import Texts, compared_values
from engine.rows import Row

if TYPE_CHECKING:
    from engine.operators.rank import Rank

ORDINALS = ("first", "second", "third")


@dataclass(frozen=True, slots=True)
class Windows:
    """`count` windows of `size` rows, each `step` rows above the one before; the last one is at the top."""

    size: int
    step: int
    count: int

    def bounds(self, rows: int) -> list[tuple[int, int]]:
        """Return the windows from the bottom to the top: the first row, and the row behind the last."""
        starts = [index * self.step for index in reversed(range(self.count))]
        return [(start, min(start + self.size, rows)) for start in starts if start < rows - 1]

    @property
    def reach(self) -> int:
        """Return how many rows from the top are in some window."""
        return self.size + (self.count - 1) * self.step


def windows_for(rows: int, budget: int, picks: int, overlap: float, largest: int | None = None) -> Windows:
    """Find the smallest windows, of at least one row more than are picked, that reach all rows within the budget.

    Where windows of `largest` rows do not reach all, those at the top of the order are taken.
    """
    most = min(rows, largest or rows)
    for size in range(min(picks + 1, most), most):
        step = max(1, math.floor(size * (1 - overlap)))
        count = 1 + math.ceil((rows - size) / step)
        if count <= budget:
            return Windows(size, step, count)
    step = max(1, math.floor(most * (1 - overlap)))
    return Windows(most, step, min(budget, 1 + math.ceil((rows - most) / step)))


async def refine(node: Rank, rows: Sequence[Row], texts: Texts, tools: Tools) -> tuple[list[Row], list[Decision]]:
    """Move the picks of each window to its front, in passes over all rows until the budget is spent or nothing moves.

    Returns the order, and what could not be decided.
    """
    order, left = list(rows), node.budget
    decisions: list[Decision] = []
    if len(order) < 2 or not left:
        return order, []
    windows = windows_for(len(order), left, node.num_top_items_per_window, node.overlap_fraction, node.window_size)
    if windows.reach < len(order):
        decisions.append(_beyond(node, windows.reach, len(order)))
    while left:
        before = [row.id for row in order]
        for start, stop in windows.bounds(len(order)):
            if not left:
                break
            left -= 1
            decisions += await _refine_window(node, order, start, stop, texts, tools)
        if [row.id for row in order] == before or _settled(before, [row.id for row in order], node.k):
            break
    return order, decisions


def _beyond(node: Rank, reach: int, rows: int) -> Decision:
    """Say in the ledger which places no comparison could change."""
    detail = f"{node.budget} windows of {node.window_size} rows do not reach them: the first order stands"
    places = f"places {reach + 1} to {rows}"
    return Decision(node.prompt.strip(), places, places, "undecided", "limit", detail)


def _settled(before: Sequence[str], after: Sequence[str], k: int | None) -> bool:
    """Say whether a pass changed nothing about the places that matter."""
    return k is not None and before[:k] == after[:k]


async def _refine_window(
    node: Rank, order: list[Row], start: int, stop: int, texts: Texts, tools: Tools
) -> list[Decision]:
    """Reorder one window in place. A window that does not fit loses rows at its bottom; a failed one stays as it is."""

    def window_fits(first: int, last: int) -> bool:
        return fits(node, _question(node, order[first:last], texts), tools)

    stop = min(stop, start + max(2, batch_size(start, stop, window_fits)))
    window = order[start:stop]

    async def pick(rows: Sequence[Row]) -> list[int]:
        answer = await ask(node, _question(node, rows, texts), tools)
        return list(dict.fromkeys(int(answer[name]) - 1 for name in _picks(node, len(rows))))

    picked = await attempt(pick, window)
    if isinstance(picked, Failure):
        places = f"places {start + 1} to {stop}"
        return [Decision(node.prompt.strip(), places, places, "undecided", "error", picked.error)]
    chosen = [window[index] for index in picked]
    order[start:stop] = [*chosen, *(row for index, row in enumerate(window) if index not in picked)]
    return []


def _question(node: Rank, rows: Sequence[Row], texts: Texts) -> Question:
    labels = Enum(tuple(str(n) for n, _ in enumerate(rows, 1)))
    schema = Schema(tuple(Field(name, labels) for name in _picks(node, len(rows))))
    documents = [texts[row.id] for row in rows]
    return Question(
        prompt=prompt_template("rank_window").render(
            criterion=node.prompt, documents=documents, picks=len(schema.fields), most=node.direction == "desc"
        ),
        json_schema=schema.json_schema(lambda _: ()),
        form=schema.describe(),
        texts=documents,
        task=f"compare {len(rows)}",
        row_id=rows[0].id,
        values=compared_values(rows),
    )


def _picks(node: Rank, rows: int) -> list[str]:
    """Name the picks of a window; the last of its rows need not be picked."""
    count = max(1, min(node.num_top_items_per_window, rows - 1))
    return [*ORDINALS[:count], *(f"place_{n}" for n in range(len(ORDINALS) + 1, count + 1))]
