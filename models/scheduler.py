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
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError, OutOfTokens
from models.guides import Guide
from models.protocol import Sampling
from models.sequences import Slot, SlotTable

WORTH_WAITING_TOKENS = 32
"""A request waits for another's prefill when it would save at least so many tokens."""

LOOK_AHEAD = 64
"""How many waiting requests are compared for the longest shared prefix."""


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
    """One request on its way: its prompt, its guide and what has been written of the reply."""

    prompt: NDArray[np.int32]
    guide: Guide
    sampling: Sampling
    seed: int
    deliver: Callable[[Job, ModelError | None], None]
    submitted: float = field(default_factory=time.perf_counter)
    started: float | None = None
    reply: list[int] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)
    slot: Slot | None = None
    reused: int = 0
    sampled: int = 0
    forced: int = 0
    cancelled: bool = False
    _random: np.random.Generator | None = None

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
        self.counters = Counters()

    @property
    def idle(self) -> bool:
        """Say whether nothing waits or runs."""
        return not self._waiting and not self._running

    def submit(self, job: Job) -> None:
        """Queue a job. Its first tokens may already be forced by the schema."""
        job.pending = job.guide.take_forced()
        job.reply.extend(job.pending)
        job.forced += len(job.pending)
        self._waiting.append(job)

    def fail_all(self, error: ModelError) -> None:
        """Deliver `error` to every job and forget all cached prefixes (the runtime's state is unknown)."""
        jobs = [*self._running, *self._waiting]
        self._running.clear()
        self._waiting.clear()
        for slot in self._table.slots:
            self._table.truncate(slot, 0)
            slot.busy = False
        for job in jobs:
            job.deliver(job, error)

    def step(self) -> None:
        """Admit what fits, evaluate one batch, and choose the next token of each reply that got its logits."""
        self._drop_cancelled()
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

    def _admit(self) -> None:
        while self._waiting and len(self._running) < self._most_running:
            choice = self._choose_waiting()
            if choice is None:
                return
            job, source, length = choice
            if not self._start(job, source, length):
                return

    def _choose_waiting(self) -> tuple[Job, Slot | None, int] | None:
        """Pick the waiting job with the longest cached prefix; None if all had better wait for a running prefill."""
        best: tuple[Job, Slot | None, int] | None = None
        for job in list(self._waiting)[:LOOK_AHEAD]:
            source, length, promised = self._table.best_prefix(job.prompt)
            # The last prompt token is always evaluated anew: its logits begin the reply.
            length, promised = min(length, job.prompt.size - 1), min(promised, job.prompt.size - 1)
            if promised - length >= WORTH_WAITING_TOKENS:
                continue
            if best is None or length > best[2]:
                best = job, source, length
        return best

    def _start(self, job: Job, source: Slot | None, length: int) -> bool:
        """Give the job a slot; False if there is no room while others run."""
        needed = job.prompt.size + len(job.reply) - length + 1
        if not self._make_room(needed, keep=source):
            if self._running:
                return False
            source, length = None, 0
            self._make_room(job.prompt.size + len(job.reply) + 1, keep=None)
        slot = self._empty_slot(keep=source)
        if slot is None:
            return False
        if source is not None and length:
            self._table.share(source, slot, length)
            self._evaluator.copy_prefix(source.number, slot.number, length)
        self._waiting.remove(job)
        slot.tokens = np.concatenate([job.prompt, np.asarray(job.reply, np.int32)])
        slot.busy = True
        job.slot = slot
        job.pending = []
        if job.started is None:
            job.started = time.perf_counter()
            job.reused = length
        self.counters.reused += length
        self._running.append(job)
        return True

    def _empty_slot(self, keep: Slot | None) -> Slot | None:
        slot = self._table.empty_slot()
        if slot is None and (victim := self._table.oldest_idle(keep)) is not None:
            self._evict(victim)
            slot = victim
        return slot

    def _make_room(self, cells: int, keep: Slot | None) -> bool:
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
        new = [token, *forced]
        job.sampled += 1
        job.forced += len(forced)
        self.counters.sampled += 1
        self.counters.forced += len(forced)
        job.reply.extend(new)
        if finished:
            self._finish(job, None)
        elif len(job.reply) >= job.sampling.max_tokens:
            message = f"the reply was not complete after {len(job.reply)} tokens (limit {job.sampling.max_tokens})"
            self._finish(job, OutOfTokens(message))
        elif job.slot is not None:
            job.slot.tokens = np.concatenate([job.slot.tokens, np.asarray(new, np.int32)])

    def _choose(self, job: Job, logits: NDArray[np.float32]) -> int:
        allowed = job.guide.allowed()
        if allowed.size == 0:
            raise ModelError("the schema allows no token here", advice="Report this: it is a defect of the guide.")
        scores = logits[allowed]
        if job.sampling.temperature <= 0:
            return int(allowed[int(scores.argmax())])
        weights = np.exp((scores - scores.max()).astype(np.float64) / job.sampling.temperature)
        return int(job.random.choice(allowed, p=weights / weights.sum()))

    def _finish(self, job: Job, error: ModelError | None) -> None:
        self._release(job)
        self.counters.finished += 1
        job.deliver(job, error)
