from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted_model import ScriptedBackend

from models.errors import InvalidSchema, ModelCrashed, ModelError, OutOfTokens, PromptTooLong
from models.protocol import ModelBackend, Purpose, Request, Sampling, Segment, canonical_json

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def request(text: str = "Who?", schema: Any = NAME, max_tokens: int = 100, **purpose: str) -> Request:
    return Request(
        (Segment("system", "Read."), Segment("user", text)),
        canonical_json(schema),
        Sampling(max_tokens=max_tokens),
        purpose=Purpose(**purpose),
    )


async def test_a_function_answers_and_requests_are_recorded() -> None:
    backend = ScriptedBackend(lambda r: {"name": r.segments[1].text})
    assert isinstance(backend, ModelBackend)
    first, second = request("Ann"), request("Bob")
    replies = [await backend.ask(r) for r in (first, second)]
    assert [r.value for r in replies] == [{"name": "Ann"}, {"name": "Bob"}]
    assert replies[0].text == '{"name":"Ann"}'
    assert backend.requests == [first, second]


async def test_tokens_are_words_and_marks() -> None:
    backend = ScriptedBackend(lambda _: {"name": "x"})
    assert backend.count_tokens("Officer O'Neil, badge #12.") == 9  # Officer O ' Neil , badge # 12 .
    assert backend.count_prompt_tokens(request("Who?")) == 4  # Read . Who ?
    assert (await backend.ask(request("Who?"))).prompt_tokens == 4


async def test_a_reply_that_does_not_fit_its_schema_is_an_error() -> None:
    backend = ScriptedBackend(lambda _: {"name": 7})
    with pytest.raises(ModelError, match=r"does not fit the schema of operator find: reply\.name is 7"):
        await backend.ask(request(operator="find"))
    with pytest.raises(InvalidSchema):
        await backend.ask(Request((Segment("user", "x"),), "no json"))


async def test_context_and_reply_limits_are_those_of_a_real_model() -> None:
    backend = ScriptedBackend(lambda _: {"name": "one two three"}, context_tokens=50)
    with pytest.raises(PromptTooLong) as too_long:
        await backend.ask(request("word " * 41, max_tokens=8))
    assert (too_long.value.prompt_tokens, too_long.value.context_tokens) == (43, 50)
    with pytest.raises(OutOfTokens) as cut:
        await backend.ask(request(max_tokens=8))
    assert cut.value.partial == '{"name":"one two'


async def test_closing_fails_what_waits_and_what_comes() -> None:
    backend = ScriptedBackend(lambda _: {"name": "x"}, delay_seconds=0.01)
    waiting = asyncio.create_task(backend.ask(request()))
    await asyncio.sleep(0)
    await backend.close()
    await backend.close()
    with pytest.raises(ModelCrashed):
        await waiting
    with pytest.raises(ModelCrashed):
        await backend.ask(request())
