"""Ask about each row: in batches and after a calibration where the node says so, several times where it asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from engine.operators.accounting import Failure, attempt, fail, process_rows, succeed_all
from engine.operators.asking import ask_reply, settle, visible
from engine.operators.base import Outcome, Rejected, Tools
from engine.operators.batching import batch_replies
from engine.operators.calibration import find_anchors
from engine.operators.row_prompts import RowPromptNode, row_question
from engine.rows import Row
from models.protocol import Reply

Answered = Callable[[Row, Sequence[Reply]], Sequence[Row] | Rejected]
"""Make rows of the replies about a row: one reply for each sample."""


async def ask_rows(
    node: RowPromptNode,
    rows: Sequence[Row],
    answered: Answered,
    tools: Tools,
    *,
    samples: int = 1,
    probabilities: bool = False,
) -> Outcome:
    """Ask about all rows at once, `samples` times each; what comes of them keeps the order of the rows.

    A calibration that fails, fails all rows; one sample of several that fails, fails its row.
    """
    anchors = await attempt(lambda given: find_anchors(node, given, tools), rows)
    if isinstance(anchors, Failure):
        return Outcome(failed=fail(node, rows, anchors))
    batched = await batch_replies(node, rows, tools, anchors=anchors, probabilities=probabilities)

    async def answer(row: Row) -> Sequence[Row] | Rejected:
        assert node.prompt is not None and node.schema is not None  # callers ask only with both
        seen = visible(row.values, node.input)
        question = row_question(row, node.prompt, node.schema, seen, layout=node.layout, anchors=anchors)
        question = replace(question, probabilities=probabilities)
        if row.id in batched:
            return answered(row, [await settle(node, question, batched[row.id], tools)])
        numbered = [replace(question, sample=number) for number in range(samples)]
        return answered(row, await succeed_all(numbered, lambda q: ask_reply(node, q, tools)))

    return await process_rows(node, rows, answer, tools)
