"""The reply cache in front of the model: kept before it is handed on, one call for equal requests in flight."""

from __future__ import annotations

import asyncio

import pytest
from case_counts import count_replies
from scripted_model import ScriptedBackend

from engine.executor.asking import CachedAsk, reply_key
from engine.executor.events import ModelCall
from models.errors import ModelCrashed, OutOfTokens, PromptTooLong
from models.loops import SECOND_TEMPERATURE
from models.protocol import Purpose, Request, Sampling, Segment
from storage.errors import DiskFull

SCHEMA = '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}'


def request(text: str = "x", row: str = "r", **more) -> Request:
    more = {"schema_json": SCHEMA, **more}
    return Request((Segment("user", text),), purpose=Purpose("op", row), **more)


class SlowBackend(ScriptedBackend):
    """Replies when told to; counts what was asked, finished and cancelled."""

    def __init__(self) -> None:
        super().__init__(lambda request: {"n": 1})
        self.gate = asyncio.Event()
        self.error: Exception | None = None
        self.cancelled = 0

    async def ask(self, request):
        self.requests.append(request)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        self.requests.pop()
        return await super().ask(request)


@pytest.fixture
def desk(bench):
    made = bench()
    run = made.case.runs.start(pipeline_yaml="", pipeline_digest="", model_name="")
    made.door = CachedAsk(made.case.replies, run, made._emit)
    made.run_id = run
    return made


async def started(backend: SlowBackend, count: int = 1) -> None:
    while len(backend.requests) < count:
        await asyncio.sleep(0)


async def test_a_reply_is_committed_before_it_is_handed_on(desk) -> None:
    backend = ScriptedBackend(lambda r: {"n": 5})
    reply = await desk.door.ask(backend, request())
    assert reply.value == {"n": 5}
    assert desk.case.replies.get(reply_key(backend, request()))["value"] == {"n": 5}
    again = await desk.door.ask(backend, request(row="other"))
    assert (again.value, again.from_cache, again.sampled_tokens) == ({"n": 5}, True, reply.sampled_tokens)
    assert [(e.row_id, e.from_cache) for e in desk.of(ModelCall)] == [("r", False), ("other", True)]
    assert len(backend.requests) == 1
    assert desk.case.replies.calls_of_run(desk.run_id) == {"op": 1}


LOOP = '{"n": "' + "It is too slow to play. " * 40


def in_circles(times: int, partial: str = LOOP):
    """Answer after so many replies that reached their limit."""
    ended = iter([OutOfTokens("limit", partial=partial)] * times)

    def answer(request):
        if (error := next(ended, None)) is not None:
            raise error
        return {"n": 5}

    return ScriptedBackend(answer)


async def test_a_reply_in_circles_is_asked_for_again_with_chance_and_a_seed(desk) -> None:
    backend = in_circles(1)
    asked = request(seed=3, sampling=Sampling(max_tokens=900))
    assert (await desk.door.ask(backend, asked)).value == {"n": 5}
    tried = [(r.sampling.temperature, r.sampling.max_tokens, r.seed) for r in backend.requests]
    assert tried == [(0.0, 900, 3), (SECOND_TEMPERATURE, 900, 4)]
    assert (await desk.door.ask(backend, asked)).from_cache  # kept as the answer to what was asked
    assert len(backend.requests) == 2


async def test_a_list_of_records_that_comes_round_is_asked_for_again(desk) -> None:
    rows = ", ".join(['{"name": "A", "date": "1"}', '{"name": "B", "date": "1"}'] * 2)
    backend = in_circles(1, partial=f'{{"n": [{rows}, {{"name": "')
    assert (await desk.door.ask(backend, request())).value == {"n": 5}
    assert len(backend.requests) == 2


async def test_a_reply_that_always_goes_in_circles_fails_after_two(desk) -> None:
    backend = in_circles(2)
    with pytest.raises(OutOfTokens):
        await desk.door.ask(backend, request())
    assert len(backend.requests) == 2


