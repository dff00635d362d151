"""The dispatcher's rules, with workers that the test holds in its hand."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from cluster_models import question

from models.cluster.dispatcher import (
    ALONE_AFTER,
    MOST_ALONE,
    MOST_FAILED_STARTS,
    MOST_FRUITLESS,
    Dispatcher,
    DispatchSettings,
    WorkerLost,
)
from models.errors import ModelCrashed, ModelError, OutOfTokens, WeightsCorrupt
from models.protocol import Reply

QUICK = DispatchSettings(in_flight=4, patience_seconds=0.0)


class FakeWorker:
    """Answers when it is told to; `poison` kills it."""

    def __init__(self, cluster: FakeCluster, place: int) -> None:
        self.cluster, self.place = cluster, place
        self.node, self.pid, self.context_tokens = f"n{place}", len(cluster.started), cluster.context_tokens
        self.pending: dict[str, asyncio.Future[Reply]] = {}
        self.asked: list[str] = []
        self.cancelled: list[str] = []
        self.dead = self.closed = False

    async def ask(self, request) -> Reply:
        text = request.segments[-1].text
        if self.dead:
            raise WorkerLost("dead")
        self.asked.append(text)
        future = self.pending[text] = asyncio.get_running_loop().create_future()
        if "poison" in text:
            asyncio.get_running_loop().call_soon(self.die)
        elif self.cluster.answers:
            self.answer(text)
        try:
            return await future
        except asyncio.CancelledError:
            self.cancelled.append(text)
            raise
        finally:
            self.pending.pop(text, None)

    def answer(self, text: str) -> None:
        self.cluster.answered[text] += 1
        self.pending[text].set_result(Reply(value=text, text=text))

    def die(self, error: Exception | None = None) -> None:
        self.dead = True
        for future in self.pending.values():
            if not future.done():
                future.set_exception(error or WorkerLost("killed"))

    async def count_tokens(self, text: str) -> int:
        if self.dead:
            raise WorkerLost("dead")
        return len(text)

    async def close(self) -> None:
        self.closed = True


class FakeCluster:
    def __init__(self, places: int = 2, *, answers: bool = True, settings: DispatchSettings = QUICK) -> None:
        self.answers, self.context_tokens = answers, 10_000
        self.started: list[FakeWorker] = []
        self.living: dict[int, FakeWorker] = {}
        self.failures: dict[int, list[Exception]] = {}
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.answered: Counter[str] = Counter()
        self.told: list[str] = []
        self.dispatcher = Dispatcher(self.start, places, settings=settings, tell=self.told.append)

    async def start(self, place: int) -> FakeWorker:
        await self.may_start.wait()
        if self.failures.get(place):
            raise self.failures[place].pop(0)
        worker = FakeWorker(self, place)
        self.started.append(worker)
        self.living[place] = worker
        return worker

    def ask(self, *texts: str, shared: str = "") -> list[asyncio.Task[Reply]]:
        return [asyncio.create_task(self.dispatcher.ask(question(t, *([shared] if shared else [])))) for t in texts]


async def turn(times: int = 20) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


async def opened(*args, **settings) -> FakeCluster:
    cluster = FakeCluster(*args, **settings)
    await cluster.dispatcher.open()
    return cluster


async def test_spreads_over_all_workers_and_answers_all() -> None:
    cluster = await opened()
    texts = [f"q{i}" for i in range(100)]
    replies = await asyncio.gather(*cluster.ask(*texts))
    assert [reply.value for reply in replies] == texts
    assert cluster.answered == Counter(texts)
    assert min(len(worker.asked) for worker in cluster.started) > 20
    await cluster.dispatcher.close()
    assert all(worker.closed for worker in cluster.started)


async def test_no_worker_has_more_than_its_requests_at_once() -> None:
    cluster = await opened(answers=False)
    tasks = cluster.ask(*(f"q{i}" for i in range(20)))
    await turn()
    assert [len(worker.pending) for worker in cluster.started] == [4, 4]
    cluster.started[0].answer(next(iter(cluster.started[0].pending)))
    await turn()
    assert [len(worker.pending) for worker in cluster.started] == [4, 4]
    assert sum(len(worker.asked) for worker in cluster.started) == 9
    await cluster.dispatcher.close()
    for task in tasks[1:]:
        assert task.done()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_requests_about_one_document_meet_at_one_worker() -> None:
    cluster = await opened(answers=False, settings=DispatchSettings(in_flight=100))
    # An odd number of documents in turn: sharing out by load alone would send each of them to both workers.
    for number in range(4):
        for name in "abc":
            cluster.ask(f"{name}{number}", shared=name * 4000)
            await turn()
    asked = [{text[0] for text in worker.asked} for worker in cluster.started]
    assert asked[0] & asked[1] == set()
    assert sorted(len(names) for names in asked) == [1, 2]
    await cluster.dispatcher.close()


async def test_a_document_is_read_twice_when_its_worker_is_much_busier() -> None:
    cluster = await opened(answers=False, settings=DispatchSettings(in_flight=100))
    cluster.ask(*(f"q{i}" for i in range(40)), shared="d" * 4000)
    await turn(60)
    # Here the next one costs 4000 + 500 k, there 4500, and twice 4000 for reading again: from k = 17 on, it is there.
    assert all(len(worker.asked) >= 10 for worker in cluster.started)
    await cluster.dispatcher.close()


async def test_a_new_worker_takes_what_waits_for_another() -> None:
    cluster = await opened(answers=False)
    one, other = cluster.started
    cluster.may_start.clear()
    other.die()
    tasks = cluster.ask(*(f"q{i}" for i in range(14)))
    await turn(40)
    assert len(one.pending) == 4
    cluster.may_start.set()
    await turn(40)
    assert len(cluster.living[other.place].pending) == 4
    await cluster.dispatcher.close()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("error", [WorkerLost("killed"), ModelCrashed("the engine has stopped; its process lives")])
async def test_what_a_dead_worker_was_asked_is_asked_elsewhere_once(error) -> None:
    cluster = await opened(answers=False)
    texts = [f"q{i}" for i in range(8)]
    tasks = cluster.ask(*texts)
    await turn()
    victim, other = cluster.started
    finished = next(iter(victim.pending))
    victim.answer(finished)
    victim.die(error)
    cluster.answers = True
    for text in list(other.pending):
        other.answer(text)
    replies = await asyncio.gather(*tasks)
    assert [reply.value for reply in replies] == texts
    assert cluster.answered == Counter(texts), "a finished call is not repeated"
    assert any("n0" in text and "died" in text for text in cluster.told)
    assert len(cluster.started) == 3
    assert victim.closed
    await cluster.dispatcher.close()


async def test_all_workers_dead_only_waits_for_the_next() -> None:
    cluster = await opened(answers=False)
    tasks = cluster.ask(*(f"q{i}" for i in range(20)))
    await turn()
    cluster.may_start.clear()
    for worker in list(cluster.started):
        worker.die()
    await turn(40)
    assert not any(task.done() for task in tasks)
    more = cluster.ask("asked while none is there")
    await turn()
    cluster.answers = True
    cluster.may_start.set()
    await asyncio.gather(*tasks, *more)
    assert all(count == 1 for count in cluster.answered.values())
    await cluster.dispatcher.close()


async def test_requests_that_saw_two_deaths_run_one_by_one() -> None:
    cluster = await opened(1, answers=False)
    tasks = cluster.ask(*(f"q{i}" for i in range(4)))
    for _ in range(ALONE_AFTER):
        await turn()
        assert len(cluster.living[0].pending) == 4
        cluster.living[0].die()
    await turn()
    fresh = cluster.ask(*(f"fresh{i}" for i in range(3)))
    await turn()
    for _ in range(7):
        pending = list(cluster.living[0].pending)
        suspects = [text for text in pending if text.startswith("q")]
        assert not suspects or pending == suspects[:1], "a suspect has nobody beside it"
        for text in pending:
            cluster.living[0].answer(text)
        await turn()
    assert all(task.done() for task in (*tasks, *fresh))
    await cluster.dispatcher.close()


async def test_a_suspect_waits_until_the_others_are_done() -> None:
    cluster = await opened(1, answers=False)
    (suspect,) = cluster.ask("suspect")
    for _ in range(ALONE_AFTER):
        await turn()
        cluster.living[0].die()
    cluster.may_start.clear()
    await turn()
    fresh = cluster.ask("fresh0", "fresh1")
    cluster.living.clear()
    # The worker begins with what has waited longest; whoever runs, the suspect has nobody beside it.
    cluster.may_start.set()
    seen = []
    for _ in range(5):
        await turn()
        pending = list(cluster.living[0].pending)
        seen.append(pending)
        assert pending == ["suspect"] or "suspect" not in pending
        for text in pending:
            cluster.living[0].answer(text)
    assert ["suspect"] in seen
    assert all(task.done() for task in (suspect, *fresh))
    await cluster.dispatcher.close()


async def test_a_deadly_request_fails_alone() -> None:
    cluster = await opened()
    innocent = [f"q{i}" for i in range(30)]
    tasks = cluster.ask(*innocent[:3], "poison", *innocent[3:])
    results = await asyncio.gather(*tasks, return_exceptions=True)
    crashed = results.pop(3)
    assert isinstance(crashed, ModelCrashed)
    assert [reply.value for reply in results] == innocent
    deaths = sum(worker.dead for worker in cluster.started)
    assert deaths == ALONE_AFTER + MOST_ALONE
    assert "q" in (await cluster.ask("q later")[0]).value
    await cluster.dispatcher.close()


async def test_many_deadly_requests_take_no_innocent_with_them() -> None:
    cluster = await opened(1)
    innocent = [f"q{i}" for i in range(10)]
    deadly = [f"poison{i}" for i in range(20)]
    results = await asyncio.gather(*cluster.ask(*deadly, *innocent), return_exceptions=True)
    assert all(isinstance(result, ModelCrashed) for result in results[:20])
    assert [reply.value for reply in results[20:]] == innocent
    await cluster.dispatcher.close()


async def test_kills_while_many_run_never_fail_a_request() -> None:
    cluster = await opened(answers=False)
    texts = [f"q{i}" for i in range(60)]
    tasks = cluster.ask(*texts)
    for _ in range(20):
        await turn(30)
        victim = max(cluster.living.values(), key=lambda worker: len(worker.pending))
        for other in cluster.living.values():
            for text in list(other.pending)[:1]:
                other.answer(text)
        await turn(1)
        victim.die()
    cluster.answers = True
    await turn(30)
    for worker in cluster.living.values():
        for text in list(worker.pending):
            worker.answer(text)
    replies = await asyncio.gather(*tasks)
    assert [reply.value for reply in replies] == texts
    assert cluster.answered == Counter(texts)
    await cluster.dispatcher.close()


async def test_an_error_of_the_model_goes_to_who_asked() -> None:
    cluster = await opened(answers=False)
    task = cluster.ask("long")[0]
    await turn()
    worker = next(worker for worker in cluster.started if worker.pending)
    worker.pending["long"].set_exception(OutOfTokens("cut", partial="{"))
    with pytest.raises(OutOfTokens) as caught:
        await task
    assert caught.value.partial == "{"
    assert sum(len(worker.asked) for worker in cluster.started) == 1
    await cluster.dispatcher.close()


async def test_cancelling_reaches_the_worker_and_frees_its_place() -> None:
    cluster = await opened(1, answers=False)
    tasks = cluster.ask(*(f"q{i}" for i in range(10)))
    await turn()
    (worker,) = cluster.started
    for task in tasks[:9]:
        task.cancel()
    await turn()
    assert worker.cancelled == ["q0", "q1", "q2", "q3"]
    assert worker.asked == ["q0", "q1", "q2", "q3", "q9"]
    worker.answer("q9")
    assert (await tasks[9]).value == "q9"
    await cluster.dispatcher.close()


async def test_cancelling_before_the_worker_is_asked_loses_no_room() -> None:
    cluster = await opened(1, answers=False)
    for _ in range(10):
        (task,) = cluster.ask("soon cancelled")
        await turn(2)
        task.cancel()
        await turn()
    cluster.answers = True
    await asyncio.gather(*cluster.ask(*(f"q{i}" for i in range(10))))
    await cluster.dispatcher.close()


async def test_close_fails_what_is_under_way_and_what_comes_later() -> None:
    cluster = await opened(answers=False)
    tasks = cluster.ask(*(f"q{i}" for i in range(20)))
    await turn()
    await cluster.dispatcher.close()
    await cluster.dispatcher.close()
    results = await asyncio.gather(*tasks, *cluster.ask("late"), return_exceptions=True)
    assert all(isinstance(result, ModelCrashed) for result in results)
    assert all(worker.closed for worker in cluster.started)


async def test_wrong_weights_on_one_node_refuse_the_run() -> None:
    cluster = FakeCluster()
    cluster.failures[1] = [WeightsCorrupt("on node n1: other weights")]
    with pytest.raises(WeightsCorrupt, match="n1"):
        await cluster.dispatcher.open()
    assert all(worker.closed for worker in cluster.started)


async def test_a_worker_that_does_not_start_is_tried_again_then_left_out() -> None:
    cluster = FakeCluster()
    cluster.failures[0] = [WorkerLost("no room")] * (MOST_FAILED_STARTS - 1)
    cluster.failures[1] = [WorkerLost("no room")] * MOST_FAILED_STARTS
    await cluster.dispatcher.open()
    assert [worker.place for worker in cluster.started] == [0]
    assert any("fewer workers" in text for text in cluster.told)
    assert (await cluster.ask("q")[0]).value == "q"
    await cluster.dispatcher.close()


async def test_no_worker_at_all_is_an_error() -> None:
    cluster = FakeCluster()
    for place in (0, 1):
        cluster.failures[place] = [WorkerLost("no room")] * MOST_FAILED_STARTS
    with pytest.raises(ModelCrashed, match="no room"):
        await cluster.dispatcher.open()


async def test_a_defect_in_starting_is_told_and_hangs_nothing() -> None:
    cluster = FakeCluster(1)
    cluster.failures[0] = [ZeroDivisionError("ours")]
    with pytest.raises(ModelCrashed, match="ZeroDivisionError: ours"):
        await cluster.dispatcher.open()


async def test_when_the_last_place_is_given_up_waiting_requests_fail() -> None:
    cluster = await opened(1, answers=False)
    cluster.failures[0] = [ModelError("on node n0: the disk is gone")]
    tasks = cluster.ask("a", "b")
    await turn()
    cluster.started[0].die()
    results = await asyncio.gather(*tasks, *cluster.ask("later"), return_exceptions=True)
    assert all(isinstance(result, ModelCrashed) and "the disk is gone" in str(result) for result in results)
    with pytest.raises(ModelCrashed):
        await cluster.dispatcher.count(lambda worker: worker.count_tokens("x"))
    await cluster.dispatcher.close()


async def test_workers_that_die_without_end_are_given_up() -> None:
    cluster = await opened(1)
    tasks = cluster.ask(*(f"poison{i}" for i in range(MOST_FRUITLESS + 10)))
    await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(task.exception(), ModelCrashed) for task in tasks)
    assert len(cluster.started) <= MOST_FRUITLESS
    await cluster.dispatcher.close()


async def test_another_context_on_a_later_node_is_refused() -> None:
    cluster = await opened()
    cluster.context_tokens = 500
    cluster.started[0].die()
    assert (await cluster.ask("q")[0]).value == "q"
    await turn(40)
    assert [place.worker.node for place in cluster.dispatcher._places if place.worker] == ["n1"]
    assert any("500 tokens" in text for text in cluster.told)
    await cluster.dispatcher.close()


async def test_counting_goes_to_another_worker_when_one_is_dead() -> None:
    cluster = await opened()
    cluster.started[0].dead = True
    assert await cluster.dispatcher.count(lambda worker: worker.count_tokens("abc")) == 3
    await cluster.dispatcher.close()
