"""Continuous batching over one runtime: requests join and leave a running batch, shared prefixes are read once.

Each step evaluates one batch: the next tokens of every reply in progress, then prompt tokens up to the batch size.
Tokens that the schema fixes are not sampled; they ride along in the next batch. A finished prompt stays in its slot
until the space is needed (least recently used first), so later requests that begin alike start where it ends.
A request whose beginning is just being read by another waits for it instead of reading it twice.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.choices import Step
from models.errors import ModelError, OutOfTokens, PromptTooLong, TimedOut
from models.guides import Guide
from models.protocol import Sampling
from models.sequences import Slot, SlotTable

WORTH_WAITING_TOKENS = 32
"""A request waits for another's prefill when it would save at least so many tokens."""

LOOK_AHEAD = 64
"""How many waiting requests are compared for the longest shared prefix."""

MOST_OVERTAKEN = 256
"""A request that so many later ones overtook starts next, whatever prefix others share: none waits for ever."""

REPLY_RESERVE = 64
"""Cells left free per running reply when another is admitted: pushing back a request that was read is dear."""


class Evaluator(Protocol):
    """The part of a runtime that the scheduler needs (models.llama_runtime.LlamaRuntime)."""

    def evaluate_tokens(self, items: Sequence[tuple[int, int, int, bool]]) -> list[NDArray[np.float32]]:
        """Evaluate (token, position, sequence, wants logits) items; one vector per item that wants logits, in order."""

    def copy_prefix(self, source: int, target: int, length: int) -> None:
        """Let `target` share the first `length` positions of `source`."""

    def forget(self, sequence: int, start: int = 0) -> None:
        """Drop a sequence's cells from `start` (inclusive) on."""


@dataclass(eq=False)
class Job:
    """One request on its way: its prompt, its guide and what has been written of the reply.

    With `keep_steps`, the probabilities of the tokens among which each choice was made are kept in `steps`.
    `timeout_seconds` is counted from `started`.
    """

    prompt: NDArray[np.int32]
    guide: Guide
    sampling: Sampling
    seed: int
    deliver: Callable[[Job, ModelError | None], None]
    keep_steps: bool = False
    timeout_seconds: float | None = None
    submitted: float = field(default_factory=time.perf_counter)
    started: float | None = None
    reply: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    slot: Slot | None = None
    reused: int = 0
    sampled: int = 0
    forced: int = 0
    overtaken: int = 0
    cancelled: bool = False
    _random: np.random.Generator | None = None

    def is_late(self, now: float) -> bool:
        """Say whether the reply has taken longer than it may."""
        return self.timeout_seconds is not None and now - (self.started or now) > self.timeout_seconds

    @property
    def random(self) -> np.random.Generator:
        """Return the request's own random stream: the same seed gives the same reply whatever else runs."""
        if self._random is None:
            self._random = np.random.default_rng(self.seed)
        return self._random


@dataclass
class Counters:
    """Tokens since the start: evaluated from prompts, reused from the cache, sampled, forced by schemas."""

    prompt: int = 0
    reused: int = 0
    sampled: int = 0
    forced: int = 0
    evaluations: int = 0
    finished: int = 0


