"""What a judge is shown of one sample row and of what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.evidence.items import leaves
from engine.evidence.sentences import alternatives
from engine.optimizer.agent import Agent, agent_prompt, as_head
from engine.optimizer.outputs import OutputRow, PlanOutput
from engine.optimizer.packing import Part, Priority, input_parts, pack, shown
from engine.rows import RowId

RECORD_TOKENS = 1500
"""Of a sample row shown to a judge, the most; a longer one is cut in the middle, for all plans in the same place.

A model of 1.5B on two cores reads that in some eight seconds, and a search rates many plans.
"""

SKIPPED = "characters skipped ...]"
"""Ends the note that stands for what was cut."""

ANSWER_TOKENS = 1200
"""Of an answer shown to a judge, the most."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A sample row as a judge sees it: `head` shows it, `sentences` are those of it that may be quoted.

    `is_cut`: it did not fit whole.
    """

    source: RowId
    head: str
    sentences: tuple[str, ...]
    is_cut: bool


def judged(agent: Agent, output: PlanOutput, source: RowId, reply_tokens: int, record_tokens: int) -> Judged:
    """Show a sample row: what prompts of the plan name comes first, and an answer and a reply have room beside it.

    It does not depend on the answer, so that a model reads a row once for all plans that are judged by it.
    """
    values = output.inputs[source]
    parts = input_parts(values, _referenced(output))
    frame = agent_prompt("record", record=(), is_cut=True)
    room = min(record_tokens, agent.room(reply_tokens + 2 * ANSWER_TOKENS, frame))
    packed = pack(parts, max(0, room), agent.model.count_tokens)
    is_cut = any(part.left_out for part in packed)
    head = as_head(agent_prompt("record", record=packed, is_cut=is_cut))
    return Judged(source=source, head=head, sentences=tuple(dict.fromkeys(_quotable(packed, values))), is_cut=is_cut)


def _quotable(parts: Sequence[Part], values: Mapping[str, Any]) -> Iterator[str]:
    """Give the sentences that are shown of the texts that prompts name, or where they name none, of all texts."""
    texts = [part for part in parts if isinstance(values[part.name], str)]
    for part in [part for part in texts if part.priority is Priority.REFERENCED] or texts:
        yield from (text for text in alternatives(part.text.split("\n")) if not text.endswith(SKIPPED))


def answer_text(agent: Agent, rows: Sequence[Mapping[str, Any]], room_tokens: int = ANSWER_TOKENS) -> str:
    """Write the rows of an answer, a line each, whole where they fit (they come first in the paper's priorities)."""
    parts = [Part(f"{number}", shown(dict(row)), Priority.OUTPUT) for number, row in enumerate(rows, 1) if row]
    packed = pack(parts, room_tokens, agent.model.count_tokens)
    return "\n".join(part.text for part in packed)


def spoken_values(rows: Sequence[OutputRow]) -> dict[str, float | None]:
    """Return the values of an answer as texts that may be quoted, each with the share of it that was located."""
    found: dict[str, float | None] = {}
    for row in rows:
        for cell in row.cells:
            for leaf in leaves(cell.field, cell.value, row.values):
                if not isinstance(leaf.value, bool):
                    found.setdefault(str(leaf.value).strip(), cell.located)
    return found


def _referenced(output: PlanOutput) -> frozenset[str]:
    return frozenset().union(*(node.traits().reads for node in output.plan.operators))
