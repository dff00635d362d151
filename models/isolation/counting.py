"""Questions for a number of tokens, answered past the supervisor, for whoever asks stands still.

Operators measure many short texts, one after the other: each thread that an answer passes through costs as much as the
answer itself.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from models.errors import ModelError
from models.isolation.process import ModelProcess
from models.isolation.wire import Frame

MOST_CRASHES = 2
"""A text that was being counted at so many crashes is not counted again."""


@dataclass(eq=False, slots=True)
class _Count:
    question: Frame
    answer: Future[int]
    crashes: int = 0


class Counts:
    """The questions under way. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._open: dict[int, _Count] = {}
        self._process: ModelProcess | None = None
        self._refusal: Callable[[], ModelError] | None = None

    @property
    def any_open(self) -> bool:
        """Say whether somebody waits."""
        return bool(self._open)

    def ask(self, question: Frame, wake: Callable[[], None]) -> int:
        """Wait for the answer; `wake` is called when there is no process to ask. Raises ModelError."""
        number = next(self._numbers)
        count = _Count(question, Future())
        with self._lock:
            if self._refusal is not None:
                raise self._refusal()
            self._open[number] = count
            process = self._process
        if process is None:
            wake()
        else:
            process.send({"count": number, **question})
        return count.answer.result()

    def connect(self, process: ModelProcess) -> None:
        """Ask this process from now on, also what was asked before."""
        with self._lock:
            self._process = process
            waiting = list(self._open.items())
        for number, count in waiting:
            process.send({"count": number, **count.question})

    def disconnect(self, blame: Callable[[], ModelError] | None) -> None:
        """Keep what is asked for the next process; with `blame`, a question may be why this one is gone."""
        with self._lock:
            self._process = None
            for number, count in list(self._open.items()) if blame else ():
                count.crashes += 1
                if blame and count.crashes >= MOST_CRASHES:
                    self._open.pop(number).answer.set_exception(blame())

    def settle(self, number: int, outcome: int | ModelError) -> None:
        """Take an answer; one that nobody waits for is nothing."""
        with self._lock:
            count = self._open.pop(number, None)
        if count is None:
            return
        if isinstance(outcome, ModelError):
            count.answer.set_exception(outcome)
        else:
            count.answer.set_result(outcome)

    def refuse(self, why: Callable[[], ModelError]) -> None:
        """Fail what is asked, now and from now on."""
        with self._lock:
            self._refusal = why
            waiting = list(self._open.values())
            self._open.clear()
        for count in waiting:
            count.answer.set_exception(why())
