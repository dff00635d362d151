"""What a model tells beside its replies. Imports no runtime: an executor passes it on to whoever watches a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Restarted:
    """The model's process is gone and another takes its place. `settings` says which of its sizes are smaller now."""

    model: str
    reason: str
    settings: str


@dataclass(frozen=True, slots=True)
class ContextLimited:
    """The model was loaded with less context than its own, for more does not fit in memory."""

    model: str
    context_tokens: int
    own_context_tokens: int

    def __str__(self) -> str:
        return (
            f"{self.model} works with a context of {self.context_tokens:,} tokens, for its own of "
            f"{self.own_context_tokens:,} does not fit in memory now: close other programs for more"
        )


Notice = Restarted | ContextLimited

Tell = Callable[[Notice], None]


@runtime_checkable
class GivesNotice(Protocol):
    """A backend that has more to tell than replies."""

    def watch(self, tell: Tell) -> None:
        """Call `tell` with each notice, the ones that nobody has heard yet first; from any thread."""
