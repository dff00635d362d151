"""The first order of rank: by the model's ratings, by embeddings, or by both."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.language.schema import Enum, Field, Schema
from engine.language.templates import prompt_template
from engine.operators.accounting import Failure, attempt_all, fail
from engine.operators.asking import Question, ask_reply
from engine.operators.base import Decision, Failed, Tools
from engine.rows import Row, RowId
from engine.text.ranking import embed_whole, rank_by_embedding

if TYPE_CHECKING:
    from engine.operators.rank import Rank

RATINGS = Enum(tuple("1234567"))
SAMPLE_ROWS = 20
"""Rows that the model rates for `calibrated_embedding`; the others take over the ratings of those they are like."""
SHARPNESS = 20.0
"""How much more the nearest of the sample count than the others: weights are exp(SHARPNESS * cosine)."""
CALIBRATION_SHARE = 4
"""Calibration documents may fill one part in so many of the context."""

Texts = Mapping[RowId, str]


@dataclass(frozen=True)
class Ranked:
    """Rows in order, the first one ranked highest, and those that could not be ranked."""

    rows: Sequence[Row]
    failed: Sequence[Failed] = ()
    decisions: Sequence[Decision] = field(default=())


async def first_order(node: Rank, rows: Sequence[Row], texts: Texts, tools: Tools) -> Ranked:
    """Order the rows by score; equals keep their order."""
    if len(rows) < 2:
        return Ranked(rows)
    match node.initial_ordering_method:
        case "likert":
            scores, failed = await _ratings(node, rows, texts, tools)
        case "embedding":
            found = await rank_by_embedding(node.prompt, [texts[row.id] for row in rows], tools.embed)
            scores, failed = dict(zip((row.id for row in rows), found, strict=True)), []
        case "calibrated_embedding":
            scores, failed = await _carried_over(node, rows, texts, tools)
    sign = -1 if node.direction == "desc" else 1
    rated = [row for row in rows if row.id in scores]
    return Ranked(sorted(rated, key=lambda row: sign * scores[row.id]), failed)


async def _ratings(
    node: Rank, rows: Sequence[Row], texts: Texts, tools: Tools
) -> tuple[dict[RowId, float], list[Failed]]:
    """Rate rows in batches; the rows of a batch that fails are asked about one by one."""
    examples = _calibration(node, rows, texts, tools)
    rate = functools.partial(_rate, node, texts, examples, tools)
    size = node.batch_size
    batches = [rows[i : i + size] for i in range(0, len(rows), size)]
    results = await attempt_all(batches, rate, tools.progress)
    alone = [[row] for batch, result in zip(batches, results, strict=True) for row in batch if _retries(batch, result)]
    again = await attempt_all(alone, rate, tools.progress) if alone else []
    scores: dict[RowId, float] = {}
    failed: list[Failed] = []
    for batch, result in [*zip(batches, results, strict=True), *zip(alone, again, strict=True)]:
        if not isinstance(result, Failure):
            scores |= result
        elif len(batch) == 1:
            failed += fail(node, batch, result)
    return scores, failed


def _retries(batch: Sequence[Row], result: Mapping[RowId, float] | Failure) -> bool:
    return len(batch) > 1 and isinstance(result, Failure)


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
        return {}, failed
    vectors = await embed_whole([texts[row.id] for row in others], tools.embed)
    at = {row.id: index for index, row in enumerate(others)}
    known = vectors[[at[id] for id in rated]]
    weights = np.exp(SHARPNESS * (vectors @ known.T))
    scores = weights @ np.array(list(rated.values())) / weights.sum(axis=1)
    return {row.id: float(score) for row, score in zip(others, scores, strict=True)}, failed
