"""The thread that keeps a model's process alive, and the requests with it.

Everything that happens is put in its inbox as a call: requests, cancellations, what the child says, its end. So one
thread owns the state, and a child that it starts dies with it (Linux ties a child to the thread, not to the process).
"""

from __future__ import annotations

import itertools
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from models.errors import (
    ModelCrashed,
    ModelError,
    NotEnoughMemory,
    OutOfTokens,
    PromptTooLong,
    RuntimeMissing,
    TimedOut,
)
from models.isolation.ending import Ending, closed, given_up, load_crash, poison
from models.isolation.line import Line, Ticket
from models.isolation.process import ModelProcess, child_command
from models.isolation.wire import Frame, error_from, reply_from
from models.notices import ContextLimited, Notice, Restarted, Working
from models.protocol import ModelSpec, Request
from models.replies import LEAST_REPLY_TOKENS

# Questions for a number of tokens, answered past the supervisor, for whoever asks stands still.
#
# Operators measure many short texts, one after the other: each thread that an answer passes through costs as much as
# the answer itself.

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


MOST_DEATHS = 12
"""After so many ends in a row without a single reply the model is given up."""

PATIENCE = 4
"""After so many, requests are blamed even for what looks like a kill from outside: a watchdog may send it for them."""

MOST_LOAD_CRASHES = 2
"""A runtime that crashes while it loads does so again."""

WAITS = (0.0, 0.0, 0.2, 0.5, 1.0, 2.0, 3.0)
"""Seconds before a restart, by the ends in a row without a reply; the last for all that follow."""

TOKENS_PER_CHARACTER = 0.5
"""Assumed until replies have shown more: twice what English prose has."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What a child says of the model that it has opened."""

    name: str
    digest: str
    layout: str
    context_tokens: int


