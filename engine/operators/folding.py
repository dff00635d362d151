"""Fold a group that is too large for one prompt, batch by batch, with a scratchpad (paper section 2.2.2, figure 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.language.sandbox import to_json
from engine.language.schema import Schema
from engine.language.templates import Template, prompt_template
from engine.operators.asking import ModelNode, Question, ask, fits, quote_source, texts_of
from engine.operators.base import Tools
from engine.rows import Row


@dataclass(frozen=True, slots=True)
class Fold:
    """What is folded: the rows of one group in order, and the prompts.

    `prompt` starts with the first batch; `fold_prompt` (None: made from `prompt`) folds each further one into `output`.
    `batch_size` bounds the rows of a batch; None leaves it to the context.
    """

    node: ModelNode
    rows: Sequence[Row]
    reduce_key: dict[str, Any]
    prompt: Template
    fold_prompt: Template | None
    schema: Schema
    batch_size: int | None = None

    def question(self, rows: Sequence[Row] | None = None) -> Question:
        """Ask about all rows at once, without folding."""
        rows = self.rows if rows is None else rows
        return Question(
            prompt=self._task(rows),
            json_schema=self._answer_schema(len(rows)),
            form=self.schema.describe(),
            read=self.schema.read,
            texts=[text for row in rows for text in texts_of(row.values)],
            row_id=rows[0].id,
            template=self.prompt,
        )

    def step(self, start: int, stop: int, state: State | None) -> Question:
        """Ask to fold rows `start` up to and excluding `stop` into `state`; None at the first batch."""
        batch = self.rows[start:stop]
        notes = prompt_template("scratchpad").render(
            scratchpad=state.scratchpad if state else "", more=stop < len(self.rows)
        )
        return Question(
            prompt=(self._fold_task(batch, state.output) if state else self._task(batch)).rstrip("\n")
            + "\n\n"
            + notes.strip(),
            json_schema={
                "type": "object",
                "properties": {"scratchpad": {"type": "string"}, "output": self._answer_schema(stop)},
                "required": ["scratchpad", "output"],
                "additionalProperties": False,
            },
            form=f'{{"scratchpad": string, "output": {self.schema.describe()}}}',
            read=lambda reply: {**reply, "output": self.schema.read(reply["output"])},
            answer_at="output",
            texts=[text for row in batch for text in texts_of(row.values)],
            task=f"fold {start + 1}-{stop} of {len(self.rows)}",
            row_id=self.rows[0].id,
        )

    def _task(self, rows: Sequence[Row]) -> str:
        return self.prompt.render(inputs=[row.values for row in rows], reduce_key=self.reduce_key)

    def _fold_task(self, rows: Sequence[Row], output: dict[str, Any]) -> str:
        if self.fold_prompt is None:
            return prompt_template("fold").render(task=self._task(rows).rstrip("\n"), output=to_json(output))
        inputs = [row.values for row in rows]
        return self.fold_prompt.render(inputs=inputs, output=output, reduce_key=self.reduce_key)

    def _answer_schema(self, stop: int) -> dict[str, Any]:
        """Let quotes come from every row seen so far, for the output carries earlier ones along."""
        return self.schema.json_schema(quote_source([r.values for r in self.rows[:stop]], self.prompt, "inputs"))


@dataclass(frozen=True, slots=True)
class State:
    """What one fold step hands to the next."""

    output: dict[str, Any]
    scratchpad: str


def needs_folding(fold: Fold, tools: Tools) -> bool:
    """Say whether a group exceeds its batch size or the model's context."""
    if fold.batch_size is not None and len(fold.rows) > fold.batch_size:
        return True
    return len(fold.rows) > 1 and not fits(fold.node, fold.question(), tools)


async def fold_rows(fold: Fold, tools: Tools) -> dict[str, Any]:
    """Fold all rows, in order, and return the last output. Raises what `ask` raises."""
    state: State | None = None
    start = 0
    while start < len(fold.rows):
        stop = start + _batch(fold, start, state, tools)
        answer = await ask(fold.node, fold.step(start, stop, state), tools)
        state = State(answer["output"], answer["scratchpad"])
        start = stop
    assert state is not None  # a group has rows
    return state.output


def _batch(fold: Fold, start: int, state: State | None, tools: Tools) -> int:
    """Count the rows of the next batch: as many as fit, at least 1 (one that is too long is the model's error)."""
    longest = len(fold.rows) - start
    if fold.batch_size is not None:
        longest = min(longest, fold.batch_size)
    return _largest(longest, lambda size: fits(fold.node, fold.step(start, start + size, state), tools))


def _largest(limit: int, works: Callable[[int], bool]) -> int:
    """Find the largest size up to `limit` that works, doubling first so that no huge prompt is counted; at least 1."""
    good, bad = 1, limit + 1
    while good < limit:
        size = min(2 * good, limit)
        if not works(size):
            bad = size
            break
        good = size
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if works(middle) else (good, middle)
    return good