async def test_a_reply_that_is_merely_too_long_is_not_asked_for_again(desk) -> None:
    backend = in_circles(1, partial='{"n": "one, two, three, four')
    with pytest.raises(OutOfTokens):
        await desk.door.ask(backend, request())
    assert len(backend.requests) == 1


async def test_a_reply_that_was_begun_again_by_the_model_is_not_asked_for_a_third_time(desk) -> None:
    backend = ScriptedBackend(raising(OutOfTokens("repeats", partial=LOOP, tries=2, is_final=True)))
    with pytest.raises(OutOfTokens):
        await desk.door.ask(backend, request())
    assert len(backend.requests) == 1


async def test_a_cut_that_would_come_again_is_kept_and_its_cost_is_counted(desk) -> None:
    cut = OutOfTokens("limit 9", partial='{"n": [1, 2', advice="Ask for less.", is_final=True)
    cut.prompt_tokens, cut.sampled_tokens = 70, 9
    backend = ScriptedBackend(raising(cut))
    for row in ("r", "other"):
        with pytest.raises(OutOfTokens, match="limit 9") as ended:
            await desk.door.ask(backend, request(row=row))
        assert (ended.value.partial, ended.value.advice) == ('{"n": [1, 2', "Ask for less.")
    assert len(backend.requests) == 1
    counted = [(e.row_id, e.prompt_tokens, e.sampled_tokens, e.from_cache) for e in desk.of(ModelCall)]
    assert counted == [("r", 70, 9, False), ("other", 70, 9, True)]
    assert desk.case.replies.calls_of_run(desk.run_id) == {"op": 1}
    assert desk.case.replies.unfinished_calls_of_run(desk.run_id) == {}


async def test_a_cut_for_want_of_context_is_not_kept(desk) -> None:
    backend = ScriptedBackend(raising(OutOfTokens("limit 9", partial='{"n": [1, 2')))
    for _ in range(2):
        with pytest.raises(OutOfTokens):
            await desk.door.ask(backend, request())
    assert len(backend.requests) == 2
    assert count_replies(desk.case) == 0


def raising(error: Exception):
    def answer(request):
        raise error

    return answer


async def test_the_case_holds_the_reply_when_the_event_is_told(desk) -> None:
    counts = []
    desk.watch = lambda event: counts.append(count_replies(desk.case))
    await desk.door.ask(ScriptedBackend(lambda r: {"n": 5}), request())
    assert counts == [1]


async def test_equal_requests_in_flight_are_one_call(desk) -> None:
    backend = SlowBackend()
    askers = [asyncio.create_task(desk.door.ask(backend, request(row=str(i)))) for i in range(4)]
    await started(backend)
    backend.gate.set()
    replies = await asyncio.gather(*askers)
    assert [r.value for r in replies] == [{"n": 1}] * 4
    assert [r.from_cache for r in replies] == [False, True, True, True]
    assert len(backend.requests) == 1
    assert [e.from_cache for e in desk.of(ModelCall)] == [False, True, True, True]
    assert desk.door._in_flight == {}


@pytest.mark.parametrize("leaver", [0, 1, 2])
async def test_an_asker_that_is_cancelled_takes_nothing_from_its_twins(desk, leaver) -> None:
    backend = SlowBackend()
    askers = [asyncio.create_task(desk.door.ask(backend, request(row=str(i)))) for i in range(3)]
    await started(backend)
    askers[leaver].cancel()
    with pytest.raises(asyncio.CancelledError):
        await askers[leaver]
    backend.gate.set()
    stayed = [asker for i, asker in enumerate(askers) if i != leaver]
    assert [(await asker).value for asker in stayed] == [{"n": 1}] * 2
    assert (backend.cancelled, len(backend.requests)) == (0, 1)
    # The call itself is told once, whoever began it.
    assert sum(not e.from_cache for e in desk.of(ModelCall)) == 1


