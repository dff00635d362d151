"""What the search asks of whoever judges plans (paper section 4.1, validation agents; algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from engine.optimizer.outputs import PlanOutput
from engine.plan.plan import Plan
from engine.rows import RowId


class Aim(Enum):
    """What a criterion looks for."""

    CORRECTNESS = "correctness"
    PRECISION = "precision"
    RECALL = "recall"


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One explicit test of an output, in a sentence that a person can read and edit."""

    aim: Aim
    text: str


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """What a good output of a part of the pipeline is like. `task` says in a sentence what the part does."""

    task: str
    tests: tuple[Criterion, ...]


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One thing that is wrong with an output: what a judge quoted, and what it says of it.

    `aim` tells an invented or wrong value (precision, correctness) from a missing one (recall). `quote` is verbatim
    from the output, or from the document where something is missing; "" where a signal and not a judge found it.
    """

    source: RowId | None
    aim: Aim
    quote: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Rating:
    """How good an output is: `score` from 1 (useless) to 4 (right), with what is wrong.

    `satisfied` where nothing is worth improving. `grounds` names what the score was made of, for the report:
    "gold of 7 rows", or the judge and each signal with its share, each 0 to 1.
    """

    score: float
    failures: tuple[Failure, ...]
    satisfied: bool
    grounds: tuple[tuple[str, float], ...]
    could_satisfy: bool = False
    """Of a screening: a judge who is asked, too, could find nothing worth improving."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two outputs side by side: `left` is the share of the win that goes to the first, 0 to 1; 0.5 is a tie."""

    left: float
    reason: str


Progress = Callable[[int, int], None]
"""Told how many of how many questions are answered."""


class Judge(Protocol):
    """Judges the outputs of plans that do the same task. All but `screen` may ask a model; none remembers anything.

    `others` are what other plans made of the same rows: what several say is likely (engine.optimizer.pooling).
    """

    def screen(self, output: PlanOutput, others: Sequence[PlanOutput] = ()) -> Rating:
        """Rate an output by what code can see, without asking a model."""

    async def weigh(self, outputs: Sequence[PlanOutput]) -> Sequence[PlanOutput]:
        """Return the outputs with the odds of their items (engine.optimizer.weighing), where these can be told."""

    async def criteria(self, plan: Plan, operators: Sequence[str], sample: PlanOutput | None) -> Criteria:
        """Write tests for what the named operators of a plan do, before the search."""

    async def rate(self, output: PlanOutput, criteria: Criteria, others: Sequence[PlanOutput] = ()) -> Rating:
        """Rate an output."""

    async def compare(
        self, left: PlanOutput, right: PlanOutput, criteria: Criteria, others: Sequence[PlanOutput] = ()
    ) -> Comparison:
        """Compare two outputs on the sample rows that both have, in both orders."""
