"""What operators have in common that ask yes or no: their model's bias can be found out and corrected."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from engine.language.common_checks import example_problems
from engine.language.problems import Finding
from engine.operators.accounting import Failure, attempt_all
from engine.operators.asking import ModelNode
from engine.operators.base import Decision
from engine.operators.bias import FEWEST, Bias, log_odds_of, of_content_free, of_reviewed
from engine.operators.content_free import Values, shuffled
from engine.plan.frozen import freeze
from models.protocol import Reply

LeanMethod = Literal["none", "anchors", "content_free", "batch", "reviewed"]

RANDOM_ROWS = 10
"""Rows of random words that are asked about: their mean is then known to about a third of their spread."""

_UNKNOWN = "the model's bias could not be found: "

Read = Callable[[Values, str], Awaitable[float]]
"""Ask a question filled in with values, for a purpose, and return the log-odds of yes."""


@dataclass(frozen=True, kw_only=True)
class DecidingNode(ModelNode, ABC):
    """An operator whose questions are answered by one boolean, `decision`.

    `correct_lean` says what the model's bias to yes or no is found by: `anchors`, pairs whose answer is known;
    `content_free`, rows that say nothing; `batch`, the mean of all rows; `reviewed`, rows written out with their right
    answer, in the form of `examples`. The decision is then read from the probabilities of both answers
    (engine.operators.bias).
    """

    lean_methods: ClassVar[tuple[LeanMethod, ...]] = ("none", "content_free", "reviewed")

    correct_lean: LeanMethod = "none"
    reviewed: tuple[Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "reviewed", freeze(self.reviewed))
        self.require(
            self.correct_lean in self.lean_methods,
            f"correct_lean: {self.correct_lean} is not possible for {self.kind}",
            f"Possible: {', '.join(self.lean_methods)}.",
        )
        self.require(
            self.correct_lean == "reviewed" or not self.reviewed,
            f"reviewed rows are given, but correct_lean is {self.correct_lean}",
            "Write correct_lean: reviewed.",
        )
        self.require(
            self.correct_lean != "reviewed" or bool(self.reviewed),
            "correct_lean: reviewed needs rows with their right answer",
            "For example reviewed: [{input: {text: ...}, output: {keep: true}}].",
        )
        for row in self.reviewed:
            self._check_reviewed(row)

    def _check_reviewed(self, row: Mapping[str, Any]) -> None:
        output = row.get("output") if isinstance(row, Mapping) else None
        known = isinstance(output, Mapping) and isinstance(output.get(self.decision), bool) and len(row) > 1
        self.require(
            known,
            f"a reviewed row says what {self.decision!r} is: true or false",
            f"For example {{input: {{text: ...}}, output: {{{self.decision}: true}}}}.",
        )

    @property
    @abstractmethod
    def decision(self) -> str:
        """Return the boolean that is the answer."""

    @property
    def corrects_lean(self) -> bool:
        """Say whether decisions are read from probabilities."""
        return self.correct_lean != "none"

    def problems(self) -> Iterator[Finding]:
        """Say what is wrong, also with reviewed rows."""
        yield from super().problems()
        yield from example_problems("reviewed", self.reviewed, self.prompts_of)

    def chosen(self, replies: Sequence[Reply]) -> Reply:
        """Return the first yes about parts of a text; where the bias is corrected, that of most conviction."""
        if self.corrects_lean:
            return max(replies, key=lambda reply: log_odds_of(reply, self.decision))
        return next((reply for reply in replies if reply.value[self.decision]), replies[0])


async def find_bias(node: DecidingNode, rows: Sequence[Values], read: Read, seed: int) -> Bias:
    """Find a model's bias by questions about rows without content, and about reviewed ones where there are any.

    `rows` are what the prompt is filled in with for the rows to be decided; rows without content are made from them and
    from the reviewed rows. Raises ItemError where none of the questions can be answered, or
    one about a reviewed row cannot.
    """
    reviewed = [{key: value for key, value in row.items() if key != "output"} for row in node.reviewed]
    known = [*rows, *reviewed]
    asked = shuffled(known, RANDOM_ROWS, seed) if len(known) >= FEWEST else []
    nothing = await read_all(asked, read, "row without content")
    if node.correct_lean == "reviewed":
        return await fit_to_reviewed(node, nothing, read)
    few = f"not corrected: {len(known)} rows are fewer than {FEWEST}"
    return of_content_free(nothing) if nothing else Bias(detail=few)


async def fit_to_reviewed(node: DecidingNode, nothing: Sequence[float], read: Read) -> Bias:
    """Ask about the reviewed rows and fit the border to them; `nothing` are the log-odds it is commonly the mean of.

    Raises ItemError where a question cannot be answered.
    """
    reviewed = [{key: value for key, value in row.items() if key != "output"} for row in node.reviewed]
    answers = await read_all(reviewed, read, "reviewed row", needs_all=True)
    return of_reviewed(answers, [row["output"][node.decision] for row in node.reviewed], nothing)


async def read_all(asked: Sequence[Values], read: Read, what: str, *, needs_all: bool = False) -> list[float]:
    """Ask about all rows, `what` each is, and return the answers that can be had.

    Raises ItemError where that is none, or with `needs_all` not each of them.
    """
    numbered = [(values, f"bias: {what} {number} of {len(asked)}") for number, values in enumerate(asked, 1)]
    answers = await attempt_all(numbered, lambda item: read(*item))
    failures = [answer for answer in answers if isinstance(answer, Failure)]
    if failures and (needs_all or len(failures) == len(asked)):
        raise failures[0].as_error(_UNKNOWN)
    return [answer for answer in answers if not isinstance(answer, Failure)]


def told_bias(node: DecidingNode, bias: Bias, changed: int, count: int) -> Decision:
    """Write a bias for the ledger, and how many of the model's own answers it changed."""
    detail = f"{bias.detail}; {changed} of {count} answers changed"
    return Decision(node.decision, "correct_lean", "", "corrected", node.correct_lean, detail)
