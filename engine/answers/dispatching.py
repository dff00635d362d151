"""What to do with a checked answer: the pipeline's next move, decided by code from the signals (sections 2.3, 2.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.answers.contract import Answer, Item, Shape, Status
from engine.answers.pointing import Pointer
from engine.answers.specs import contradict

Move = Literal["ship", "widen", "reread", "not_found", "clarify", "conflict"]


@dataclass(frozen=True, slots=True)
class Situation:
    """An answer after a round, and what could still be done.

    `strong` is context_completeness_strong: what code saw beyond the lines shown, None where it could not tell.
    `can_widen`: there is more of the document, and a round left; `can_reread`: a page could be read another way.
    `clarification` is what to ask the user if nothing is found, "" where the question is clear; who has answered that
    already is not asked back again (`may_ask_back`). `pointer`: the lines say that the answer goes on where nothing was
    shown.
    """

    answer: Answer
    shape: Shape
    strong: bool | None = None
    can_widen: bool = False
    can_reread: bool = False
    clarification: str = ""
    may_ask_back: bool = True
    pointer: Pointer | None = None

    @property
    def is_incomplete(self) -> bool:
        """Say whether there is more than was found: as code saw it; where it could not tell, as the model says."""
        return self.strong is False or (self.strong is None and self.answer.says_incomplete)

    @property
    def question_back(self) -> str:
        """Return what to ask the user; "" for nothing."""
        if not self.may_ask_back:
            return ""
        return self.clarification or str(self.answer.signals.get("suggested_clarification") or "")


def dispatch(seen: Situation) -> Move:
    """Choose the next move.

    >>> dispatch(Situation(Answer(), "single", can_widen=True))
    'widen'
    >>> dispatch(Situation(Answer(), "single"))
    'not_found'
    """
    if seen.can_reread and seen.answer.signals.get("context_structured") is False:
        return "reread"
    if not seen.answer.items:
        if seen.can_widen:
            return "widen"
        return "clarify" if seen.question_back else "not_found"
    if rivals(seen.answer, seen.shape):
        return "conflict"
    may_be_more = seen.is_incomplete or seen.answer.says_incomplete
    return "widen" if may_be_more and seen.can_widen else "ship"


def status_of(seen: Situation) -> Status:
    """Say what became of the question when no round is left."""
    if not seen.answer.items:
        return "clarify" if seen.question_back else "none"
    if rivals(seen.answer, seen.shape):
        return "conflict"
    return "partial" if seen.is_incomplete else "found"


def rivals(answer: Answer, shape: Shape) -> tuple[Item, ...]:
    """Return the items that contradict each other: different values where one was asked for; none where they agree.

    That the model says so (conflicting_evidence) is not needed, and not enough.
    """
    if shape not in ("single", "nested"):
        return ()
    distinct: list[Item] = []
    for item in answer.best:
        if all(contradict(item.value, other.value) for other in distinct):
            distinct.append(item)
    return tuple(distinct) if len(distinct) > 1 else ()
