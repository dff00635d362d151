"""How far a run is, worked out from its events: what every display of a run draws from."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, inf

from engine.executor.events import (
    ChainProgress,
    DocumentFailed,
    DocumentRead,
    Event,
    FilesFound,
    ModelCall,
    ModelLoading,
    ModelReady,
    ModelRestarted,
    ModelWorking,
    OperatorFinished,
    OperatorProgress,
    OperatorStarted,
    RowFailed,
    RunStarted,
)
from engine.executor.stages import REPLY_CHARACTERS

SPEED_SECONDS = 30.0
"""Tokens per second are taken over this long."""

PACE_SECONDS = 60.0
"""Time left is estimated from the pace of the last so many seconds, so a burst of cached replies is soon forgotten."""

LEAST_PACE_SECONDS = 3.0

CHAIN_PACE_SECONDS, LEAST_ROWS = 120.0, 10
"""The pace of whole rows is that of the last so many seconds, or of so many rows where these took longer."""

LEAST_SHARE = 0.1
"""Before so much is done nothing is said of the time left."""

CHARACTERS_READ = 4.0
"""Characters of a token that is read, until the first rows have shown how many there are."""

CHARACTERS_WRITTEN = 10.0
"""A token that is written takes as long as reading so many characters: a reply of 100 tokens is REPLY_CHARACTERS."""

MOST_PROMPT_SHARE = 0.5
"""The words of prompts are no more than this beside a text."""


@dataclass
class FileState:
    """The files of one dataset. `began` is when reading began, and how many were known then from an earlier run."""

    dataset: str
    total: int = 0
    done: int = 0
    known: int = 0
    failed: int = 0
    pages: int = 0
    ocr_pages: int = 0
    began: tuple[float, int] = (0.0, 0)

    def seconds_left(self, now: float) -> float | None:
        """Estimate the time until all files are read; None at the end and while nothing is known.

        By the mean of all that were read: a scan takes a hundred times as long as a letter, so the last few say little.
        """
        then, done_then = self.began
        if self.done >= self.total:
            return None
        if now - then < LEAST_PACE_SECONDS or self.done <= done_then:
            return None
        return (self.total - self.done) * (now - then) / (self.done - done_then)


@dataclass
class OperatorState:
    """One operator. `paces` are (time, done) samples, oldest first."""

    name: str
    kind: str = ""
    done: int = 0
    total: int = 0
    failed: int = 0
    end: OperatorFinished | None = None
    paces: deque[tuple[float, int]] = field(default_factory=deque)

    def seconds_left(self, now: float) -> float | None:
        """Estimate the time for the work that has arrived; None while nothing is known."""
        pace = self.per_second(now)
        return (self.total - self.done) / pace if pace else None

    def per_second(self, now: float) -> float | None:
        """Return the pace lately, in work items a second; None at the end and while nothing is known."""
        while len(self.paces) > 1 and self.paces[1][0] < now - PACE_SECONDS:
            self.paces.popleft()
        if self.end is not None or not self.paces:
            return None
        then, done_then = self.paces[0]
        if now - then < LEAST_PACE_SECONDS or self.done <= done_then:
            return None
        return (self.done - done_then) / (now - then)


@dataclass
class ChainState:
    """Row-local operators through which rows pass one by one.

    Each text is likely to be read `readings` times. `size_ahead` is what is done of the rows that have not passed yet,
    whose texts seem to be read so many `times`. `paces` are (time, size done) samples, oldest first.
    """

    operators: tuple[str, ...]
    readings: int = 1
    rows_done: int = 0
    rows_total: int = 0
    size_done: int = 0
    size_total: int = 0
    size_ahead: float = 0.0
    times: int = 0
    paces: deque[tuple[float, float]] = field(default_factory=deque)

    @property
    def size_worked(self) -> float:
        """Return what is done, of rows that have not passed yet, too."""
        return min(self.size_done + self.size_ahead, self.size_total)

    def look_ahead(self, read: float, written: float, operators: int) -> None:
        """Count what was read and written of rows that have not passed, in characters: no more than they have.

        So many `operators` have read some of it. Where that is more than was likely, texts are read again for a further
        question. What goes a little beyond them are the words of prompts.
        """
        replies = (self.rows_total - self.rows_done) * REPLY_CHARACTERS
        texts = max(self.size_total - self.size_done - replies, 0)
        readings = read / texts if texts else 0.0
        times = max(min(operators, ceil(readings)), ceil(readings - MOST_PROMPT_SHARE), self.readings)
        if times != self.times:
            self.times = times
            self.paces.clear()  # they were measured by another number of readings
        self.size_ahead = min(read / times, texts) + min(written, replies)

    def share_done(self) -> float:
        """Return how much is done, 0 to 1."""
        return self.size_worked / self.size_total if self.size_total else 0.0

    def sample(self, now: float) -> None:
        """Keep how far it is at this time."""
        self.paces.append((now, self.size_worked))

    def seconds_left(self, now: float) -> float | None:
        """Estimate the time until all rows have passed; None at the end and before a tenth of the work is done."""
        while len(self.paces) > LEAST_ROWS and self.paces[1][0] < now - CHAIN_PACE_SECONDS:
            self.paces.popleft()
        if self.size_done == self.size_total or not self.paces or self.share_done() < LEAST_SHARE:
            return None
        then, done_then = self.paces[0]
        done = self.size_worked - done_then
        if done <= 0 or now - then < LEAST_PACE_SECONDS:
            return None
        return (self.size_total - self.size_worked) * (now - then) / done


@dataclass
class CallState:
    """Model calls and their tokens; only calls that were made have tokens here.

    `read_ahead` and `written_ahead` are the tokens of calls in progress, as far as a model tells. `samples` are (time,
    tokens read, tokens written) so far, oldest first.
    """

    made: int = 0
    from_cache: int = 0
    prompt_tokens: int = 0
    reused_tokens: int = 0
    sampled_tokens: int = 0
    forced_tokens: int = 0
    read_ahead: int = 0
    written_ahead: int = 0
    working: dict[str, ModelWorking] = field(default_factory=dict)
    samples: deque[tuple[float, int, int]] = field(default_factory=lambda: deque([(-inf, 0, 0)]))

    @property
    def read(self) -> int:
        """Return the tokens that were read for calls that have ended."""
        return self.prompt_tokens - self.reused_tokens

    def take(self, call: ModelCall, now: float) -> None:
        """Count one call; it is no longer in progress."""
        if call.from_cache:
            self.from_cache += 1
            return
        self.made += 1
        self.prompt_tokens += call.prompt_tokens
        self.reused_tokens += call.reused_tokens
        self.sampled_tokens += call.sampled_tokens
        self.forced_tokens += call.forced_tokens
        self.read_ahead = max(self.read_ahead - call.prompt_tokens + call.reused_tokens, 0)
        self.written_ahead = max(self.written_ahead - call.sampled_tokens - call.forced_tokens, 0)
        self._sample(now)

    def take_working(self, told: ModelWorking, now: float) -> None:
        """Take in how far the calls in progress of a model are."""
        self.working[told.model] = told
        self.read_ahead = sum(model.read for model in self.working.values())
        self.written_ahead = sum(model.written for model in self.working.values())
        self._sample(now)

    def _sample(self, now: float) -> None:
        written = self.sampled_tokens + self.forced_tokens + self.written_ahead
        self.samples.append((now, self.read + self.read_ahead, written))

    def speeds(self, now: float) -> tuple[float, float]:
        """Return tokens read and written per second, lately."""
        while len(self.samples) > 1 and self.samples[1][0] < now - SPEED_SECONDS:
            self.samples.popleft()
        (_, read_then, written_then), (_, read, written) = self.samples[0], self.samples[-1]
        return max(read - read_then, 0) / SPEED_SECONDS, max(written - written_then, 0) / SPEED_SECONDS


@dataclass
class EndedCalls:
    """Tokens of calls that have ended while their rows have not passed: a long text is asked about in parts.

    All by operator and row. `made` is what was read in this run; `read` and `written` hold what was answered in an
    earlier one, too.
    """

    read: Counter[tuple[str, str]] = field(default_factory=Counter)
    written: Counter[tuple[str, str]] = field(default_factory=Counter)
    made: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def operators(self) -> int:
        """Count the operators that have read some of these rows."""
        return len({operator for operator, _ in self.read})

    def take(self, call: ModelCall) -> None:
        """Count one call."""
        key, read = (call.operator, call.row_id), call.prompt_tokens - call.reused_tokens
        self.read[key] += read
        self.written[key] += call.sampled_tokens + call.forced_tokens
        self.made[key] += 0 if call.from_cache else read

    def forget(self, row_ids: Sequence[str]) -> None:
        """Drop the calls of a row that has passed, by what it was on its way; without any, those of all."""
        for counts in (self.read, self.written, self.made):
            for key in [key for key in counts if not row_ids or key[1] in row_ids]:
                del counts[key]


class RunState:
    """The state of a run after the events so far."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.started = clock()
        self.run_id = ""
        self.resumed = False
        self.files: dict[str, FileState] = {}
        self.operators: dict[str, OperatorState] = {}
        self.chain: ChainState | None = None
        self.calls = CallState()
        self._ended = EndedCalls()
        self._characters_read = CHARACTERS_READ
        self.loading = ""
        self.model = ""

    @property
    def elapsed_seconds(self) -> float:
        """Return how long the run has gone on."""
        return self.clock() - self.started

    def seconds_left(self) -> float | None:
        """Estimate the time for the work that has arrived, the longest of what goes on; None while nothing is known."""
        lefts = [self.operator_seconds_left(operator) for operator in self.operators.values()]
        return max((left for left in lefts if left is not None), default=None)

    def reading_seconds_left(self) -> float | None:
        """Estimate the time until all files are read; None once they are and while nothing is known."""
        lefts = [files.seconds_left(self.clock()) for files in self.files.values()]
        return max((left for left in lefts if left is not None), default=None)

    def share_done(self) -> float:
        """Return how much of the run is done, 0 to 1: the mean over its operators, each by the work it knows of."""
        shares = [self.operator_share(operator) for operator in self.operators.values()]
        return sum(shares) / len(shares) if shares else 0.0

    def operator_share(self, operator: OperatorState) -> float:
        """Return how much of an operator's work is done, 0 to 1; those of a chain share theirs."""
        if operator.end is not None:
            return 1.0
        if self.chain is not None and operator.name in self.chain.operators:
            return self.chain.share_done()
        return min(operator.done / operator.total, 1.0) if operator.total else 0.0

    def operator_seconds_left(self, operator: OperatorState) -> float | None:
        """Estimate the time until an operator is done; those of a chain end together."""
        if operator.end is not None:
            return None
        if self.chain is not None and operator.name in self.chain.operators:
            return self.chain.seconds_left(self.clock())
        return operator.seconds_left(self.clock())

    def take(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case RunStarted():
                self.run_id, self.resumed = event.run_id, event.resumed
                self.operators = {name: OperatorState(name) for name in event.operators}
            case FilesFound():
                self.files[event.dataset] = FileState(event.dataset, event.total, began=(self.clock(), 0))
            case DocumentRead() | DocumentFailed():
                self._take_file(event)
            case ModelLoading():
                self.loading = event.model
            case ModelReady():
                self.loading, self.model = "", event.model
            case ChainProgress():
                self._take_chain(event)
            case ModelCall() | ModelWorking() | ModelRestarted():
                self._take_work(event)
            case OperatorStarted() | OperatorProgress() | OperatorFinished() | RowFailed():
                self._take_operator(event)

    def _take_file(self, event: DocumentRead | DocumentFailed) -> None:
        files = self.files[event.dataset]
        if isinstance(event, DocumentRead) and event.status == "known" and files.done == files.began[1]:
            files.began = self.clock(), event.done
        files.done, files.total = event.done, event.total
        if isinstance(event, DocumentFailed):
            files.failed += 1
            return
        files.pages += event.pages
        files.ocr_pages += event.ocr_pages
        files.known += event.status == "known"

    def _take_chain(self, event: ChainProgress) -> None:
        if self.chain is None or self.chain.operators != event.operators:
            self.chain, self._ended = ChainState(event.operators, event.readings), EndedCalls()
        chain = self.chain
        self._ended.forget(event.row_ids)
        chain.rows_done, chain.rows_total = event.rows_done, event.rows_total
        chain.size_done, chain.size_total = event.size_done, event.size_total
        if self.calls.from_cache and not self.calls.made:
            chain.paces.clear()  # what was answered in an earlier run says nothing of the pace
        read = self.calls.read - self._ended.made.total()
        if read > 0 and chain.rows_done and not self.calls.from_cache:
            characters = chain.size_done - chain.rows_done * REPLY_CHARACTERS
            self._characters_read = chain.readings * characters / read
        self._look_ahead(chain)
        chain.sample(self.clock())

    def _take_work(self, event: ModelCall | ModelWorking | ModelRestarted) -> None:
        """Count what was read and written, also for rows that have not passed yet."""
        now = self.clock()
        match event:
            case ModelCall():
                self.calls.take(event, now)
                if self.chain is not None and event.operator in self.chain.operators:
                    self._ended.take(event)
            case ModelWorking():
                self.calls.take_working(event, now)
            case ModelRestarted():
                self.calls.take_working(ModelWorking(event.model, 0, 0), now)
        if self.chain is not None:
            self._look_ahead(self.chain)
            if isinstance(event, ModelCall) and event.from_cache and not self.calls.made:
                self.chain.paces.clear()  # as in _take_chain
                self.chain.sample(now)
            elif not isinstance(event, ModelCall):  # its row passes next
                self.chain.sample(now)

    def _look_ahead(self, chain: ChainState) -> None:
        read = self.calls.read_ahead + self._ended.read.total()
        written = self.calls.written_ahead + self._ended.written.total()
        chain.look_ahead(read * self._characters_read, written * CHARACTERS_WRITTEN, self._ended.operators)

    def _take_operator(self, event: OperatorStarted | OperatorProgress | OperatorFinished | RowFailed) -> None:
        operator = self.operators.setdefault(event.operator, OperatorState(event.operator))
        match event:
            case OperatorStarted():
                operator.kind = event.kind
            case OperatorProgress():
                operator.done, operator.total = event.done, event.total
                operator.paces.append((self.clock(), event.done))
            case OperatorFinished():
                operator.end = event
            case RowFailed():
                operator.failed += 1
