"""Fold a group that is too large for one prompt, batch by batch, with a scratchpad (paper section 2.2.2, figure 2)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import ItemError
from engine.language.sandbox import to_json
from engine.language.schema import Schema
from engine.language.templates import Template, prompt_template
from engine.operators.asking import ModelNode, Question, ask, fits, quote_source, texts_of, visible
from engine.operators.base import Tools
from engine.operators.packing import batch_size
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
            scratchpad=state.scratchpad if state else "",
            more=stop < end,
            is_part=end - first < len(self.rows),
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
        """Ask for notes and an output on rows `span`, from which its quotes come; `inputs` are in the prompt."""
        return Question(
            prompt=prompt.rstrip("\n") + "\n\n" + notes.strip(),
            json_schema=closed_object({"scratchpad": {"type": "string"}, "output": self._answer_schema(*span)}),
            form=f'{{"scratchpad": string, "output": {self.schema.describe()}}}',
            read=lambda reply: {**reply, "output": self.read(reply["output"])},
            answer_at="output",
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