async def test_a_call_that_nobody_waits_for_is_ended_and_forgotten(desk) -> None:
    backend = SlowBackend()
    askers = [asyncio.create_task(desk.door.ask(backend, request(row=str(i)))) for i in range(2)]
    await started(backend)
    for asker in askers:
        asker.cancel()
    ended = await asyncio.gather(*askers, return_exceptions=True)
    assert all(isinstance(e, asyncio.CancelledError) for e in ended)
    assert (backend.cancelled, desk.door._in_flight) == (1, {})
    assert asyncio.all_tasks() == {asyncio.current_task()}
    backend.gate.set()
    assert (await desk.door.ask(backend, request())).value == {"n": 1}


async def test_a_call_cancelled_before_it_began_leaves_no_trace(desk) -> None:
    backend = SlowBackend()
    asker = asyncio.create_task(desk.door.ask(backend, request()))
    await asyncio.sleep(0)
    asker.cancel()
    await asyncio.gather(asker, return_exceptions=True)
    assert desk.door._in_flight == {}
    backend.gate.set()
    assert (await desk.door.ask(backend, request())).value == {"n": 1}


async def test_a_failing_call_fails_all_that_wait_for_it_and_no_later_one(desk) -> None:
    backend = SlowBackend()
    backend.error = ModelCrashed("it fell over")
    askers = [asyncio.create_task(desk.door.ask(backend, request(row=str(i)))) for i in range(3)]
    await started(backend)
    backend.gate.set()
    ended = await asyncio.gather(*askers, return_exceptions=True)
    assert [str(e) for e in ended] == ["it fell over"] * 3
    assert (desk.door._in_flight, count_replies(desk.case), desk.of(ModelCall)) == ({}, 0, [])
    backend.error = None
    assert (await desk.door.ask(backend, request())).value == {"n": 1}


async def test_a_failure_that_nobody_waits_for_is_not_complained_about(desk) -> None:
    """The loop would log `exception was never retrieved`; the fixture quiet_loop fails the test on that."""
    backend = SlowBackend()
    backend.error = ModelCrashed("it fell over")
    asker = asyncio.create_task(desk.door.ask(backend, request()))
    await started(backend)
    backend.gate.set()
    asker.cancel()
    await asyncio.gather(asker, return_exceptions=True)


async def test_an_error_of_the_model_is_raised_as_it_is(desk) -> None:
    tiny = ScriptedBackend(lambda r: {"n": 1}, context_tokens=10)
    with pytest.raises(PromptTooLong) as caught:
        await desk.door.ask(tiny, request("word " * 50))
    assert (caught.value.prompt_tokens, caught.value.context_tokens) == (50, 10)
    assert count_replies(desk.case) == 0


async def test_a_reply_that_cannot_be_kept_is_not_handed_on(desk, monkeypatch) -> None:
    def refuse(*arguments, **more):
        raise DiskFull("no space")

    monkeypatch.setattr(desk.case.replies, "save", refuse)
    with pytest.raises(DiskFull):
        await desk.door.ask(ScriptedBackend(lambda r: {"n": 1}), request())
    assert desk.of(ModelCall) == []


def test_the_key_is_made_of_all_that_decides_a_reply() -> None:
    one, other = ScriptedBackend(lambda r: {}, name="a"), ScriptedBackend(lambda r: {}, name="b")
    base = reply_key(one, request())
    assert base == reply_key(one, request(row="another row"))
    assert base != reply_key(other, request())
    changed = [
        request("y"),
        request(seed=1),
        request(sampling=Sampling(temperature=0.5)),
        request(sampling=Sampling(max_tokens=7)),
        request(schema_json=SCHEMA.replace('"n"', '"m"')),
    ]
    keys = {reply_key(one, r) for r in changed}
    assert len(keys) == len(changed)
    assert base not in keys
    assert all(len(key) == 64 and int(key, 16) >= 0 for key in keys)
