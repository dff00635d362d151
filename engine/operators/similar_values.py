"""Join the values of resolve whose rows are alike, without asking a model."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

import numpy as np

from engine.errors import PipelineError
from engine.operators.average_linkage import MOST_ITEMS
from engine.operators.base import Tools
from engine.operators.blocking import blocking_text, vectors_of
from engine.operators.comparing import Comparison
from engine.operators.mentions import Mention
from engine.operators.pairs import Vectors
from engine.rows import Row


async def join_similar(
    comparison: Comparison, rows: Sequence[Row], keys: Collection[str], threshold: float, tools: Tools
) -> None:
    """Join mentions that are on average at least so alike (a cosine, inclusive), by the texts of all of their rows.

    A row's text are the fields `keys`. The comparison warns where most became one. Raises PipelineError for more than
    MOST_ITEMS mentions.
    """
    mentions = comparison.mentions
    if len(mentions) > MOST_ITEMS:
        raise PipelineError(
            f"similarity_threshold: {len(mentions):,} different values are too many: at most {MOST_ITEMS:,}, whose "
            "similarities fill 576 MB of memory",
            advice="Filter the rows first, or write blocking_threshold and a comparison_prompt: a model is then asked "
            "about the similar pairs.",
        )
    if len(mentions) < 2:
        return
    vectors = await vectors_of_mentions(mentions, rows, keys, tools)
    doubt = await asyncio.to_thread(comparison.join_similar, vectors, threshold)
    if doubt:
        comparison.warnings.append(f"{doubt}. Write a similarity_threshold above {threshold}.")


async def vectors_of_mentions(
    mentions: Sequence[Mention], rows: Sequence[Row], keys: Collection[str], tools: Tools
) -> Vectors:
    """Give each mention one unit vector, the mean of those of its rows: shape (mentions, dimensions).

    Zeros where none of its rows has any text.
    """
    texts = [[blocking_text(rows[index].values, keys) for index in mention.rows] for mention in mentions]
    distinct = list(dict.fromkeys(text for own in texts for text in own))
    place = {text: index for index, text in enumerate(distinct)}
    vectors = await vectors_of(distinct, tools)
    means = np.stack([vectors[[place[text] for text in own]].mean(axis=0) for own in texts])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    unit: Vectors = np.divide(means, lengths, out=np.zeros_like(means), where=lengths > 0)
    return unit
