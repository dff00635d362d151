"""Read settings from environment variables; what is wrong with one is said with its name and valid values."""

from __future__ import annotations

import os
import queue
import re
import threading
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from models.errors import ModelCrashed, ModelError

# Where requests are put for the thread that runs a model, until that thread ends.

Work = TypeVar("Work")


class Inbox(Generic[Work]):
    """A queue that any thread puts work into and one thread takes it from. `model` names who takes it."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._waiting: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._turn = threading.Lock()
        self._is_shut = False

    def check_open(self) -> None:
        """Raise ModelCrashed if the thread has ended."""
        if self._is_shut:
            raise ModelCrashed(
                f"the model {self._model} is closed or has stopped", advice="Run the command again: replies are kept."
            )

    def put(self, work: Work) -> None:
        """Hand work to the thread; raises ModelCrashed if it has ended, for nobody would take it."""
        with self._turn:
            self.check_open()
            self._waiting.put(work)

    def end(self) -> None:
        """Ask the thread to end when it has taken what was put before."""
        self._waiting.put(None)

    def take(self, *, block: bool) -> Work | None:
        """Return the next work, None for the end; with `block` wait for it, else raise queue.Empty."""
        return self._waiting.get(block=block)

    def shut(self) -> Iterator[Work]:
        """Refuse all further work, then yield what nobody took; the thread's last deed."""
        with self._turn:
            self._is_shut = True
        return self._left()

    def _left(self) -> Iterator[Work]:
        while True:
            try:
                work = self._waiting.get_nowait()
            except queue.Empty:
                return
            if work is not None:
                yield work


def whole_number(name: str, least: int, most: int) -> int | None:
    """Read a whole number between `least` and `most`, inclusive; None where the variable is unset or empty.

    Raises ModelError naming the variable and its valid numbers.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    # Not int(): it also takes "1_000" and digits of other scripts.
    if re.fullmatch("[0-9]{1,9}", text) and least <= int(text) <= most:
        return int(text)
    raise _wrong(name, text, f"a whole number from {least} to {most}")


LEAST_CONTEXT = 512
"""Smallest context that can be set: below, no prompt of the engine fits."""


def context_tokens() -> int | None:
    """Read REDWELL_CONTEXT_TOKENS; None where it is unset or empty. Raises ModelError as `whole_number`."""
    return whole_number("REDWELL_CONTEXT_TOKENS", LEAST_CONTEXT, 2**24)


def one_of(name: str, choices: Sequence[str]) -> str | None:
    """Read one of some words; None where the variable is unset or empty. Raises ModelError listing the words."""
    text = os.environ.get(name, "").strip()
    if not text or text in choices:
        return text or None
    raise _wrong(name, text, " or ".join(choices))


def _wrong(name: str, text: str, wanted: str) -> ModelError:
    return ModelError(f"the environment variable {name} is {text!r}", advice=f"Set {name} to {wanted}, or unset it.")
