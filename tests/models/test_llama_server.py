"""A real llama-server with a real small model, if there is one: REDWELL_LLAMA_SERVER, or on the PATH."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from models.cache_place import models_folder
from models.errors import OutOfTokens, PromptTooLong
from models.fits import find_misfit
from models.protocol import Reply, Request, Sampling, Segment, canonical_json
from models.servers.backend import ServerBackend, ServerSettings

pytestmark = pytest.mark.model

MODEL = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
RECORD = (
    "On May 3, 2021 Sergeant Dana Varrick struck a handcuffed man in the cells. Officer Lee Tullock stood by. "
    "The board sustained the complaint against Varrick and cleared Tullock.\n\n"
)
SCHEMA = {
    "type": "object",
    "properties": {
        "officers": {"type": "array", "items": {"type": "string"}, "maxItems": 4},
        "outcome": {"type": "string", "enum": ["sustained", "cleared", "unknown"]},
        "cell": {"type": "boolean"},
    },
    "required": ["officers", "outcome", "cell"],
    "additionalProperties": False,
}


def request(text: str, *, max_tokens: int = 200, **changes: Any) -> Request:
    segments = (Segment("system", "You read police records."), Segment("user", RECORD, shared=True))
    return Request(
        (*segments, Segment("user", text)), canonical_json(SCHEMA), Sampling(max_tokens=max_tokens), **changes
    )


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    program = os.environ.get("REDWELL_LLAMA_SERVER") or shutil.which("llama-server")
    if not program:
        pytest.skip("no llama-server: set REDWELL_LLAMA_SERVER, or put it on the PATH (docs/servers.md)")
    if not (models_folder() / MODEL).is_file():
        pytest.skip(f"{MODEL} is not installed in {models_folder()}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["-c", "4096", "-np", "2", "--host", "127.0.0.1", "--port", str(port), "--log-disable"]
    process = subprocess.Popen([program, "-m", str(models_folder() / MODEL), *options])
    try:
        wait_until_ready(process, port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(240):
        if process.poll() is not None:
            pytest.fail(f"llama-server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    pytest.fail("llama-server was not ready within 2 minutes")


def ask_all(address: str, requests: list[Request], **settings: Any) -> tuple[ServerBackend, list[Reply]]:
    async def work() -> tuple[ServerBackend, list[Reply]]:
        backend = await asyncio.to_thread(ServerBackend, address, settings=ServerSettings(**settings))
        try:
            counted = [await asyncio.to_thread(backend.count_prompt_tokens, each) for each in requests]
            replies = await asyncio.gather(*(backend.ask(each) for each in requests))
        finally:
            await backend.close()
        if "schema mode json_schema" in backend.told:
            assert [reply.prompt_tokens for reply in replies] == counted
        return backend, list(replies)

    return asyncio.run(work())


def test_it_enforces_the_schema_counts_exactly_and_says_how_sure_it_is(address: str) -> None:
    questions = [request(f"Who is named, and what came of it? ({n})", probabilities=True) for n in range(4)]
    backend, replies = ask_all(address, questions)
    assert backend.told.startswith("llama-server, ")
    assert "schema mode json_schema" in backend.told
    assert backend.context_tokens == 2048
    for reply in replies:
        assert find_misfit(reply.value, SCHEMA) is None
        assert 0 < reply.sampled_tokens <= 200
        assert {"/outcome", "/cell"} <= set(reply.probabilities)
        assert all(0 < p <= 1.000001 for p in reply.probabilities.values())
        assert sum(reply.alternatives["/outcome"].values()) == pytest.approx(1)
        chosen = reply.alternatives["/outcome"][reply.value["outcome"]]
        assert chosen == pytest.approx(max(reply.alternatives["/outcome"].values()))
    assert max(reply.reused_tokens for reply in replies) > 20


@pytest.mark.parametrize("mode", ["json_object", "prompt"])
def test_it_can_be_asked_the_other_ways(address: str, mode: str) -> None:
    _, [reply] = ask_all(address, [request("Who is named, and what came of it?")], schema_mode=mode)
    assert find_misfit(reply.value, SCHEMA) is None


def test_its_limits_are_heard(address: str) -> None:
    with pytest.raises(PromptTooLong):
        ask_all(address, [request("struck a man " * 1000)])
    with pytest.raises(OutOfTokens):
        ask_all(address, [request("Who?", max_tokens=3)])


def test_cancelling_lets_the_next_request_in(address: str) -> None:
    async def work() -> Reply:
        backend = await asyncio.to_thread(ServerBackend, address, settings=ServerSettings(requests=1))
        long = request("Who is named? Write everything twice.", max_tokens=1500)
        begun = asyncio.create_task(backend.ask(long))
        await asyncio.sleep(0.5)
        begun.cancel()
        await asyncio.wait([begun])
        reply = await backend.ask(request("Who?"))
        await backend.close()
        return reply

    assert find_misfit(asyncio.run(work()).value, SCHEMA) is None
