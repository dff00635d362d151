"""Fold a group that is too large for one prompt, batch by batch, with a scratchpad (paper section 2.2.2, figure 2).

Parts of a large group can be folded side by side, and their results merged as a tree.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import ItemError
from engine.language.sandbox import to_json
from engine.language.schema import Schema
from engine.language.templates import Template, prompt_template
from engine.operators.accounting import all_or_none
from engine.operators.asking import ModelNode, Question, ask, fits, quote_source, texts_of, visible
from engine.operators.base import Tools
from engine.operators.cutting import batch_size, pack
from engine.rows import Row
from engine.values.base import closed_object


@dataclass(frozen=True, slots=True)
class State:
    """What is known of rows `first` up to and excluding `stop` of a group: the output so far, and the notes."""

    output: dict[str, Any]
    scratchpad: str
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class Fold:
    """What is folded: the rows of one group in order, and the prompts.

    `prompt` starts with the first batch; `fold_prompt` (None: made from `prompt`) folds each further one into `output`.
    `batch_size` bounds the rows of a batch; None leaves it to the context. `input` names the fields that prompts see,
    none for all. An output always holds the reduce key.
    """

    node: ModelNode
    rows: Sequence[Row]
    reduce_key: dict[str, Any]
    prompt: Template
    fold_prompt: Template | None
    schema: Schema
    batch_size: int | None = None
    input: tuple[str, ...] = ()

    def question(self) -> Question:
        """Ask about all rows at once, without folding."""
        return Question(
            prompt=self.task(self.inputs(0, len(self.rows))),
            json_schema=self._answer_schema(0, len(self.rows)),
            form=self.schema.describe(),
            read=self.read,
            texts=self._texts(self.inputs(0, len(self.rows))),
            row_id=self.rows[0].id,
            values=self.values(self.inputs(0, len(self.rows))),
            template=self.prompt,
        )

    def step(self, start: int, stop: int, state: State | None, end: int) -> Question:
        """Ask to fold rows `start` up to and excluding `stop` into `state`; None at the first batch.

        `end` is where the part of the group ends that is being folded.
        """
        first = state.first if state else start
        inputs = self.inputs(start, stop)
        notes = prompt_template("scratchpad").render(
            scratchpad=state.scratchpad if state else "", more=stop < end, is_part=end - first < len(self.rows)
        )
        return self.noted(
            prompt=self._fold_task(inputs, state.output) if state else self.task(inputs),
            notes=notes,
            span=(first, stop),
            inputs=inputs,
            task=f"fold {start + 1}-{stop} of {len(self.rows)}",
        )

    def noted(
        self, prompt: str, notes: str, span: tuple[int, int], task: str, inputs: Sequence[Mapping[str, Any]] = ()
    ) -> Question:
        """Ask for an output on rows `span`, from which its quotes come, then for notes; `inputs` are in the prompt.

        The notes come last: written first, they say what is wrong, and the output follows them (decision 0075).
        """
        return Question(
            prompt=prompt.rstrip("\n") + "\n\n" + notes.strip(),
            json_schema=closed_object({"output": self._answer_schema(*span), "scratchpad": {"type": "string"}}),
            form=f'{{"output": {self.schema.describe()}, "scratchpad": string}}',
            read=lambda reply: {**reply, "output": self.read(reply["output"])},
            answer_at="output",
            notes_at="scratchpad",
            texts=self._texts(inputs),
            task=task,
            row_id=self.rows[0].id,
            values=self.values(inputs),
        )

    def _texts(self, inputs: Sequence[Mapping[str, Any]]) -> list[str]:
        prompts = self.prompt, self.fold_prompt
        return [text for values in inputs for text in texts_of(values, *prompts, variable="inputs")]

    def read(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Turn the model's answer into values; of the reduce key, code knows better than the model."""
        return {**self.schema.read(answer), **self.reduce_key}

    def inputs(self, start: int, stop: int) -> list[Mapping[str, Any]]:
        """Return what prompts see of rows `start` up to and excluding `stop`."""
        return [visible(row.values, self.input) for row in self.rows[start:stop]]

    def values(self, inputs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return what expressions of the pipeline see of the group: the keys, and the rows that are asked about.

        Of a single row they see the fields, so that `too_long` can cut them.
        """
        alone = inputs[0] if len(inputs) == 1 else {}
        return {**alone, **self.reduce_key, "reduce_key": self.reduce_key, "inputs": list(inputs)}

    def task(self, inputs: Sequence[Mapping[str, Any]]) -> str:
        """Write the prompt about some inputs."""
        return self.prompt.render(inputs=inputs, reduce_key=self.reduce_key)

    def shown_output(self, output: Mapping[str, Any]) -> str:
        """Write an output as the model wrote it."""
        return to_json({name: output[name] for name in self.schema.names})

    def _fold_task(self, inputs: Sequence[Mapping[str, Any]], output: dict[str, Any]) -> str:
        if self.fold_prompt is None:
            task = self.task(inputs).rstrip("\n")
            return prompt_template("fold").render(task=task, output=self.shown_output(output))
        return self.fold_prompt.render(inputs=inputs, output=output, reduce_key=self.reduce_key)

    def _answer_schema(self, first: int, stop: int) -> dict[str, Any]:
        """Let quotes come from every row that the output covers, for it carries earlier ones along."""
        rows = [row.values for row in self.rows[first:stop]]
        return self.schema.json_schema(quote_source(rows, self.prompt, "inputs"))


def needs_folding(fold: Fold, tools: Tools) -> bool:
    """Say whether a group exceeds its batch size or the model's context."""
    if fold.batch_size is not None and len(fold.rows) > fold.batch_size:
        return True
    return len(fold.rows) > 1 and not question_fits(fold, fold.question, tools)


async def fold_rows(fold: Fold, first: int, end: int, tools: Tools) -> list[State]:
    """Fold rows `first` up to and excluding `end`, in order; return the state after each batch.

    Raises what `ask` raises.
    """
    states: list[State] = []
    start = first
    while start < end:
        state = states[-1] if states else None
        fitting = functools.partial(_step_fits, fold, state, end, tools)
        size = batch_size(start, end, fitting, fold.batch_size)
        question = fold.step(start, start + size, state, end)
        states.append(await ask_state(fold, question, (first, start + size), tools))
        start += size
    return states


def _step_fits(fold: Fold, state: State | None, end: int, tools: Tools, start: int, stop: int) -> bool:
    return question_fits(fold, lambda: fold.step(start, stop, state, end), tools)


def question_fits(fold: Fold, make: Callable[[], Question], tools: Tools) -> bool:
    """Say whether a question can be written and fits the context.

    One that cannot be written, for it exceeds the bounds of a template, is too long. A batch of one row is asked about
    without this question, so an error that is not about length is met there.
    """
    try:
        return fits(fold.node, make(), tools)
    except ItemError:
        return False


async def ask_state(fold: Fold, question: Question, span: tuple[int, int], tools: Tools) -> State:
    """Ask for notes and an output that cover rows `span`."""
    answer = await ask(fold.node, question, tools)
    return State(answer["output"], answer["scratchpad"], *span)


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