class Supervisor:
    """One model in a process of its own, over all lives of that process."""

    def __init__(self, spec: ModelSpec, tell: Callable[[Notice], None], command: Sequence[str] | None = None) -> None:
        """`tell` is called by the thread; `command` starts another child than models.isolation.child."""
        self.opened: Future[Opened] = Future()
        self._spec = spec
        self._tell = tell
        self._command = command
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._line = Line()
        self._counts = Counts()
        self._process: ModelProcess | None = None
        self._ready: Opened | None = None
        self._settings: Frame = {}
        self._changed: dict[str, int] = {}
        self.context_tokens = 0  # of the present child, or of the last one while there is none
        self._own_context = 0
        self._failure: Frame | None = None
        self._deaths = self._load_crashes = 0
        self._restart_at = 0.0
        self._tokens_per_character = TOKENS_PER_CHARACTER
        self._over: Callable[[], ModelError] | None = None
        self._posting = threading.Lock()
        self._has_ended = False
        self._thread = threading.Thread(target=self._live, name=f"model {spec.name}", daemon=True)
        self._thread.start()

    # -- called by any thread ------------------------------------------------------------------------------------

    @property
    def pid(self) -> int | None:
        """Return the child's process id; None while there is none."""
        process = self._process
        return process.pid if process else None

    def ask(self, ticket: Ticket) -> None:
        """Take a request; raises the error of a model that was closed or given up."""
        self._post(partial(self._take, ticket))

    def cancel(self, ticket: Ticket) -> None:
        """Forget a request; nobody waits for it any more."""
        self._inbox.put(partial(self._forget, ticket))

    def count(self, question: Frame) -> int:
        """Wait for the child's answer; raises ModelError."""
        return self._counts.ask(question, wake=lambda: self._inbox.put(lambda: None))

    def close(self) -> None:
        """Fail what waits, end the child and the thread; returns when both are gone. Idempotent."""
        self._inbox.put(self._close)
        if process := self._process:
            process.kill()  # the thread may be writing to a child that does not read
        self._thread.join()

    def _post(self, call: Callable[[], None]) -> None:
        with self._posting:
            if self._has_ended:
                raise self._last_error()
            self._inbox.put(call)

    def _last_error(self) -> ModelError:
        if self._over is None:
            return closed(self._spec.name)
        return self._over()

    # -- the thread ----------------------------------------------------------------------------------------------

    def _live(self) -> None:
        """Work until closed or given up. However the thread ends, no request is left waiting."""
        try:
            while self._over is None:
                self._work()
        finally:
            with self._posting:
                self._has_ended = True
            last, self._process = self._process, None
            if last is not None:
                last.kill()
                last.join()
            self._refuse_all()

    def _work(self) -> None:
        wait = None
        if self._process is None and self._is_needed:
            wait = self._restart_at - time.monotonic()
            if wait <= 0:
                self._start()
                return
        try:
            call = self._inbox.get(timeout=wait)
        except queue.Empty:
            return
        call()

    @property
    def _is_needed(self) -> bool:
        """Say whether anybody waits: a model that was killed while it was idle is started by the next request."""
        return not self.opened.done() or bool(self._line.everyone) or self._counts.any_open

    def _start(self) -> None:
        self._ready, self._failure = None, None
        try:
            self._process = ModelProcess(self._command or child_command(), self._hear)
        except OSError as error:
            reason = f"no process can be started for the model {self._spec.name}: {error.strerror or error}"
            self._over = lambda: RuntimeMissing(reason, advice="Close other programs.")
            return
        self._process.send({"open": asdict(self._spec), "parent": os.getpid()})

    def _hear(self, process: ModelProcess, said: Frame | Ending) -> None:
        """Take what a child says, in the thread that reads it."""
        match said:
            case {"counted": int(number), "tokens": int(tokens)}:
                self._counts.settle(number, tokens)
            case _:
                self._inbox.put(partial(self._take_word, process, said))

    def _take_word(self, process: ModelProcess, said: Frame | Ending) -> None:
        if process is not self._process:
            return
        if isinstance(said, Ending):
            self._take_ending(said)
            return
        try:
            self._take_frame(process, said)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            process.kill(f"it wrote what is no reply: {type(error).__name__}: {error}")

    def _take_frame(self, process: ModelProcess, frame: Frame) -> None:
        match frame:
            case {"reply": number, "value": body}:
                self._deliver(number, body)
            case {"error": number, "value": body}:
                self._fail(process, number, error_from(body))
            case {"uncounted": number, "value": body}:
                self._counts.settle(number, error_from(body))
            case {"working": int(read), "written": int(written)}:
                self._tell(Working(self._spec.name, read, written))
            case {"loading": dict(settings), "own_context": int(own)}:
                self._settings, self._own_context = settings, own
            case {"ready": {"name": str(name), "digest": str(digest), "layout": str(layout), "context": int(context)}}:
                self._take_ready(process, Opened(name, digest, layout, context))
            case {"failed": body}:
                error_from(body)
                self._failure = body
            case _:
                raise ValueError(f"{frame!r:.200}")

    def _take_ready(self, process: ModelProcess, opened: Opened) -> None:
        before, self._ready = self.context_tokens, opened
        self._load_crashes, self.context_tokens = 0, opened.context_tokens
        if self._own_context and opened.context_tokens != before:
            self._tell(ContextLimited(opened.name, opened.context_tokens, self._own_context))
        if not self.opened.done():
            self.opened.set_result(opened)
        self._counts.connect(process)
        self._feed()

    # -- requests --------------------------------------------------------------------------------------------------

    def _take(self, ticket: Ticket) -> None:
        self._line.add(ticket)
        self._feed()

    def _forget(self, ticket: Ticket) -> None:
        was_inside = self._line.is_inside(ticket.number)
        self._line.remove(ticket.number)
        if was_inside and self._process is not None:
            self._process.send({"cancel": ticket.number})
        self._feed()

    def _feed(self) -> None:
        """Give the child as many requests as it may have."""
        while self._ready and self._process and (ticket := self._line.next()):
            ticket.sent = time.perf_counter()
            self._process.send({"ask": ticket.number, "request": asdict(ticket.request)})

    def _deliver(self, number: int, body: Frame) -> None:
        reply = reply_from(body)
        self._deaths = 0
        if (ticket := self._line.remove(number)) is not None:
            # English prose has a quarter; the longest texts are what matters, so short prompts do not count.
            characters = max(characters_of(ticket.request), 2000)
            self._tokens_per_character = max(self._tokens_per_character, reply.prompt_tokens / characters)
            waited = reply.queue_seconds + ticket.sent - ticket.asked
            ticket.deliver(replace(reply, queue_seconds=waited))
        self._feed()

    def _fail(self, process: ModelProcess, number: int, error: ModelError) -> None:
        if isinstance(error, ModelCrashed):
            # The runtime failed, and with it all requests in the child: what its state is nobody knows.
            process.kill(f"its runtime failed: {error}")
        elif (ticket := self._line.remove(number)) is not None:
            if isinstance(error, OutOfTokens | TimedOut):
                self._deaths = 0
            if isinstance(error, PromptTooLong):
                error.advice += self._advice_on_context()
            ticket.deliver(error)
        self._feed()

    def _advice_on_context(self) -> str:
        if not self._own_context and "context_tokens" not in self._changed:
            return ""
        return (
            f" The context is only {self.context_tokens:,} tokens because more did not fit in memory: "
            "close other programs and run again."
        )

    # -- the end of a child --------------------------------------------------------------------------------------

    def _take_ending(self, ending: Ending) -> None:
        """Decide what becomes of the requests, and with which settings the next child starts."""
        was_ready = self._ready is not None
        self._process, self._ready = None, None
        self._deaths += 1
        innocent = ending.is_from_outside or ending.is_for_memory
        self._accuse(ending, blamed=was_ready and (not innocent or self._deaths > PATIENCE))
        failure = error_from(self._failure) if self._failure and not was_ready else None
        if failure is not None and not (self.opened.done() and isinstance(failure, NotEnoughMemory)):
            self._over = partial(error_from, self._failure or {})
        elif not was_ready and failure is None and self._crashed_loading(ending):
            self._over = partial(load_crash, self._spec.name, ending)
        elif self._deaths >= MOST_DEATHS:
            self._over = partial(given_up, self._spec.name, self._deaths, str(failure or ending.reason), ending)
        else:
            self._plan_restart(ending, failure)

    def _crashed_loading(self, ending: Ending) -> bool:
        if not ending.is_from_outside and not ending.is_for_memory:
            self._load_crashes += 1
        return self._load_crashes >= MOST_LOAD_CRASHES

    def _accuse(self, ending: Ending, *, blamed: bool) -> None:
        for ticket in self._line.take_back(blamed=blamed):
            ticket.deliver(poison(self._spec.name, ending))
        self._counts.disconnect(partial(poison, self._spec.name, ending) if blamed else None)

    def _plan_restart(self, ending: Ending, failure: ModelError | None) -> None:
        changed: dict[str, int] = {}
        if failure is not None or ending.is_for_memory:
            requests = (ticket.request for ticket in self._line.everyone)
            needed = context_needed(requests, self._tokens_per_character)
            changed = smaller(self._settings, needed)
        self._changed = {**self._changed, **changed}
        self._settings = {**self._settings, **changed}
        self._spec = replace(self._spec, settings={**self._spec.settings, **changed})
        wait = WAITS[min(self._deaths, len(WAITS)) - 1]
        self._restart_at = time.monotonic() + wait
        self._tell(Restarted(self._spec.name, str(failure or ending.reason), describe(changed)))

    def _close(self) -> None:
        if self._over is None:
            self._over = partial(closed, self._spec.name)

    def _refuse_all(self) -> None:
        """Fail everything that waits, also what is still in the inbox."""
        while True:
            try:
                self._inbox.get_nowait()()
            except queue.Empty:
                break
        if not self.opened.done():
            self.opened.set_exception(self._last_error())
        for ticket in self._line.take_all():
            ticket.deliver(self._last_error())
        self._counts.refuse(self._last_error)


