"""The scheduler on an evaluator whose answers depend on every token a sequence holds."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from token_masks import mask_of

from models.errors import InvalidSchema, ModelCrashed, ModelError, OutOfTokens, PromptTooLong, TimedOut
from models.guides import TokenMask
from models.jobs import LOOK_TOKENS, Job
from models.loops import LEAST_TOKENS, SECOND_TEMPERATURE
from models.protocol import Sampling
from models.scheduler import (
    DRAFT_BATCH,
    FIRST_REPLY_TOKENS,
    FIRST_RUNNING,
    LONG_QUEUE_BATCHES,
    MOST_OVERTAKEN,
    WORTH_WAITING_TOKENS,
    Scheduler,
)

VOCABULARY = 17


class HistoryEvaluator:
    """Keep, per sequence, the token at each position, and answer by all of them.

    It counts the cells that distinct sequences hold as a unified cache would, and refuses what such a cache refuses:
    more cells than there are, a position that does not follow the sequence's last, a copy into a used sequence.
    """

    def __init__(self, cells: int) -> None:
        self.capacity = cells
        self.sequences: dict[int, list[tuple[int, int]]] = {}  # (token, cell) by position
        self.next_cell = 0
        self.most_used = 0
        self.evaluated = 0
        self.crash_at: int | None = None
        self.calls = 0

    def used(self) -> int:
        return len({cell for held in self.sequences.values() for _, cell in held})

    def evaluate_tokens(self, items: Sequence[tuple[int, int, int, bool]]) -> list[NDArray[np.float32]]:
        self.calls += 1
        if self.calls == self.crash_at:
            raise ModelCrashed("told to")
        logits = []
        for token, position, sequence, wanted in items:
            held = self.sequences.setdefault(sequence, [])
            assert position == len(held), "a token must follow the last one of its sequence"
            held.append((token, self.next_cell))
            self.next_cell += 1
            if wanted:
                logits.append(self.answer([t for t, _ in held]))
        self.evaluated += len(items)
        self.most_used = max(self.most_used, self.used())
        assert self.used() <= self.capacity, "the cache is full"
        return logits

    def answer(self, history: Sequence[int]) -> NDArray[np.float32]:
        return logits_after(history)

    def copy_prefix(self, source: int, target: int, length: int) -> None:
        assert not self.sequences.get(target), "the target still holds cells"
        assert len(self.sequences[source]) >= length
        self.sequences[target] = self.sequences[source][:length]

    def forget(self, sequence: int, start: int = 0) -> None:
        del self.sequences.setdefault(sequence, [])[start:]


class RefusingEvaluator(HistoryEvaluator):
    """Cuts no sequence but to nothing, as a runtime whose model keeps a running state."""

    def forget(self, sequence: int, start: int = 0) -> None:
        if start:
            raise ModelCrashed("could not cut")
        super().forget(sequence)


class TiledEvaluator(HistoryEvaluator):
    """Places cells as packaging/llama_source/cells.inc: in the sequence's last tile, else in an empty one."""

    TILE = 32

    def evaluate_tokens(self, items: Sequence[tuple[int, int, int, bool]]) -> list[NDArray[np.float32]]:
        logits = []
        for item in items:
            held = self.sequences.setdefault(item[2], [])
            taken = {cell for tokens in self.sequences.values() for _, cell in tokens}
            self.next_cell = self.free_cell(held[-1][1] + 1 if held else 0, taken)
            logits += super().evaluate_tokens([item])
        return logits

    def free_cell(self, behind: int, taken: set[int]) -> int:
        end = -(-behind // self.TILE) * self.TILE
        used = {cell // self.TILE for cell in taken}
        free = [cell for cell in range(behind, end) if cell not in taken]
        empty = [tile for tile in range(self.capacity // self.TILE) if tile not in used]
        assert free or empty, "a sequence must go on in a tile that others use"
        return free[0] if free else next((t for t in empty if t * self.TILE >= end), empty[0]) * self.TILE


def logits_after(history: Sequence[int]) -> NDArray[np.float32]:
    seed = zlib.crc32(np.asarray(history, np.int32).tobytes())
    return np.random.default_rng(seed).normal(size=VOCABULARY).astype(np.float32)


class CopyingEvaluator(HistoryEvaluator):
    """Goes on as the history did after its last two tokens were last there, but for every `slip`-th token."""

    def __init__(self, cells: int, slip: int) -> None:
        super().__init__(cells)
        self.slip = slip

    def answer(self, history: Sequence[int]) -> NDArray[np.float32]:
        logits = logits_after(history)
        copied = copied_token(history)
        if copied is not None and len(history) % self.slip:
            logits[copied] += 100
        return logits


def copied_token(history: Sequence[int]) -> int | None:
    for at in range(len(history) - 3, -1, -1):
        if list(history[at : at + 2]) == list(history[-2:]):
            return history[at + 2]
    return None


@dataclass
class LengthGuide:
    """Allow all but token 0 until `length` tokens are written; after token 1, tokens 2 and 3 are forced."""

    length: int
    first: tuple[int, ...] = ()
    fails_at: int | None = None
    written: list[int] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        return len(self.written) >= self.length

    def allowed(self) -> TokenMask:
        return mask_of(range(1, VOCABULARY), VOCABULARY)

    def accept(self, token: int) -> None:
        self.written.append(token)
        if self.fails_at is not None and len(self.written) >= self.fails_at:
            raise InvalidSchema("told to")

    def take_forced(self) -> list[int]:
        forced = list(self.first) if not self.written else [2, 3] if self.written[-1] == 1 else []
        self.written.extend(forced)
        return forced

    def keep_valid(self, tokens: list[int]) -> list[int]:
        return tokens[: tokens.index(0)] if 0 in tokens else tokens


@dataclass
class Outcome:
    job: Job
    error: ModelError | None


@dataclass
class Bench:
    cells: int = 4096
    slots: int = 40
    running: int = 16
    batch_tokens: int = 64
    copies: int = 0
    refuses: bool = False
    tile: int = 1
    threads: Executor | None = None
    outcomes: list[Outcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.evaluator = CopyingEvaluator(self.cells, self.copies) if self.copies else HistoryEvaluator(self.cells)
        if self.refuses:
            self.evaluator = RefusingEvaluator(self.cells)
        if self.tile > 1:
            self.evaluator = TiledEvaluator(self.cells)
        self.scheduler = Scheduler(
            self.evaluator,
            cells=self.cells,
            tile=self.tile,
            slots=self.slots,
            running=self.running,
            batch_tokens=self.batch_tokens,
            threads=self.threads,
        )

    def job(
        self,
        prompt: Sequence[int],
        length: int = 8,
        *,
        max_tokens: int = 40,
        temperature: float = 0.0,
        seed: int = 0,
        guide: LengthGuide | None = None,
    ) -> Job:
        return Job(
            prompt=np.asarray(prompt, np.int32),
            guide=guide or LengthGuide(length),
            sampling=Sampling(temperature=temperature, max_tokens=max_tokens),
            seed=seed,
            deliver=lambda job, error: self.outcomes.append(Outcome(job, error)),
        )

    def submit(self, *jobs: Job) -> list[Job]:
        for job in jobs:
            self.scheduler.submit(job)
        return list(jobs)

    def run(self, most_steps: int = 20_000) -> None:
        for _ in range(most_steps):
            if self.scheduler.idle:
                return
            self.scheduler.step()
            assert self.cells_held() == self.evaluator.used()
        raise AssertionError("the scheduler did not come to an end")

    def cells_held(self) -> int:
        return len({cell for slot in self.scheduler._table.slots for cell in slot.cells})


def expected_reply(prompt: Sequence[int], length: int, copies: int = 0) -> list[int]:
    """Greedy decoding one token at a time, written down without batches, slots or caches; `copies` as of a Bench."""
    reply: list[int] = []
    answer = CopyingEvaluator(0, copies).answer if copies else logits_after
    while len(reply) < length:
        token = int(answer([*prompt, *reply])[1:].argmax()) + 1
        reply.append(token)
        if token == 1:
            reply.extend([2, 3])
    return reply


def prompts_with_shared_beginnings(count: int) -> list[list[int]]:
    random = np.random.default_rng(5)
    documents = [random.integers(2, VOCABULARY, size=size).tolist() for size in (90, 60, 35)]
    return [documents[i % 3] + random.integers(2, VOCABULARY, size=3 + i % 11).tolist() for i in range(count)]


@pytest.mark.parametrize("running", [1, 2, 16])
@pytest.mark.parametrize(
    ("cells", "slots", "batch_tokens"),
    [(4096, 40, 64), (4096, 16, 512), (150, 40, 64), (150, 3, 7), (120, 40, 5), (120, 1, 64), (400, 20, 1)],
)
def test_replies_do_not_depend_on_batching_sharing_or_eviction(
    running: int, cells: int, slots: int, batch_tokens: int
) -> None:
    bench = Bench(cells=cells, slots=slots, running=running, batch_tokens=batch_tokens)
    prompts = prompts_with_shared_beginnings(30)
    jobs = bench.submit(*(bench.job(p, 1 + i % 9, max_tokens=15) for i, p in enumerate(prompts)))
    bench.run()
    assert len(bench.outcomes) == 30
    assert all(o.error is None for o in bench.outcomes)
    assert [j.reply for j in jobs] == [expected_reply(p, 1 + i % 9) for i, p in enumerate(prompts)]
    assert bench.evaluator.most_used <= cells


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    cells=st.integers(60, 300),
    slots=st.integers(1, 12),
    running=st.integers(1, 12),
    batch_tokens=st.integers(1, 80),
    count=st.integers(1, 25),
    arrive_late=st.booleans(),
    copies=st.sampled_from([0, 2, 7, 1000]),
)
def test_any_sizes_give_the_same_replies_within_capacity(
    seed: int, cells: int, slots: int, running: int, batch_tokens: int, count: int, arrive_late: bool, copies: int
) -> None:
    random = np.random.default_rng(seed)
    bench = Bench(cells=cells, slots=slots, running=running, batch_tokens=batch_tokens, copies=copies)
    stem = random.integers(2, 5, size=40).tolist()
    work = []
    for _ in range(count):
        prompt = [*stem[: random.integers(0, 41)], *random.integers(2, 5, size=random.integers(1, 6)).tolist()]
        length = int(random.integers(1, 12))
        job = bench.job(prompt, length, max_tokens=15)
        work.append((job, prompt, length))
        bench.submit(job)
        if arrive_late:
            bench.scheduler.step()
    bench.run()
    for job, prompt, length in work:
        assert job.reply == expected_reply(prompt, length, copies)
    assert len(bench.outcomes) == count


def test_a_shared_beginning_is_read_once() -> None:
    bench = Bench()
    stem = [2 + i % 13 for i in range(192)]  # three whole batches
    jobs = bench.submit(*(bench.job([*stem, i + 2, 5], 3) for i in range(10)))
    bench.run()
    # 194 prompt tokens for the first; each other begins with the 192 of the stem in the cache.
    assert bench.scheduler.counters.prompt == 194 + 9 * 2
    assert sum(job.reused for job in jobs) == 9 * 192


def test_a_request_waits_for_a_running_prefill_that_saves_enough() -> None:
    bench = Bench(batch_tokens=16)
    stem = [2 + i % 13 for i in range(WORTH_WAITING_TOKENS + 32)]
    first, second = bench.submit(bench.job([*stem, 3], 3), bench.job([*stem, 4], 3))
    bench.scheduler.step()
    assert first.started is not None
    assert second.started is None
    bench.run()
    assert second.reused >= WORTH_WAITING_TOKENS


def test_the_same_prompt_again_evaluates_its_last_token_only() -> None:
    bench = Bench()
    first = bench.submit(bench.job([5, 6, 7, 8], 4))[0]
    bench.run()
    again = bench.submit(bench.job([5, 6, 7, 8], 4))[0]
    bench.run()
    assert again.reused == 3
    assert again.reply == first.reply


def test_a_pool_of_one_slot_serves_a_prompt_that_begins_like_the_cached_one() -> None:
    bench = Bench(slots=1, running=1)
    jobs = bench.submit(bench.job([5, 6, 7, 8, 9], 4), bench.job([5, 6, 7, 3], 4))
    bench.run()
    assert [j.reply for j in jobs] == [expected_reply([5, 6, 7, 8, 9], 4), expected_reply([5, 6, 7, 3], 4)]
    assert jobs[1].reused == 3


def test_a_prompt_and_reply_that_fill_the_context_exactly_fit() -> None:
    bench = Bench(cells=50)
    prompt = [2 + i % 13 for i in range(40)]
    exact = bench.submit(bench.job(prompt, 99, max_tokens=11))[0]  # the eleventh token is written, never evaluated
    bench.run()
    assert isinstance(bench.outcomes[0].error, OutOfTokens)
    assert len(exact.reply) >= 11
    bench.submit(bench.job(prompt, 99, max_tokens=12))
    error = bench.outcomes[1].error
    assert isinstance(error, PromptTooLong)
    assert (error.prompt_tokens, error.reply_tokens, error.context_tokens) == (40, 12, 50)


def test_an_unreachable_reserve_does_not_stop_a_lone_job() -> None:
    bench = Bench(cells=30)
    prompts = [[2 + (i + k) % 13 for i in range(26)] for k in range(4)]
    jobs = bench.submit(*(bench.job(p, 3, max_tokens=5) for p in prompts))
    bench.run()
    assert [j.reply for j in jobs] == [expected_reply(p, 3) for p in prompts]


def test_an_empty_prompt_is_refused() -> None:
    bench = Bench()
    bench.submit(bench.job([]))
    assert "no tokens" in str(bench.outcomes[0].error)
    assert bench.scheduler.idle


def test_a_reply_that_the_schema_fixes_wholly_needs_no_evaluation() -> None:
    bench = Bench()
    job = bench.submit(bench.job([5, 6], guide=LengthGuide(3, first=(7, 8, 9))))[0]
    assert [o.error for o in bench.outcomes] == [None]
    assert (job.reply, job.forced, job.sampled) == ([7, 8, 9], 3, 0)
    assert bench.scheduler.idle
    assert bench.evaluator.calls == 0


def test_forced_tokens_beyond_the_limit_are_out_of_tokens() -> None:
    bench = Bench()
    bench.submit(bench.job([5, 6], max_tokens=4, guide=LengthGuide(30, first=(7,) * 9)))
    assert isinstance(bench.outcomes[0].error, OutOfTokens)
    assert bench.scheduler.idle


def test_the_token_limit_is_an_error_that_names_it() -> None:
    bench = Bench()
    job = bench.submit(bench.job([5, 6, 7], 100, max_tokens=6))[0]
    bench.run()
    error = bench.outcomes[0].error
    assert isinstance(error, OutOfTokens)
    assert "limit 6" in str(error)
    assert job.reply == expected_reply([5, 6, 7], 6)[: len(job.reply)]


def test_a_reply_that_goes_round_in_circles_ends_before_its_limit_and_the_others_do_not() -> None:
    bench = Bench(copies=100_000)  # what was written is written again, and nothing else
    looping = bench.job([5, 6, 7, 5, 6], 2000, max_tokens=2000)
    short = bench.job([5, 6, 7, 5, 6], 30)
    bench.submit(looping, short)
    bench.run()
    ends = {outcome.job: outcome.error for outcome in bench.outcomes}
    assert "repeats itself" in str(ends[looping])
    assert LEAST_TOKENS <= len(looping.reply) < LEAST_TOKENS + 2 * LOOK_TOKENS
    assert ends[short] is None


def test_a_reply_that_goes_round_in_circles_is_begun_again_without_reading_its_prompt_again() -> None:
    bench = Bench(copies=100_000)
    prompt = [5, 6, 7, 5, 6]
    job = bench.job(prompt, 2000, max_tokens=2000)
    job.new_guide = lambda: LengthGuide(40)  # the second reply is one of 40 tokens
    others = bench.submit(job, bench.job([8, 9, 8, 9], 3))
    bench.run()
    assert [outcome.error for outcome in bench.outcomes] == [None, None]
    assert len(job.reply) == 40
    assert (job.tries, job.seed, job.sampling.temperature) == (2, 1, SECOND_TEMPERATURE)
    written = job.sampled + job.forced
    assert written >= LEAST_TOKENS + 40
    # Besides what was written and guessed, each prompt is read once, and the last token of one a second time.
    assert bench.scheduler.counters.prompt == len(prompt) + 1 + others[1].prompt.size
    assert [other.reused for other in others] == [0, 0]


def test_a_second_reply_in_circles_is_the_last() -> None:
    bench = Bench(copies=100_000)
    job = bench.job([5, 6, 7, 5, 6], 2000, max_tokens=2000)
    job.new_guide = lambda: LengthGuide(2000)
    bench.submit(job)
    bench.run()
    (outcome,) = bench.outcomes
    assert isinstance(outcome.error, OutOfTokens)
    assert (outcome.error.tries, outcome.error.is_final) == (2, True)


def test_a_guide_that_fails_fails_its_job_alone() -> None:
    bench = Bench()
    bad = bench.job([5, 6], guide=LengthGuide(9, fails_at=2))
    good = bench.job([5, 7], 5)
    bench.submit(bad, good)
    bench.run()
    errors = {id(o.job): o.error for o in bench.outcomes}
    assert isinstance(errors[id(bad)], InvalidSchema)
    assert errors[id(good)] is None
    assert good.reply == expected_reply([5, 7], 5)


@pytest.mark.parametrize("cells", [4096, 150])
def test_cancelling_in_flight_leaves_the_others_replies_alone(cells: int) -> None:
    bench = Bench(cells=cells, running=6, batch_tokens=32)
    prompts = prompts_with_shared_beginnings(24)
    jobs = bench.submit(*(bench.job(p, 9, max_tokens=15) for p in prompts))
    for step in range(12):
        bench.scheduler.step()
        jobs[step * 2].cancelled = True
    bench.run()
    done = {id(o.job) for o in bench.outcomes}
    for job, prompt in zip(jobs, prompts, strict=True):
        if not job.cancelled:
            assert id(job) in done
            assert job.reply == expected_reply(prompt, 9)


def test_cancelling_everything_leaves_the_scheduler_idle() -> None:
    bench = Bench(running=2)
    jobs = bench.submit(*(bench.job([5, 6, i + 2], 9) for i in range(6)))
    bench.scheduler.step()
    for job in jobs:
        job.cancelled = True
    bench.scheduler.step()
    assert bench.scheduler.idle
    assert not bench.outcomes


def test_a_reply_that_takes_too_long_ends_alone_and_waiting_is_free() -> None:
    bench = Bench(running=1)
    late, waiting, other = (bench.job([5, 6, n], 9) for n in (2, 3, 4))
    late.timeout_seconds, waiting.timeout_seconds = 1e-9, 3600.0
    waiting.submitted -= 7200  # it has waited two hours for its turn
    bench.submit(late, waiting, other)
    bench.run()
    errors = {id(o.job): o.error for o in bench.outcomes}
    assert isinstance(errors[id(late)], TimedOut)
    assert len(late.reply) < 9
    assert errors[id(waiting)] is errors[id(other)] is None
    assert other.reply == expected_reply([5, 6, 4], 9)


def test_fail_all_delivers_to_each_job_once_and_starts_clean() -> None:
    bench = Bench(running=3)
    prompts = prompts_with_shared_beginnings(9)
    bench.submit(*(bench.job(p, 9) for p in prompts))
    for _ in range(4):
        bench.scheduler.step()
    before = len(bench.outcomes)
    bench.scheduler.fail_all(ModelCrashed("gone"))
    assert len(bench.outcomes) == 9
    assert all(str(o.error) == "gone" for o in bench.outcomes[before:])
    assert bench.scheduler.idle
    assert bench.evaluator.used() == 0, "stale cells would be read by the next prompt"
    again = bench.submit(*(bench.job(p, 9) for p in prompts))
    bench.run()
    assert [j.reply for j in again] == [expected_reply(p, 9) for p in prompts]
    assert again[0].reused == 0


def test_a_crash_in_mid_batch_and_fail_all_leave_no_stale_cells() -> None:
    bench = Bench(running=4, batch_tokens=32)
    prompts = prompts_with_shared_beginnings(8)
    bench.submit(*(bench.job(p, 9) for p in prompts))
    bench.evaluator.crash_at = 3
    with pytest.raises(ModelCrashed):
        bench.run()
    bench.scheduler.fail_all(ModelCrashed("told to"))
    assert len(bench.outcomes) == 8
    again = bench.submit(*(bench.job(p, 9) for p in prompts))
    bench.run()
    assert [j.reply for j in again] == [expected_reply(p, 9) for p in prompts]


def test_a_cut_that_is_refused_leaves_no_request_waiting() -> None:
    bench = Bench(running=2, refuses=True)
    bench.submit(*(bench.job(p, 9) for p in prompts_with_shared_beginnings(5)))
    for _ in range(1000):  # as the model's thread goes on after an error
        if bench.scheduler.idle:
            break
        try:
            bench.scheduler.step()
        except ModelCrashed as error:
            bench.scheduler.fail_all(error)
    assert [str(outcome.error) for outcome in bench.outcomes] == ["could not cut"] * 5


@pytest.mark.parametrize("running", [1, 16])
def test_a_seed_gives_its_reply_whatever_else_runs(running: int) -> None:
    prompts = prompts_with_shared_beginnings(12)
    crowd = Bench(cells=160, running=running)
    together = crowd.submit(*(crowd.job(p, 9, temperature=0.8, seed=i, max_tokens=15) for i, p in enumerate(prompts)))
    crowd.run()
    for i, prompt in enumerate(prompts):
        alone = Bench()
        job = alone.submit(alone.job(prompt, 9, temperature=0.8, seed=i, max_tokens=15))[0]
        alone.run()
        assert job.reply == together[i].reply


def test_other_seeds_give_other_replies() -> None:
    bench = Bench()
    jobs = bench.submit(*(bench.job([5, 6, 7], 12, temperature=1.0, seed=i) for i in range(5)))
    bench.run()
    assert len({tuple(j.reply) for j in jobs}) > 1


def test_a_request_that_others_overtake_is_not_left_waiting_for_ever() -> None:
    bench = Bench(running=1, slots=4, cells=400)
    stem = [2 + i % 13 for i in range(60)]
    bench.submit(bench.job([*stem, 2], 2))
    bench.scheduler.step()
    lonely = bench.submit(bench.job([16, 15, 14], 2))[0]
    for i in range(2 * MOST_OVERTAKEN):  # a crowd that always has the longer cached prefix
        bench.submit(bench.job([*stem, 3 + i % 13], 2))
    overtaken_by = 0
    while lonely.started is None:
        bench.scheduler.step()
        overtaken_by = len(bench.outcomes)
    assert overtaken_by <= MOST_OVERTAKEN + 2


def test_a_blocked_admission_keeps_the_idle_prefixes() -> None:
    """A request that cannot fit beside the running one must not throw the cache away in vain."""
    bench = Bench(cells=200, running=2)
    small = [2 + i % 13 for i in range(40)]
    bench.submit(bench.job([*small, 2], 1))
    bench.run()
    bench.submit(bench.job([16 - i % 13 for i in range(100)], 30, max_tokens=90))
    for _ in range(3):
        bench.scheduler.step()
    bench.submit(bench.job([9 + i % 3 for i in range(120)], 2, max_tokens=5))
    for _ in range(3):
        bench.scheduler.step()
    again = bench.submit(bench.job([*small, 3], 1))[0]
    bench.run()
    assert again.reply == expected_reply([*small, 3], 1)
    assert again.reused == 40
    assert bench.evaluator.most_used <= 200


def test_requests_on_a_text_that_is_there_do_not_wait() -> None:
    bench = Bench(batch_tokens=512)
    document = list(range(2, 17)) * 6
    bench.submit(bench.job(document, 1))
    bench.run()
    bench.submit(*(bench.job([*document, 2 + i], 5) for i in range(10)))
    bench.scheduler.step()
    assert len(bench.scheduler._running) == 10
    bench.run()


def test_no_text_is_begun_while_a_batch_is_left_to_read() -> None:
    bench = Bench(batch_tokens=32)
    bench.submit(*(bench.job([2 + i] * 100, 3) for i in range(5)))
    bench.scheduler.step()
    assert len(bench.scheduler._running) == 1
    bench.run()
    assert all(o.error is None for o in bench.outcomes)


@pytest.mark.parametrize(("count", "at_first"), [(FIRST_RUNNING + 30, 16), (LONG_QUEUE_BATCHES + 2, FIRST_RUNNING)])
def test_of_a_long_queue_the_shortest_few_are_answered_before_the_others_begin(count: int, at_first: int) -> None:
    bench = Bench(batch_tokens=64, cells=8192)
    jobs = bench.submit(*(bench.job([2 + i % 15, 2 + i // 15, *[5] * (100 - i % 50)], 30) for i in range(count)))
    most = 0
    while not bench.outcomes:
        bench.scheduler.step()
        most = max(most, len(bench.scheduler._running))
    assert most == at_first
    if at_first == FIRST_RUNNING:
        shortest = sorted(jobs, key=lambda job: job.prompt.size)[:FIRST_RUNNING]
        assert bench.outcomes[0].job in shortest
    running = []
    for _ in range(40):
        bench.scheduler.step()
        running.append(len(bench.scheduler._running))
    bench.run()
    assert max(running) == 16
    assert all(o.job.reply == expected_reply(o.job.prompt.tolist(), 30) for o in bench.outcomes)


def test_a_first_reply_that_does_not_end_holds_the_others_up_no_longer() -> None:
    bench = Bench(batch_tokens=64, cells=8192)
    endless = bench.submit(bench.job([3] * 10, 2_000, max_tokens=2_100))[0]
    bench.submit(*(bench.job([2 + i % 15, 2 + i // 15, *[5] * 70], 30) for i in range(LONG_QUEUE_BATCHES + 2)))
    while not bench.outcomes:
        bench.scheduler.step()
    assert bench.outcomes[0].job is not endless
    assert len(endless.reply) < FIRST_REPLY_TOKENS + 100
    bench.run()
    assert all(o.error is None for o in bench.outcomes if o.job is not endless)


def test_what_is_in_progress_is_what_was_read_and_written_of_running_jobs() -> None:
    bench = Bench(batch_tokens=32)
    bench.submit(bench.job([2] * 30, 3))
    bench.run()
    assert bench.scheduler.in_progress == (0, 0)
    job = bench.submit(bench.job([2] * 30 + [3] * 40, 3))[0]
    bench.scheduler.step()
    assert (job.reused, bench.scheduler.in_progress) == (30, (32, 0))
    bench.scheduler.step()
    assert bench.scheduler.in_progress == (40, len(job.reply)) == (40, 1)
    bench.run()
    assert bench.scheduler.in_progress == (0, 0)


def test_a_long_request_that_came_first_does_not_keep_the_first_answer_back() -> None:
    bench = Bench(batch_tokens=64, cells=8192)
    long = bench.submit(bench.job([3] * 2000, 30))[0]
    bench.scheduler.step()
    bench.submit(*(bench.job([2 + i % 15, 2 + i // 15, *[5] * 70], 30) for i in range(LONG_QUEUE_BATCHES + 2)))
    while not bench.outcomes:
        bench.scheduler.step()
    assert bench.outcomes[0].job is not long
    assert long.slot is not None and long.slot.evaluated < 1000
    bench.run()
    assert all(o.job.reply == expected_reply(o.job.prompt.tolist(), 30) for o in bench.outcomes)


def a_text(size: int = 120) -> list[int]:
    """A text in which three tokens in a row stand once only: what follows them is certain."""
    return [2 + (i * i // 7 + 3 * i) % 14 for i in range(size)]


@pytest.mark.parametrize("slip", [3, 11, 10_000])
def test_what_is_copied_from_the_prompt_takes_fewer_evaluations_and_reads_the_same(
    slip: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = a_text()
    runs = []
    for guesses in (0, DRAFT_BATCH):
        monkeypatch.setattr("models.scheduler.DRAFT_BATCH", guesses)
        bench = Bench(copies=slip)
        job = bench.submit(bench.job(prompt, 60, max_tokens=70))[0]
        bench.run()
        assert job.reply == expected_reply(prompt, 60, slip)
        assert job.sampled + job.forced == len(job.reply)
        runs.append(bench)
    plain, drafting = runs
    assert plain.scheduler.counters.drafted == 0
    accepted = drafting.scheduler.counters.accepted
    # Two batches read the prompt; then each evaluation yields a chosen token, and those of a guess that came true.
    assert drafting.scheduler.counters.evaluations < plain.scheduler.counters.evaluations
    assert plain.scheduler.counters.evaluations - drafting.scheduler.counters.evaluations <= accepted
    assert drafting.evaluator.evaluated - plain.evaluator.evaluated <= drafting.scheduler.counters.drafted


def test_no_guess_is_made_where_the_batch_has_no_room() -> None:
    bench = Bench(copies=10_000, running=DRAFT_BATCH)
    bench.submit(*(bench.job([*a_text(), 2 + i % 14, 3], 20, max_tokens=40) for i in range(DRAFT_BATCH)))
    while len(bench.scheduler._running) < DRAFT_BATCH:
        bench.scheduler.step()
    before = bench.scheduler.counters.drafted
    while not bench.outcomes:
        if (
            sum(j.slot is not None and j.slot.evaluated >= j.prompt.size for j in bench.scheduler._running)
            < DRAFT_BATCH
        ):
            before = bench.scheduler.counters.drafted
        bench.scheduler.step()
    assert bench.scheduler.counters.drafted == before
    bench.run()


def test_guessing_stops_for_a_while_where_it_does_not_pay() -> None:
    """An evaluator that answers by chance: with 17 tokens a guess of three is right once in thousands."""
    bench = Bench()
    bench.submit(bench.job([2, 3] * 40, 400, max_tokens=450))
    bench.run()
    assert bench.scheduler.counters.drafted < 400


def test_masks_worked_out_on_other_threads_change_nothing() -> None:
    prompts = prompts_with_shared_beginnings(24)
    with ThreadPoolExecutor(2) as threads:
        bench = Bench(threads=threads, copies=7, cells=400)
        jobs = bench.submit(*(bench.job(p, 9, max_tokens=15) for p in prompts))
        bench.run()
    assert [j.reply for j in jobs] == [expected_reply(p, 9, 7) for p in prompts]


def test_a_mask_that_fails_on_another_thread_fails_its_job_alone() -> None:
    class Failing(LengthGuide):
        def allowed(self) -> TokenMask:
            raise InvalidSchema("told to")

    with ThreadPoolExecutor(1) as threads:
        bench = Bench(threads=threads)
        bad, good = bench.submit(bench.job([5, 6, 7], guide=Failing(9)), bench.job([5, 7], 5))
        bench.run()
    errors = {id(o.job): o.error for o in bench.outcomes}
    assert isinstance(errors[id(bad)], InvalidSchema)
    assert good.reply == expected_reply([5, 7], 5)


def test_a_mask_that_fails_where_a_guess_waits_for_it_fails_its_job_alone() -> None:
    class Failing(LengthGuide):
        def allowed(self) -> TokenMask:
            if self.written:
                raise InvalidSchema("told to")
            return super().allowed()

    with ThreadPoolExecutor(1) as threads:
        bench = Bench(threads=threads, copies=10_000)
        bad, good = bench.submit(bench.job([2, 3, 4, 5] * 10, guide=Failing(9)), bench.job([5, 7], 5))
        bench.run()
    errors = {id(o.job): o.error for o in bench.outcomes}
    assert isinstance(errors[id(bad)], InvalidSchema)
    assert good.reply == expected_reply([5, 7], 5, 10_000)


@pytest.mark.parametrize("replies", [1, 7, 12])
def test_a_batch_is_filled_with_what_is_to_be_read_beside_replies(replies: int) -> None:
    bench = Bench(cells=2000, slots=16, running=16, batch_tokens=512)
    writing = bench.submit(*(bench.job([5, 6, 2 + n], 30, max_tokens=60) for n in range(replies)))
    while not all(job.reply for job in writing):
        bench.scheduler.step()
    next_tokens = bench.scheduler._unread_tokens()
    long = bench.submit(bench.job([2 + i % 13 for i in range(700)], 2))[0]
    bench.scheduler.step()
    assert long.slot is not None
    assert long.slot.evaluated == 512 - next_tokens
    bench.run()
    assert long.reply == expected_reply([2 + i % 13 for i in range(700)], 2)


def test_two_thousand_waiting_requests_hold_only_themselves() -> None:
    """Nothing is kept per finished request: the cache holds the same cells after 200 requests as after 2,000."""
    bench = Bench(cells=500, slots=8, running=4)
    sizes = []
    for part in range(10):
        bench.submit(*(bench.job([2 + (part + i) % 13, 3 + i % 9, 4], 3) for i in range(200)))
        bench.run()
        sizes.append(len(bench.scheduler._table._holders))
    assert len(bench.outcomes) == 2000
    assert max(sizes) <= 8 * (3 + 5)
    assert bench.scheduler.idle


def test_no_sequence_goes_on_between_the_tokens_of_others() -> None:
    """Prompts and replies of all lengths in a full cache; TiledEvaluator fails where no tile is empty."""
    bench = Bench(cells=1600, slots=16, running=8, batch_tokens=64, tile=TiledEvaluator.TILE)
    draw = random.Random(3)
    prompts = [[2 + n % 13, *(3 + (n * i) % 11 for i in range(draw.randint(5, 200)))] for n in range(60)]
    asked = [(prompt, draw.randint(1, 180)) for prompt in prompts]
    jobs = bench.submit(*(bench.job(prompt, length, max_tokens=200) for prompt, length in asked))
    bench.run()
    assert [job.reply for job in jobs] == [expected_reply(*each) for each in asked]


def test_a_chat_goes_on_behind_the_reply_that_was_written() -> None:
    bench = Bench()
    prompt = [2 + i % 13 for i in range(40)]
    first = bench.submit(bench.job(prompt, 12))[0]
    bench.run()
    chat = [*prompt, *first.reply, 3, 4, 5]
    second = bench.submit(bench.job(chat, 4))[0]
    bench.run()
    # The last token of a reply is never evaluated.
    assert second.reused == len(prompt) + len(first.reply) - 1
    assert second.reply == expected_reply(chat, 4)


def test_where_room_is_needed_replies_go_before_prompts() -> None:
    bench = Bench(cells=120, slots=8, running=4)
    prompts = [[2 + n, *(3 + (n + i) % 11 for i in range(29))] for n in range(3)]
    jobs = bench.submit(*(bench.job(p, 9) for p in prompts))
    bench.run()
    assert bench.cells_held() > sum(job.prompt.size for job in jobs)
    bench.submit(bench.job([9, 8, 7, 6, 5], 3, max_tokens=10))
    bench.run()
    again = bench.submit(*(bench.job(p, 2, max_tokens=2) for p in prompts))
    bench.run()
    assert [job.reused for job in again] == [29, 29, 29]
