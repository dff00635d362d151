"""Continuous batching over one runtime: requests join and leave a running batch, shared prefixes are read once.

Each step evaluates one batch: the next tokens of every reply in progress, then prompt tokens up to the batch size.
Tokens that the schema fixes are not sampled; they ride along in the next batch. A finished prompt stays in its slot
until the space is needed (least recently used first), so later requests that begin alike start where it ends.
A request whose beginning is just being read by another waits for it instead of reading it twice.
Where a batch has room, text that a reply seems to copy from its prompt is evaluated ahead (models.jobs).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Executor
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from models.errors import ModelError, OutOfTokens, PromptTooLong, TimedOut
from models.jobs import Counters, Job
from models.prefix_cache import Evaluator, PrefixCache
from models.prefix_store import PrefixStore
from models.sequences import Slot, SlotTable

REPLY_RESERVE = 64
"""Cells left free per running reply when another is admitted: pushing back a request that was read is dear."""

FIRST_RUNNING = 2
"""Jobs that run at once while nothing of a long queue has been answered: with more, no reply ends before all are read.
"""

LONG_QUEUE_BATCHES = 64
"""A queue is long from so many batches of unread tokens on: there a few replies written beside few cost little."""

FIRST_REPLY_TOKENS = 200
"""After so many tokens of a reply nothing waits for it any more: it may go round in circles."""

LOOPS = "Ask for less per call, or say in the prompt how many items there may be."

DRAFT_BATCH = 16
"""Guesses fill a batch up to so many tokens: up to there another token costs little (docs/decisions/0014)."""


class Scheduler:
    """Run jobs on an evaluator. Single-threaded: `submit` and `step` are called by the same thread."""

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        cells: int,
        tile: int = 1,
        slots: int,
        running: int,
        batch_tokens: int,
        threads: Executor | None = None,
        shelf: PrefixStore | None = None,
    ) -> None:
        """`slots` includes idle ones kept for reuse; at most `running` of them work at once.

        `tile`: how many of the `cells` the evaluator reads at once (models.sequences.SlotTable).

        Masks are worked out on `threads` while the model runs, if given.
        """
        self._evaluator = evaluator
        self._cache = PrefixCache(evaluator, slots=slots, cells=cells, tile=tile, shelf=shelf)
        self._table = self._cache.table
        self._most_running = min(running, slots)
        self._batch_tokens = batch_tokens
        self._threads = threads
        self._line = WaitingLine()
        self._running: list[Job] = []
        self._full = False  # the best waiting job did not fit, and nothing was released since
        self._has_answered = False  # since there was last nothing to do
        self._is_first = False  # a long queue waits, and nothing of it has been answered
        self.counters = Counters()

    @property
    def idle(self) -> bool:
        """Say whether nothing waits or runs."""
        return not self._line.jobs and not self._running

    @property
    def in_progress(self) -> tuple[int, int]:
        """Count the tokens read of the running prompts (not those that were there already) and written after them."""
        read = written = 0
        for job in tuple(self._running):  # asked from other threads, too
            slot = job.slot
            if slot is not None:
                read += max(0, min(slot.evaluated, int(job.prompt.size)) - job.reused)
                written += len(job.reply)
        return read, written

    def submit(self, job: Job) -> None:
        """Queue a job. Its first tokens, or its whole reply, may already be forced by the schema."""
        self._full = False
        self._line.jobs.append(job)
        try:
            self._check_size(job)
            job.write_forced(job.guide.take_forced())
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
            )

    def fail_all(self, error: ModelError) -> None:
        """Deliver `error` to every job and forget all cached prefixes (the runtime's state is unknown)."""
        jobs = [*self._running, *self._line.jobs]
        self._running.clear()
        self._line.jobs.clear()
        self._full = False
        try:
            for slot in self._table.slots:
                slot.busy = False
                self._cache.clear(slot)
        finally:
            for job in jobs:
                job.slot = None
                job.deliver(job, error)

    def shelve(self) -> None:
        """Keep on disk what is worth it of the idle slots, if there is a shelf."""
        self._cache.shelve_all()

    def step(self) -> None:
        """Admit what fits, evaluate one batch, and choose the next tokens of each reply that got its logits."""
        self._drop_cancelled()
        self._end_late()
        self._admit()
        batch, waiting_for_logits = self._fill_batch()
        if not batch:
            return
        logits = iter(self._evaluator.evaluate_tokens(batch))
        self.counters.evaluations += 1
        for job in waiting_for_logits:
            self._advance(job, [next(logits) for _ in range(1 + len(job.draft))])

    # -- admission ---------------------------------------------------------------------------------------------

    def _drop_cancelled(self) -> None:
        for job in [j for j in self._running if j.cancelled]:
            self._release(job)
        if self._line.drop_cancelled():
            self._full = False

    def _end_late(self) -> None:
        now = time.perf_counter()
        for job in [j for j in (*self._running, *self._line.jobs) if j.is_late(now)]:
            self._full = False
            self._finish(job, TimedOut(seconds=job.timeout_seconds or 0))

    def _admit(self) -> None:
        """Start waiting jobs, but none while the running ones have a whole batch left to read.

        To start it would not read it sooner. It would take a slot from prefixes that are still wanted, and choose
        before the jobs are known that will follow on what is being read (the questions about a document just listed).
        Of a long queue the shortest few are answered first, so that a user sees rows soon: beside one that came alone
        and is long, too.
        """
        while self._line.jobs and not self._full:
            self._is_first = not self._has_answered and self._queue_is_long() and not self._writes_long()
            most = min(FIRST_RUNNING, self._most_running) if self._is_first else self._most_running
            has_enough = self._unread_tokens() >= self._batch_tokens and not self._is_first
            if len(self._running) >= most or has_enough:
                return
            choice = self._line.choose(self._table, shortest=self._is_first)
            if choice is None:
                return
            job, source, length = choice
            self._full = not self._start(job, source, length)

    def _queue_is_long(self) -> bool:
        waiting = sum(int(job.prompt.size) for job in self._line.jobs)
        return waiting >= LONG_QUEUE_BATCHES * self._batch_tokens

    def _writes_long(self) -> bool:
        return any(len(job.reply) > FIRST_REPLY_TOKENS for job in self._running)

    def _start(self, job: Job, source: Slot | None, length: int) -> bool:
        """Give the job a slot; False if there is no room while others run."""
        count, promised = job.prompt.size + len(job.reply), self._promised_tiles()
        if not self._cache.make_room(self._table.tiles(count - length) + promised, keep=source):
            source, length = None, 0  # it may itself be in the way
            if not self._cache.make_room(self._table.tiles(count) + promised, keep=None):
                return False
        slot = self._cache.take_slot(source, length)
        if slot is None:
            return False
        length = self._cache.fetch(slot, job.prompt)
        self._line.take(job)
        slot.tokens = np.concatenate([job.prompt, np.asarray(job.reply, np.int32)])
        slot.shared = max(slot.shared, job.shared_tokens)
        slot.busy = True
        job.slot = slot
        if job.started is None:
            job.started = time.perf_counter()
            job.reused = length
        self._running.append(job)
        if job.mask is None:
            self._work_out_mask(job)
        return True

    def _unread_tokens(self) -> int:
        return sum(j.slot.tokens.size - j.slot.evaluated for j in self._running if j.slot is not None)

    def _promised_tiles(self) -> int:
        """Count the tiles that running jobs have yet to fill, with a reserve for each reply and the new job's.

        0 when nothing runs: a job alone always fits (`_check_size`).
        """
        if not self._running:
            return 0
        ahead = [
            (slot, int(slot.tokens.size) - slot.evaluated + min(REPLY_RESERVE, j.sampling.max_tokens - len(j.reply)))
            for j in self._running
            if (slot := j.slot) is not None
        ]
        return sum(self._table.tiles_for(slot, count) for slot, count in ahead) + self._table.tiles(REPLY_RESERVE)

    # -- one batch -----------------------------------------------------------------------------------------------

    def _fill_batch(self) -> tuple[list[tuple[int, int, int, bool]], list[Job]]:
        """Lay out the next batch: (token, position, sequence, wants logits) items, and the jobs that get logits.

        A job gets logits for its last token and for each token of its draft.
        """
        batch: list[tuple[int, int, int, bool]] = []
        ready: list[Job] = []
        plan = self._plan_batch()
        for _, slot, count in plan:
            self._table.extend(slot, count)
        room = DRAFT_BATCH - sum(count for _, _, count in plan)
        for job, slot, count in plan:
            first, last = slot.evaluated - count, slot.evaluated - 1
            complete = last + 1 == slot.tokens.size
            batch.extend((int(slot.tokens[i]), i, slot.number, complete and i == last) for i in range(first, last + 1))
            self.counters.prompt += max(0, min(last + 1, job.prompt.size) - first)
            if complete:
                self._draft(job, slot, room)
                room -= len(job.draft)
                batch.extend((token, last + 1 + i, slot.number, True) for i, token in enumerate(job.draft))
                ready.append(job)
        return batch, ready

    def _draft(self, job: Job, slot: Slot, room: int) -> None:
        """Guess how the reply goes on, within `room` tokens."""
        # The last token of a reply is never evaluated, so a guess never reaches the limit.
        room = min(room, self._table.room(slot), job.sampling.max_tokens - len(job.reply) - 1)
        job.draft = job.guess(room) if room > 0 else []
        self._table.extend(slot, len(job.draft))
        self.counters.drafted += len(job.draft)

    def _plan_batch(self) -> list[tuple[Job, Slot, int]]:
        """Say how many tokens each job evaluates next; push back the youngest while the cells do not suffice."""
        while True:
            plan = self._share_batch()
            tiles = sum(self._table.tiles_for(slot, count) for _, slot, count in plan)
            if self._cache.make_room(tiles, keep=None) or len(self._running) == 1:
                return plan
            self._push_back(self._running[-1])

    def _share_batch(self) -> list[tuple[Job, Slot, int]]:
        """Share the batch out: replies first, for each is one step nearer its end, then prompts in order of arrival.

        A batch is filled with as much of the prompts as there is room for: a step costs as much as 25 tokens before its
        first one, so few large batches are read faster than many small ones, and replies begin sooner (0014).
        """
        jobs = [(j, j.slot) for j in self._running if j.slot is not None]
        replying = [(j, s) for j, s in jobs if s.evaluated >= j.prompt.size]
        reading = [(j, s) for j, s in jobs if s.evaluated < j.prompt.size]
        if self._is_first:  # a step beside a full batch takes some twenty times as long as one alone
            reading = [] if replying else sorted(reading, key=lambda pair: pair[1].tokens.size - pair[1].evaluated)
        plan: list[tuple[Job, Slot, int]] = []
        room = self._batch_tokens
        for job, slot in (*replying, *reading):
            if (count := min(int(slot.tokens.size) - slot.evaluated, room)) > 0:
                plan.append((job, slot, count))
                room -= count
        return plan

    def _push_back(self, job: Job) -> None:
        """Return a running job to the head of the queue; what it wrote is kept and read again later."""
        self._release(job)
        self._line.jobs.appendleft(job)

    def _release(self, job: Job) -> None:
        """Take the job off its slot; prompt and reply stay cached there, without guesses."""
        self._full = False
        slot = job.slot
        if slot is not None:  # while it still runs: where the runtime refuses, it is failed with the others
            self._cache.cut(slot, min(slot.evaluated, int(slot.tokens.size)))
        self._running.remove(job)
        if slot is None:
            return
        slot.prompt = min(slot.evaluated, int(job.prompt.size))
        slot.busy = False
        job.slot = None

    # -- replies -------------------------------------------------------------------------------------------------

    def _advance(self, job: Job, logits: Sequence[NDArray[np.float32]]) -> None:
        """Choose one token, and further ones as far as they are those of the draft; `logits` are of all of them."""
        draft, job.draft = job.draft, []
        right = 0
        try:
            while True:
                new = self._choose(job, logits[right])
                agree = _agreement(new, draft[right:])
                right += agree
                if self._end_if_complete(job, job.guide.finished):
                    break
                self._go_on(job, new, len(draft) - right, agree)
                if agree < len(new):
                    break
        except ModelError as error:
            self._finish(job, error)
        if draft:
            job.drafter.learn(len(draft), right)
            self.counters.accepted += right

    def _choose(self, job: Job, logits: NDArray[np.float32]) -> list[int]:
        """Choose one token, take all tokens the schema forces after it, and write them."""
        token = job.choose(logits)
        job.guide.accept(token)
        forced = job.guide.take_forced()
        job.sampled += 1
        job.reply.append(token)
        job.write_forced(forced)
        return [token, *forced]

    def _go_on(self, job: Job, new: list[int], draft_left: int, agree: int) -> None:
        """Plan the new tokens; those of the draft are evaluated, and what is left of it goes if they part from it."""
        slot = job.slot
        if slot is None:
            return
        slot.tokens = np.concatenate([slot.tokens, np.asarray(new, np.int32)])
        if agree < len(new):
            self._drop_draft(slot, draft_left)
            self._work_out_mask(job)

    def _work_out_mask(self, job: Job) -> None:
        """Begin to work out the mask of the next token, while the model runs."""
        if self._threads is not None:
            job.mask = self._threads.submit(job.guide.allowed)

    def _drop_draft(self, slot: Slot, count: int) -> None:
        """Forget the last `count` evaluated tokens of a slot: guesses that were wrong."""
        if count:
            self._evaluator.forget(slot.number, slot.evaluated - count)
            self._table.withdraw(slot, count)

    def _end_if_complete(self, job: Job, finished: bool) -> bool:
        """Deliver the reply if it is complete or at its limit, and say whether that was so."""
        if finished:
            self._finish(job, None)
        elif job.is_looping():
            if not self._begin_again(job):
                message = f"the reply repeats itself after {len(job.reply)} tokens"
                self._finish(job, OutOfTokens(message, advice=LOOPS, tries=job.tries, is_final=True))
        elif len(job.reply) >= job.sampling.max_tokens:
            if not (job.tries == 1 and job.ends_in_loop() and self._begin_again(job)):
                message = f"the reply was not complete after {len(job.reply)} tokens (limit {job.sampling.max_tokens})"
                self._finish(job, OutOfTokens(message, tries=job.tries))
        else:
            return False
        return True

    def _begin_again(self, job: Job) -> bool:
        """Write another reply to a prompt that is read already, if the job allows it; say whether that was done."""
        slot = job.slot
        if slot is None or not job.begin_again():
            return False
        job.write_forced(job.guide.take_forced())
        self._cache.cut(slot, job.prompt.size - 1)  # its last token is evaluated again, for its logits
        slot.tokens = np.concatenate([job.prompt, np.asarray(job.reply, np.int32)])
        self._work_out_mask(job)
        return True

    def _finish(self, job: Job, error: ModelError | None) -> None:
        if job in self._running:
            self._release(job)
        else:
            self._line.jobs.remove(job)
        self._has_answered = not self.idle
        job.deliver(job, error)


def _agreement(new: Sequence[int], draft: Sequence[int]) -> int:
    """Count the leading tokens of `new` that the draft begins with."""
    for i, (token, other) in enumerate(zip(new, draft, strict=False)):
        if token != other:
            return i
    return min(len(new), len(draft))


def _is_better(job: Job, length: int, best: tuple[Job, Slot | None, int], *, shortest: bool) -> bool:
    if shortest:
        return job.prompt.size - length < best[0].prompt.size - best[2]
    return length > best[2]


WORTH_WAITING_TOKENS = 32
"""A request waits for another's prefill when it would save at least so many tokens."""

LOOK_AHEAD = 64
"""How many waiting requests are compared for the longest shared prefix."""

MOST_OVERTAKEN = 256
"""A request that so many later ones overtook starts next, whatever prefix others share: none waits for ever."""


class WaitingLine:
    """Jobs in order of arrival."""

    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()

    def choose(self, table: SlotTable, *, shortest: bool = False) -> tuple[Job, Slot | None, int] | None:
        """Pick the job with the longest cached prefix, or with the least to read if `shortest`.

        None if all had better wait for a running prefill.
        """
        best: tuple[Job, Slot | None, int] | None = None
        for job in islice(self.jobs, LOOK_AHEAD):
            source, length, promised = table.best_prefix(job.prompt)
            # The last prompt token is always evaluated anew: its logits begin the reply.
            length, promised = min(length, job.prompt.size - 1), min(promised, job.prompt.size - 1)
            if job.overtaken >= MOST_OVERTAKEN:
                return job, source, length
            if promised - length >= WORTH_WAITING_TOKENS:
                continue
            if best is None or _is_better(job, length, best, shortest=shortest):
                best = job, source, length
        return best

    def take(self, job: Job) -> None:
        """Remove a job that starts, counting it against those it overtook."""
        for other in self.jobs:
            if other is job:
                break
            other.overtaken += 1
        self.jobs.remove(job)

    def drop_cancelled(self) -> bool:
        """Forget cancelled jobs; say whether there were any."""
        if not any(job.cancelled for job in self.jobs):
            return False
        self.jobs = deque(job for job in self.jobs if not job.cancelled)
        return True
