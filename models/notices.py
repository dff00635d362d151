"""What a model tells beside its replies. Imports no runtime: an executor passes it on to whoever watches a run."""

from __future__ import annotations

import threading
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


@dataclass(frozen=True, slots=True)
class Caution:
    """What a user should know of the model, such as what it had to make do with."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Working:
    """How far the requests in progress are: tokens of their prompts that were read, and tokens of their replies."""

    model: str
    read: int
    written: int


Notice = Restarted | ContextLimited | Caution | Working

Tell = Callable[[Notice], None]


@runtime_checkable
class GivesNotice(Protocol):
    """A backend that has more to tell than replies."""

    def watch(self, tell: Tell) -> None:
        """Call `tell` with each notice, the ones that nobody has heard yet first; from any thread."""


class Notices:
    """Notices on their way from any thread to who watches; kept while nobody does."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._unheard: list[Notice] = []
        self._watcher: Tell | None = None

    def tell(self, notice: Notice) -> None:
        """Pass a notice on, or keep it for the first who watches; how far the work is, is of no use later."""
        with self._turn:
            watcher = self._watcher
            if watcher is None:
                if not isinstance(notice, Working):
                    self._unheard.append(notice)
                return
        watcher(notice)

    def watch(self, tell: Tell) -> None:
        """Call `tell` with each notice, the ones that nobody has heard yet first."""
        with self._turn:
            self._watcher = tell
            unheard, self._unheard = self._unheard, []
        for notice in unheard:
            tell(notice)
