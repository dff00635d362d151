"""rank: put rows in the order of a criterion: a first order by ratings or embeddings, then windows of comparisons.

After Marcus et al., Human-powered Sorts and Joins (VLDB 2012), and DocETL's operator of that name.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from engine.language.schema import Enum, Field, Scalar, Schema, Type
from engine.language.templates import prompt_template
from engine.operators.accounting import Failure, attempt, attempt_all, fail, process_rows, value_of
from engine.operators.asking import ModelNode, Question, ask, ask_reply, fits, visible
from engine.operators.base import Decision, Failed, Operator, Outcome, Tools
from engine.operators.cutting import batch_size
from engine.operators.mentions import shown
from engine.plan.node import Traits
from engine.rows import Row, RowId
from engine.text.ranking import embed_whole, rank_by_embedding

RANK = "_rank"


@dataclass(frozen=True, kw_only=True)
class Rank(ModelNode):
    """Order all rows by the criterion `prompt` (plain text), and number them from 1 in the field `_rank`.

    The first order is by ratings of 1 to 7 that the model gives to `batch_size` rows at once (`likert`), by the cosine
    of criterion and row (`embedding`), or by the ratings of a sample, carried over to the rows that are like them
    (`calibrated_embedding`). Then windows of rows are shown to the model from the bottom to the top; its
    `num_top_items_per_window` picks move to the front of the window. At most `rerank_call_budget` windows are asked
    about; 0 leaves the first order as it is. A window is as small as the budget allows for all rows to be reached, and
    has at most `window_size` rows: then those at the bottom may stay where they are. `k` says that only the first k
    places matter. `direction` desc puts what matches most first. `input_keys` are the fields compared, none: all.
    """

    kind: ClassVar[str] = "rank"

    prompt: str
    input_keys: tuple[str, ...] = ()
    direction: Literal["asc", "desc"] = "desc"
    initial_ordering_method: Literal["likert", "embedding", "calibrated_embedding"] = "likert"
    batch_size: int = 1
    num_calibration_docs: int = 5
    rerank_call_budget: int | None = None
    call_budget: int | None = None
    num_top_items_per_window: int = 3
    overlap_fraction: float = 0.5
    window_size: int | None = None
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(bool(self.prompt.strip()), "prompt says no criterion", "Write what the rows are ordered by.")
        self.require_at_least(batch_size=1, num_calibration_docs=0, num_top_items_per_window=1, k=1, window_size=2)
        self.require_at_least(rerank_call_budget=0, call_budget=0)
        self.require(
            0 <= self.overlap_fraction < 1,
            f"overlap_fraction must be at least 0 and below 1, not {self.overlap_fraction}",
        )
        both = {self.rerank_call_budget, self.call_budget} - {None}
        self.require(len(both) < 2, "call_budget and rerank_call_budget are the same setting, given twice")

    @property
    def budget(self) -> int:
        """Return how many windows may be asked about."""
        budgets = (self.rerank_call_budget, self.call_budget)
        return next((n for n in budgets if n is not None), 10)

    def own_traits(self) -> Traits:
        """Say what it reads and writes."""
        return Traits(
            reads=frozenset(self.input_keys),
            writes=frozenset({RANK}),
            row_local=False,
            calls_model=self.budget > 0 or self.initial_ordering_method != "embedding",
            embeds=self.initial_ordering_method != "likert",
            reads_unknown=not self.input_keys,
        )

    def written_types(self) -> Mapping[str, Type]:
        """Return the type of a place."""
        return {RANK: Scalar("integer")}


async def run(node: Rank, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Put the rows in order; one that cannot be rated or read fails, the others are ranked without it."""
    texts: dict[RowId, str] = {}

    async def read(row: Row) -> Sequence[Row]:
        texts[row.id] = document_text(row, node.input_keys)
        return [row]

    outcome = await process_rows(node, rows, read, tools)
    ranked = await ranked_rows(node, outcome.rows, texts, tools)
    out = [row.derive(node.name, {**row.values, RANK: place}) for place, row in enumerate(ranked.rows, 1)]
    return Outcome(out, failed=[*outcome.failed, *ranked.failed], decisions=ranked.decisions)


async def ranked_rows(node: Rank, rows: Sequence[Row], texts: Texts, tools: Tools) -> Outcome:
    """Return the rows that can be ranked, in order, without making new ones; the model sees their `texts`."""
    first = await first_order(node, rows, texts, tools)
    order, decisions = await refine(node, first.rows, texts, tools)
    return Outcome(order, failed=first.failed, decisions=decisions)


def document_text(row: Row, keys: Sequence[str]) -> str:
    """Write a row as the model sees it: a line `field: value` each."""
    return "\n".join(f"{key}: {shown(value_of(row, key))}" for key in keys or visible(row.values))


RATINGS = Enum(tuple("1234567"))
SAMPLE_ROWS = 20
"""Rows that the model rates for `calibrated_embedding`; the others take over the ratings of those they are like."""
SHARPNESS = 20.0
"""How much more the nearest of the sample count than the others: weights are exp(SHARPNESS * cosine)."""
CALIBRATION_SHARE = 4
"""Calibration documents may fill one part in so many of the context."""

Texts = Mapping[RowId, str]


