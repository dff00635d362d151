"""Reduce the parts of a large group side by side and merge their results as a tree (paper section 2.2.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import ItemError
from engine.language.templates import Template, prompt_template
from engine.operators.accounting import all_or_none
from engine.operators.asking import Question
from engine.operators.base import Tools
from engine.operators.packing import pack
from engine.operators.reduce.folding import Fold, State, ask_state, fold_rows, question_fits

ELIDED = "[...]"
MERGED_AT_ONCE = 2
"""Results that one merge joins where merge_batch_size does not say."""


@dataclass(frozen=True, slots=True)
class Merge:
    """How the parts of a folded group are merged: `prompt` (None: made from the fold's) reads `outputs`."""

    fold: Fold
    prompt: Template | None = None
    batch_size: int | None = None

    @property
    def at_once(self) -> int:
        """Return how many results one merge joins at most."""
        return self.batch_size or MERGED_AT_ONCE

    def question(self, states: Sequence[State]) -> Question:
        """Ask to merge the results of neighbouring parts; notes on them are handed on, as from fold to fold."""
        outputs = [state.output for state in states]
        span = (states[0].first, states[-1].stop)
        return self.fold.noted(
            prompt=(
                self.prompt.render(outputs=outputs, reduce_key=self.fold.reduce_key)
                if self.prompt
                else prompt_template("merge").render(
                    task=self._task().rstrip("\n"), outputs=[self.fold.shown_output(output) for output in outputs]
                )
            ),
            notes=prompt_template("merge_notes").render(notes=[state.scratchpad for state in states]),
            span=span,
            task=f"merge {span[0] + 1}-{span[1]} of {len(self.fold.rows)}",
        )

    def _task(self) -> str:
        """Write the fold's prompt with `[...]` for what it reads of a row; the keys are the same in all rows."""
        fields = {*self.fold.rows[0].values, *self.fold.prompt.mentions("inputs")}
        try:
            return self.fold.task([{**dict.fromkeys(fields, ELIDED), **self.fold.reduce_key}])
        except ItemError:  # the prompt computes with values: tell the model how it is written
            return prompt_template("merge_task").render(template=self.fold.prompt.text)


async def fold_and_merge(merge: Merge, tools: Tools) -> list[State]:
    """Fold the parts of a group at once, then merge neighbours until one result is left; return every state, it last.

    Rows and results keep their order. A part or a merge that fails fails the group; what was answered is in the cache.
    """
    fold = merge.fold
    folded = await all_or_none([fold_rows(fold, first, end, tools) for first, end in parts(merge, tools)])
    steps = [state for states in folded for state in states]
    level = [states[-1] for states in folded]
    while len(level) > 1:
        batches = _batches(merge, level, tools)
        merged = await all_or_none([_merge(merge, level[start:stop], tools) for start, stop in batches])
        steps += [state for (start, stop), state in zip(batches, merged, strict=True) if stop - start > 1]
        level = merged
    return steps


async def _merge(merge: Merge, states: Sequence[State], tools: Tools) -> State:
    if len(states) == 1:
        return states[0]
    span = (states[0].first, states[-1].stop)
    return await ask_state(merge.fold, merge.question(states), span, tools)


def _batches(merge: Merge, level: Sequence[State], tools: Tools) -> list[tuple[int, int]]:
    def fitting(start: int, stop: int) -> bool:
        return question_fits(merge.fold, lambda: merge.question(level[start:stop]), tools)

    batches = pack(len(level), fitting, merge.at_once)
    if len(batches) < len(level):
        return batches
    return pack(len(level), lambda start, stop: True, 2)  # no two fit: the model's error says by how much


def parts(merge: Merge, tools: Tools) -> list[tuple[int, int]]:
    """Cut a group into parts, each of whole batches, to be folded at once.

    B batches in P parts and then merges of m make a chain of B / P + log_m(P) calls, if a merge takes as long as a
    fold: shortest at P = B ln m. DocETL computes it from the times it measures, so that its results depend on them.
    """
    fold = merge.fold
    count = len(fold.rows)

    def fitting(start: int, stop: int) -> bool:
        return question_fits(fold, lambda: fold.step(start, stop, None, count), tools)

    batches = pack(count, fitting, fold.batch_size)
    wanted = max(1, min(len(batches), int(len(batches) * math.log(merge.at_once))))
    starts = [batches[part * len(batches) // wanted][0] for part in range(wanted)]
    return list(zip(starts, [*starts[1:], count], strict=True))
