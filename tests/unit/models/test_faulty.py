from __future__ import annotations

import asyncio

import pytest
from faulty_model import Fault, FaultyBackend
from scripted_model import ScriptedBackend

from models.errors import ModelCrashed, ModelError, OutOfTokens, PromptTooLong
from models.protocol import ModelBackend, Request, Segment

SCHEMA = '{"type":"string"}'


def request(text: str = "q") -> Request:
    return Request((Segment("user", text),), SCHEMA)


def faulty(*faults: Fault) -> FaultyBackend:
    return FaultyBackend(ScriptedBackend(lambda r: f"answer to {r.segments[0].text}", name="inner"), faults)


async def outcomes(backend: FaultyBackend, count: int) -> list[str]:
    found = []
    for _ in range(count):
        try:
            found.append((await backend.ask(request())).value)
        except ModelError as error:
            found.append(type(error).__name__)
    return found


async def test_every_third_request_fails() -> None:
    backend = faulty(Fault("model_crashed", every=3))
    assert isinstance(backend, ModelBackend)
    assert (backend.name, backend.context_tokens, backend.count_tokens("a b")) == ("inner", 8192, 2)
    good = "answer to q"
    assert await outcomes(backend, 7) == [good, good, "ModelCrashed", good, good, "ModelCrashed", good]


async def test_most_bounds_how_often_a_fault_strikes() -> None:
    assert await outcomes(faulty(Fault("prompt_too_long", most=2)), 4) == [*["PromptTooLong"] * 2, *["answer to q"] * 2]


async def test_of_several_faults_the_first_named_wins_and_all_count() -> None:
    backend = faulty(Fault("model_crashed", every=4), Fault("prompt_too_long", every=2))
    assert await outcomes(backend, 4) == ["answer to q", "PromptTooLong", "answer to q", "ModelCrashed"]


async def test_a_predicate_chooses_requests() -> None:
    backend = faulty(Fault("model_crashed", when=lambda r: "bad" in r.segments[0].text, every=2))
    assert (await backend.ask(request("fine"))).value == "answer to fine"
    assert (await backend.ask(request("bad 1"))).value == "answer to bad 1"
    with pytest.raises(ModelCrashed):
        await backend.ask(request("bad 2"))


async def test_out_of_tokens_carries_half_the_reply_or_the_given_text() -> None:
    with pytest.raises(OutOfTokens) as half:
        await faulty(Fault("out_of_tokens")).ask(request("q"))
    assert half.value.partial == '"answe'  # of the 13 characters of "answer to q", quotes included
    with pytest.raises(OutOfTokens) as given:
        await faulty(Fault("out_of_tokens", partial='{"a":[')).ask(request())
    assert given.value.partial == '{"a":['


async def test_prompt_too_long_names_numbers_that_do_not_fit() -> None:
    with pytest.raises(PromptTooLong) as caught:
        await faulty(Fault("prompt_too_long")).ask(request())
    assert caught.value.prompt_tokens + caught.value.reply_tokens > caught.value.context_tokens


async def test_a_hanging_request_ends_by_cancellation_or_close() -> None:
    backend = faulty(Fault("hang"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(backend.ask(request()), 0.01)
    waiting = asyncio.create_task(backend.ask(request()))
    await asyncio.sleep(0)
    await backend.close()
    with pytest.raises(ModelCrashed, match="closed"):
        await waiting
    with pytest.raises(ModelCrashed):
        await backend.ask(request())