async def first_order(node: Rank, rows: Sequence[Row], texts: Texts, tools: Tools) -> Outcome:
    """Order the rows by score; equals keep their order."""
    if len(rows) < 2:
        return Outcome(rows)
    match node.initial_ordering_method:
        case "likert":
            scores, failed = await _ratings(node, rows, texts, tools)
        case "embedding":
            similarities = await rank_by_embedding(node.prompt, [texts[row.id] for row in rows], tools.embed)
            scores, failed = dict(zip((row.id for row in rows), similarities, strict=True)), []
        case "calibrated_embedding":
            scores, failed = await _carried_over(node, rows, texts, tools)
    sign = -1 if node.direction == "desc" else 1
    rated = [row for row in rows if row.id in scores]
    return Outcome(sorted(rated, key=lambda row: sign * scores[row.id]), failed=failed)


async def _ratings(
    node: Rank, rows: Sequence[Row], texts: Texts, tools: Tools
) -> tuple[dict[RowId, float], list[Failed]]:
    """Rate rows in batches; the rows of a batch that fails are asked about one by one."""
    examples = _calibration(node, rows, texts, tools)
    rate = functools.partial(_rate, node, texts, examples, tools)
    size = node.batch_size
    batches = [rows[i : i + size] for i in range(0, len(rows), size)]
    results = await attempt_all(batches, rate, tools.progress)
    again = [b for b, result in zip(batches, results, strict=True) if len(b) > 1 and isinstance(result, Failure)]
    alone = [[row] for batch in again for row in batch]
    retried = await attempt_all(alone, rate, tools.progress) if alone else []
    scores: dict[RowId, float] = {}
    failed: list[Failed] = []
    for batch, result in [*zip(batches, results, strict=True), *zip(alone, retried, strict=True)]:
        if not isinstance(result, Failure):
            scores |= result
        elif len(batch) == 1:
            failed += fail(node, batch, result)
    return scores, failed


async def _rate(
    node: Rank, texts: Texts, examples: Sequence[str], tools: Tools, batch: Sequence[Row]
) -> dict[RowId, float]:
    """Return the rating the model expects for each row: between 1 and 7, weighted by how sure it is of each number."""
    question = _rating_question(node, batch, [texts[row.id] for row in batch], examples)
    reply = await ask_reply(node, question, tools)
    scores = {}
    for number, row in enumerate(batch, 1):
        name = f"rating_{number}"
        chances = reply.alternatives.get(f"/{name}")
        scores[row.id] = sum(int(v) * p for v, p in chances.items()) if chances else float(reply.value[name])
    return scores


def _rating_question(node: Rank, rows: Sequence[Row], documents: Sequence[str], examples: Sequence[str]) -> Question:
    schema = Schema(tuple(Field(f"rating_{n}", RATINGS) for n, _ in enumerate(documents, 1)))
    return Question(
        prompt=prompt_template("rank_rate").render(criterion=node.prompt, examples=examples, documents=documents),
        json_schema=schema.json_schema(lambda _: ()),
        form=schema.describe(),
        texts=documents,
        task=f"rate {len(documents)}" if len(documents) > 1 else "rate",
        row_id=rows[0].id,
        values=compared_values(rows),
        probabilities=True,
    )


def compared_values(rows: Sequence[Row]) -> Mapping[str, Any]:
    """Return what expressions of the pipeline see of rows in one prompt: a single row's fields, else `inputs`."""
    return rows[0].values if len(rows) == 1 else {"inputs": [row.values for row in rows]}


def _calibration(node: Rank, rows: Sequence[Row], texts: Texts, tools: Tools) -> list[str]:
    """Draw whole rows that show the model what there is; as many as fit their share of the context."""
    if node.num_calibration_docs == 0 or len(rows) <= 1:
        return []
    drawn = random.Random(tools.seed).sample(list(rows), min(node.num_calibration_docs, len(rows)))
    room = tools.context_tokens // CALIBRATION_SHARE
    chosen = []
    for row in drawn:
        room -= tools.count_tokens(texts[row.id])
        if room < 0:
            break
        chosen.append(texts[row.id])
    return chosen


async def _carried_over(
    node: Rank, rows: Sequence[Row], texts: Texts, tools: Tools
) -> tuple[dict[RowId, float], list[Failed]]:
    """Rate a sample, and score every row by the ratings of the sample weighted by likeness to it."""
    sample = random.Random(tools.seed).sample(list(rows), min(SAMPLE_ROWS, len(rows)))
    rated, failed = await _ratings(node, sample, texts, tools)
    lost = {f.row.id for f in failed}
    others = [row for row in rows if row.id not in lost]
    if not rated:
        why, advice = failed[0].error, failed[0].advice
        error = f"none of the rows of the sample could be rated, by which this one is placed; the first: {why}"
        return {}, [*failed, *(Failed(row, error, advice) for row in others)]
    vectors = await embed_whole([texts[row.id] for row in others], tools.embed)
    at = {row.id: index for index, row in enumerate(others)}
    known = vectors[[at[id] for id in rated]]
    weights = np.exp(SHARPNESS * (vectors @ known.T))
    scores = weights @ np.array(list(rated.values())) / weights.sum(axis=1)
    return {row.id: float(score) for row, score in zip(others, scores, strict=True)}, failed


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
        detail = f"{node.budget} windows of {node.window_size} rows do not reach them: the first order stands"
        places = f"places {windows.reach + 1} to {len(order)}"
        decisions.append(Decision(node.prompt.strip(), places, places, "undecided", "limit", detail))
    while left:
        before = [row.id for row in order[: node.k]]  # the places that matter
        for start, stop in windows.bounds(len(order)):
            if not left:
                break
            left -= 1
            decisions += await _refine_window(node, order, start, stop, texts, tools)
        if [row.id for row in order[: node.k]] == before:
            break
    return order, decisions


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


OPERATOR = Operator(Rank, run)
