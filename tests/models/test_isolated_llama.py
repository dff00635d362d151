"""A real model in a process of its own: killed, cancelled, refused."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator

import psutil
import pytest

from engine.cli.local_models import LocalModels
from models.cache_place import models_folder
from models.errors import InvalidSchema, ModelCrashed, OutOfTokens, PromptTooLong
from models.fits import find_misfit
from models.isolation.backend import IsolatedBackend
from models.notices import Restarted, Working
from models.protocol import ModelSpec, Request, Sampling, Segment

pytestmark = pytest.mark.model

SMALL = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
OTHERS = ("smollm2-135m-instruct-q4_1.gguf", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf")
ROWS, KILLS = 12, 3
PASSAGE = "On 3 March Officer Dana Reyes stopped a grey van at the corner of Mill Street. " * 4
NAMES = {"type": "string", "enum": ["Reyes", "Holt", "Marsh"]}
SCHEMA = {
    "type": "object",
    "properties": {"officer": NAMES, "words": {"type": "string", "pattern": "^[A-Za-z ]{20,40}$"}},
    "required": ["officer", "words"],
    "additionalProperties": False,
}
STORY = {"type": "string", "minLength": 4000}


def spec(**settings: int) -> ModelSpec:
    paths = [path for name in (SMALL, *OTHERS) if (path := models_folder() / name).is_file()]
    if not paths:
        pytest.skip(f"no small model is installed in {models_folder()}")
    return ModelSpec("llama", paths[0].stem, str(paths[0]), "0" * 64, {"running": 4, "kept": 4, **settings})


@pytest.fixture(scope="module")
def backend() -> Iterator[IsolatedBackend]:
    opened = IsolatedBackend(spec(context_tokens=4096))
    pid = opened.pid
    assert pid is not None
    assert psutil.Process(pid).ppid() == os.getpid()
    yield opened
    asyncio.run(opened.close())
    assert not psutil.pid_exists(pid)


def request(text: str, schema: object = SCHEMA, max_tokens: int = 60) -> Request:
    return Request((Segment("user", PASSAGE), Segment("user", text)), json.dumps(schema), Sampling(0.0, max_tokens))


async def test_replies_and_errors_come_through(backend: IsolatedBackend) -> None:
    asked = request("Who stopped the van?")
    reply = await backend.ask(asked)
    assert find_misfit(reply.value, SCHEMA) is None
    assert reply.prompt_tokens == backend.count_prompt_tokens(asked) > backend.count_tokens(PASSAGE) > 60
    with pytest.raises(OutOfTokens) as cut:
        await backend.ask(request("Tell all.", STORY, max_tokens=8))
    assert cut.value.partial
    with pytest.raises(PromptTooLong) as long:
        await backend.ask(request("word " * 9000))
    assert long.value.context_tokens == 4096
    with pytest.raises(InvalidSchema):
        await backend.ask(request("Who?", {"type": "text"}))


async def test_three_kills_during_twelve_requests_lose_none(backend: IsolatedBackend) -> None:
    heard: list[object] = []
    backend.watch(heard.append)
    answered = 0

    async def ask(number: int) -> object:
        nonlocal answered
        reply = await backend.ask(request(f"Which officer stopped van {number}?"))
        answered += 1
        if answered in (2, 5, 8) and backend.pid:
            os.kill(backend.pid, signal.SIGKILL)
        return reply.value

    values = await asyncio.gather(*(ask(number) for number in range(ROWS)))
    assert [find_misfit(value, SCHEMA) for value in values] == [None] * ROWS
    ends = [notice for notice in heard if not isinstance(notice, Working)]
    assert 1 <= len(ends) <= KILLS
    assert {type(notice) for notice in ends} == {Restarted}


async def test_how_far_a_long_prompt_is_is_told_while_it_is_read(backend: IsolatedBackend) -> None:
    heard: list[object] = []
    backend.watch(heard.append)
    reply = await backend.ask(request("And who? " + "The van was grey, with a dent. " * 300))
    told = [notice for notice in heard if isinstance(notice, Working)]
    assert len(told) >= 2
    assert [notice.read for notice in told] == sorted(notice.read for notice in told)
    assert 0 < told[0].read < told[-1].read <= reply.prompt_tokens
    while told[-1].read:
        await asyncio.sleep(0.1)
        told = [notice for notice in heard if isinstance(notice, Working)]
    assert told[-1] == Working(backend.name, 0, 0)


async def test_a_reply_is_the_same_before_and_after_a_kill(backend: IsolatedBackend) -> None:
    asked = request("Which officer was it?")
    before = await backend.ask(asked)
    assert backend.pid is not None
    os.kill(backend.pid, signal.SIGKILL)
    assert (await backend.ask(asked)).text == before.text


async def test_cancelling_a_long_reply_leaves_the_model_free(backend: IsolatedBackend) -> None:
    tasks = [asyncio.create_task(backend.ask(request(f"Story {n}.", STORY, max_tokens=2000))) for n in range(4)]
    await asyncio.sleep(1)
    for task in tasks:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {asyncio.CancelledError}
    # Four stories of 2,000 tokens would hold the four sequences for minutes.
    assert (await asyncio.wait_for(backend.ask(request("Who?")), 60)).value["officer"]


async def test_closing_does_not_wait_for_the_runtime() -> None:
    backend = IsolatedBackend(spec(context_tokens=2048))
    task = asyncio.create_task(backend.ask(request("word " * 1200, STORY, max_tokens=500)))
    await asyncio.sleep(0.5)
    await asyncio.wait_for(backend.close(), 30)  # waited for, such a reply takes minutes
    assert isinstance((await asyncio.gather(task, return_exceptions=True))[0], ModelCrashed)


def test_the_models_of_a_run_live_in_processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDWELL_CONTEXT_TOKENS", "1024")
    models = LocalModels()
    opened = models.open_model(spec().location)
    assert isinstance(opened, IsolatedBackend)
    assert models.open_model(spec().location) is opened
    assert opened.pid not in (None, os.getpid())
    assert opened.context_tokens == 1024
    asyncio.run(opened.close())