class Scheduler:
    """Run jobs on an evaluator. Single-threaded: `submit` and `step` are called by the same thread."""

    def __init__(self, evaluator: Evaluator, *, cells: int, slots: int, running: int, batch_tokens: int) -> None:
        """`slots` includes idle ones kept for reuse; at most `running` of them work at once."""
        self._evaluator = evaluator
        self._table = SlotTable(slots, cells)
        self._most_running = min(running, slots)
        self._batch_tokens = batch_tokens
        self._waiting: deque[Job] = deque()
        self._running: list[Job] = []
        self._full = False  # the best waiting job did not fit, and nothing was released since
        self.counters = Counters()

    @property
    def idle(self) -> bool:
        """Say whether nothing waits or runs."""
        return not self._waiting and not self._running

    def submit(self, job: Job) -> None:
        """Queue a job. Its first tokens, or its whole reply, may already be forced by the schema."""
        self._full = False
        self._waiting.append(job)
        try:
            self._check_size(job)
            self._write(job, job.guide.take_forced())
            finished = job.guide.finished
        except ModelError as error:
            self._finish(job, error)
            return
        self._end_if_complete(job, finished)

    def _check_size(self, job: Job) -> None:
        if job.prompt.size == 0:
            raise ModelError("the prompt has no tokens", advice="Write a prompt for this operator.")
        # The last token of a reply is never evaluated.
        if job.prompt.size + max(job.sampling.max_tokens, 1) - 1 > self._table.capacity:
            raise PromptTooLong(
                prompt_tokens=job.prompt.size,
                reply_tokens=job.sampling.max_tokens,
                context_tokens=self._table.capacity,
                what="the prompt",
            )

    def fail_all(self, error: ModelError) -> None:
        """Deliver `error` to every job and forget all cached prefixes (the runtime's state is unknown)."""
        jobs = [*self._running, *self._waiting]
        self._running.clear()
        self._waiting.clear()
        self._full = False
        try:
            for slot in self._table.slots:
                slot.busy = False
                self._evict(slot)
        finally:
            for job in jobs:
                job.slot = None
                job.deliver(job, error)

    def step(self) -> None:
        """Admit what fits, evaluate one batch, and choose the next token of each reply that got its logits."""
        self._drop_cancelled()
        self._end_late()
        self._admit()
        batch, waiting_for_logits = self._fill_batch()
        if not batch:
            return
        logits = self._evaluator.evaluate_tokens(batch)
        self.counters.evaluations += 1
        for job, vector in zip(waiting_for_logits, logits, strict=True):
            self._advance(job, vector)

    # -- admission ---------------------------------------------------------------------------------------------

    def _drop_cancelled(self) -> None:
        for job in [j for j in self._running if j.cancelled]:
            self._release(job)
        if any(j.cancelled for j in self._waiting):
            self._waiting = deque(j for j in self._waiting if not j.cancelled)
            self._full = False

    def _end_late(self) -> None:
        now = time.perf_counter()
        for job in [j for j in (*self._running, *self._waiting) if j.is_late(now)]:
            self._full = False
            self._finish(job, TimedOut(seconds=job.timeout_seconds or 0))

    def _admit(self) -> None:
        """Start waiting jobs, but none while the running ones have a whole batch left to read.

        To start it would not read it sooner. It would take a slot from prefixes that are still wanted, and choose
        before the jobs are known that will follow on what is being read (the questions about a document just listed).
        """
        while self._waiting and not self._full and len(self._running) < self._most_running:
            if self._unread_tokens() >= self._batch_tokens:
                return
            choice = self._choose_waiting()
            if choice is None:
                return
            job, source, length = choice
            self._full = not self._start(job, source, length)

    def _choose_waiting(self) -> tuple[Job, Slot | None, int] | None:
        """Pick the waiting job with the longest cached prefix; None if all had better wait for a running prefill."""
        best: tuple[Job, Slot | None, int] | None = None
        for job in islice(self._waiting, LOOK_AHEAD):
            source, length, promised = self._table.best_prefix(job.prompt)
            # The last prompt token is always evaluated anew: its logits begin the reply.
            length, promised = min(length, job.prompt.size - 1), min(promised, job.prompt.size - 1)
            if job.overtaken >= MOST_OVERTAKEN:
                return job, source, length
            if promised - length >= WORTH_WAITING_TOKENS:
                continue
            if best is None or length > best[2]:
                best = job, source, length
        return best

    def _start(self, job: Job, source: Slot | None, length: int) -> bool:
        """Give the job a slot; False if there is no room while others run."""
        needed = job.prompt.size + len(job.reply) + self._promised_cells()
        if not self._make_room(needed - length, keep=source):
            source, length = None, 0  # it may itself be in the way
            if not self._make_room(needed, keep=None):
                return False
        slot = self._take_slot(source, length)
        if slot is None:
            return False
        self._note_overtaken(job)
        self._waiting.remove(job)
        slot.tokens = np.concatenate([job.prompt, np.asarray(job.reply, np.int32)])
        slot.busy = True
        job.slot = slot
        if job.started is None:
            job.started = time.perf_counter()
            job.reused = length
        self.counters.reused += length
        self._running.append(job)
        return True

    def _unread_tokens(self) -> int:
        return sum(j.slot.tokens.size - j.slot.evaluated for j in self._running if j.slot is not None)

    def _promised_cells(self) -> int:
        """Count the cells that running jobs have yet to fill, with a reserve for each reply and the new job's.

        0 when nothing runs: a job alone always fits (`_check_size`).
        """
        if not self._running:
            return 0
        ahead = self._unread_tokens()
        replies = sum(min(REPLY_RESERVE, j.sampling.max_tokens - len(j.reply)) for j in self._running)
        return int(ahead) + replies + REPLY_RESERVE

    def _note_overtaken(self, job: Job) -> None:
        for other in self._waiting:
            if other is job:
                return
            other.overtaken += 1

    def _take_slot(self, source: Slot | None, length: int) -> Slot | None:
        """Return a slot that holds the first `length` tokens of `source` and nothing else; None if all are busy."""
        slot = self._table.empty_slot()
        if slot is None and (slot := self._table.oldest_idle(source)) is not None:
            self._evict(slot)
        if slot is not None:
            if source is not None and length:
                self._table.share(source, slot, length)
                self._evaluator.copy_prefix(source.number, slot.number, length)
            return slot
        if source is None or source.busy:
            return None
        # The source is the only slot left: work in it.
        self._evaluator.forget(source.number, length)
        self._table.truncate(source, length)
        return source

    def _make_room(self, cells: int, keep: Slot | None) -> bool:
        """Free cells, least recently used first; False, with nothing thrown away, if that cannot suffice."""
        if self._table.free_cells < cells and self._table.reclaimable_cells(keep) < cells:
            return False
        while self._table.free_cells < cells:
            victim = self._table.oldest_idle(keep)
            if victim is None:
                return False
            self._evict(victim)
        return True

    def _evict(self, slot: Slot) -> None:
        self._evaluator.forget(slot.number)
        self._table.truncate(slot, 0)

    # -- one batch -----------------------------------------------------------------------------------------------

    def _fill_batch(self) -> tuple[list[tuple[int, int, int, bool]], list[Job]]:
        """Lay out the next batch: (token, position, sequence, wants logits) items, and the jobs that get logits."""
        batch: list[tuple[int, int, int, bool]] = []
        ready: list[Job] = []
        for job, slot, count in self._plan_batch():
            first, last = slot.evaluated, slot.evaluated + count - 1
            complete = last + 1 == slot.tokens.size
            batch.extend((int(slot.tokens[i]), i, slot.number, complete and i == last) for i in range(first, last + 1))
            self.counters.prompt += max(0, min(last + 1, job.prompt.size) - first)
            self._table.extend(slot, count)
            if complete:
                ready.append(job)
        return batch, ready

    def _plan_batch(self) -> list[tuple[Job, Slot, int]]:
        """Say how many tokens each job evaluates next; push back the youngest while the cells do not suffice."""
        while True:
            plan = self._share_batch()
            if self._make_room(sum(count for _, _, count in plan), keep=None) or len(self._running) == 1:
                return plan
            self._push_back(self._running[-1])

    def _share_batch(self) -> list[tuple[Job, Slot, int]]:
        """Share the batch out: replies first, for each is one step nearer its end, then prompts in order of arrival."""
        jobs = [(j, j.slot) for j in self._running if j.slot is not None]
        replying = [(j, s) for j, s in jobs if s.evaluated >= j.prompt.size]
        reading = [(j, s) for j, s in jobs if s.evaluated < j.prompt.size]
        plan: list[tuple[Job, Slot, int]] = []
        room = self._batch_tokens
        for job, slot in [*replying, *reading]:
            count = min(slot.tokens.size - slot.evaluated, room)
            if count > 0:
                plan.append((job, slot, count))
                room -= count
        return plan

    def _push_back(self, job: Job) -> None:
        """Return a running job to the head of the queue; what it wrote is kept and read again later."""
        self._release(job)
        self._waiting.appendleft(job)

    def _release(self, job: Job) -> None:
        """Take the job off its slot; the prompt stays cached there."""
        self._full = False
        slot = job.slot
        self._running.remove(job)
        if slot is None:
            return
        keep = min(slot.evaluated, job.prompt.size)
        self._evaluator.forget(slot.number, keep)
        self._table.truncate(slot, keep)
        slot.busy = False
        job.slot = None

    # -- replies -------------------------------------------------------------------------------------------------

    def _advance(self, job: Job, logits: NDArray[np.float32]) -> None:
        """Choose one token, then take all tokens the schema forces after it."""
        try:
            token = self._choose(job, logits)
            job.guide.accept(token)
            forced = job.guide.take_forced()
            finished = job.guide.finished
        except ModelError as error:
            self._finish(job, error)
            return
        job.sampled += 1
        self.counters.sampled += 1
        job.reply.append(token)
        self._write(job, forced)
        if not self._end_if_complete(job, finished) and job.slot is not None:
            job.slot.tokens = np.concatenate([job.slot.tokens, np.asarray([token, *forced], np.int32)])

    def _write(self, job: Job, forced: list[int]) -> None:
        job.reply.extend(forced)
        job.forced += len(forced)
        self.counters.forced += len(forced)

    def _end_if_complete(self, job: Job, finished: bool) -> bool:
        """Deliver the reply if it is complete or at its limit, and say whether that was so."""
        if finished:
            self._finish(job, None)
        elif len(job.reply) >= job.sampling.max_tokens:
            message = f"the reply was not complete after {len(job.reply)} tokens (limit {job.sampling.max_tokens})"
            self._finish(job, OutOfTokens(message))
        else:
            return False
        return True

    def _choose(self, job: Job, logits: NDArray[np.float32]) -> int:
        allowed = job.guide.allowed()
        if allowed.size == 0:
            raise ModelError("the schema allows no token here", advice="Report this: it is a defect of the guide.")
        scores = logits[allowed]
        if job.keep_steps:
            job.steps.append(Step.of(len(job.reply), allowed, scores))
        if job.sampling.temperature <= 0:
            return int(allowed[int(scores.argmax())])
        weights = np.exp((scores - scores.max()).astype(np.float64) / job.sampling.temperature)
        return int(job.random.choice(allowed, p=weights / weights.sum()))

    def _finish(self, job: Job, error: ModelError | None) -> None:
        if job in self._running:
            self._release(job)
        else:
            self._waiting.remove(job)
        self.counters.finished += 1
        job.deliver(job, error)