LEAST = {"context_tokens": 512, "running": 1, "kept": 0, "batch_tokens": 64}
"""The settings that memory depends on (models.llama_runtime.LlamaSettings), and how small they may become."""

_SHOWN = {
    "context_tokens": "a context of {:,} tokens",
    "running": "{:,} requests at once",
    "batch_tokens": "{:,} tokens in one step",
}


def smaller(settings: Mapping[str, Any], least_context: int) -> dict[str, int]:
    """Halve what takes memory, the context not below `least_context`. Return what changes; empty at the end."""
    changed = {}
    for name, least in LEAST.items():
        size = settings.get(name)
        floor = max(least, least_context) if name == "context_tokens" else least
        if isinstance(size, int) and size > floor:
            changed[name] = max(size // 2, floor)
    return changed


def describe(changed: Mapping[str, Any]) -> str:
    """Say what the settings are now."""
    parts = [text.format(changed[name]) for name, text in _SHOWN.items() if name in changed]
    return f"now with {', '.join(parts)}" if parts else "with the same settings"


def context_needed(requests: Iterable[Request], tokens_per_character: float) -> int:
    """Estimate the context that the longest of these requests needs, a multiple of 256."""
    needs = [
        math.ceil(characters_of(request) * tokens_per_character) + min(request.sampling.max_tokens, LEAST_REPLY_TOKENS)
        for request in requests
    ]
    return -(-max(needs, default=0) // 256) * 256


def characters_of(request: Request) -> int:
    """Count the characters of a prompt, without the chat template."""
    return sum(len(segment.text) for segment in request.segments)
