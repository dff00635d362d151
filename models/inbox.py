"""Where requests are put for the thread that runs a model, until that thread ends."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

from models.errors import ModelCrashed

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
