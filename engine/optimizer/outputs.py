"""What a plan wrote on sample documents, as it is rated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from engine.language.templates import Template
from engine.plan.plan import Plan
from engine.rows import RowId
from engine.text.normalise import plain, words

ECHO_WORDS = 4
"""Words in a row from which on an answer that stands in the prompt and not in the text repeats the prompt."""


@lru_cache(maxsize=512)
def folded(text: str) -> str:
    """Write the words of a text with a space before and behind each, so that parts of words are not found in it.

    Remembered: a long document is looked at again for each answer that may repeat the prompt.
    """
    return f" {' '.join(words(plain(text)))} "


@dataclass(frozen=True, kw_only=True)
class OutputCell:
    """One field of one output row.

    `located` is the share of the value's parts that were found in the sample rows it comes from, `verbatim` that of the
    parts found word for word where the task asks for quotes; both 0 to 1. None where nothing could be looked for: what
    has no place in a source, such as a number computed, or a choice of the schema.
    """

    field: str
    value: Any
    located: float | None = None
    verbatim: float | None = None


@dataclass(frozen=True, kw_only=True)
class OutputRow:
    """One output row. `sources` are the sample rows that it was made from, by id, in their order."""

    id: RowId
    cells: tuple[OutputCell, ...]
    sources: tuple[RowId, ...]

    @property
    def values(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return {cell.field: cell.value for cell in self.cells}


@dataclass(frozen=True, kw_only=True)
class PlanOutput:
    """What one plan made of sample rows: `inputs` by id, in order; `rows` in the order of the result.

    `failed` are the rows that failed, each in a line; `seconds` what the plan would take with an empty cache, from
    tokens and rates; `tokens` are those read and written, cached or not.
    """

    plan: Plan
    inputs: Mapping[RowId, Mapping[str, Any]]
    rows: tuple[OutputRow, ...]
    failed: tuple[str, ...] = ()
    seconds: float = 0.0
    tokens: int = 0
    rejected: Mapping[RowId, str] = field(default_factory=dict)
    """Sample rows that a filter left out, with the reason."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """How many items the user allows in the list of a field."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many items the user asks for there, where that is a number."""
    optional: frozenset[str] = frozenset()
    """Fields that the user allows to be null: nothing may be the right answer there."""
    asked: str = ""
    """The words of the user's prompts and of the plan's (engine.optimizer.outputs.folded)."""
    listing: Mapping[str, str] = field(default_factory=dict)
    """What the user asks for, by the field of the list that it is written to."""
    prompts: Mapping[str, Template] = field(default_factory=dict)
    """The user's own prompts of these fields."""
    odds: Mapping[RowId, Mapping[str, float]] = field(default_factory=dict)
    """How sure a model is, as log-odds, that an item of a list belongs there (engine.optimizer.weighing)."""

    measured: float | None = None
    """What the user's own function makes of it, 0 to 1 (engine.optimizer.measuring); None where it was not called."""

    def rows_of(self, source: RowId) -> tuple[OutputRow, ...]:
        """Return the output rows that a sample row has a part in."""
        return tuple(row for row in self.rows if source in row.sources)

    def repeats_prompt(self, value: object, source: RowId) -> bool:
        """Say whether a text is that of a prompt, and not of the sample row that it is about.

        A small model that is asked for what is not there answers with the question.
        """
        if not isinstance(value, str) or source not in self.inputs:
            return False
        answer = folded(value)
        if len(answer.split()) < ECHO_WORDS or answer not in self.asked:
            return False
        return not any(answer in folded(str(text)) for text in self.inputs[source].values())
