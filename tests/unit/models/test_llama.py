"""The llama.cpp backend around a runtime of our own: how requests are settled, whatever happens to the thread."""

from __future__ import annotations

import asyncio
import json
import threading
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llguidance import LLTokenizer, TokenizerWrapper
from numpy.typing import NDArray

import models.llama
from models.environment import LEAST_CONTEXT
from models.errors import InvalidSchema, ModelCrashed, ModelError, OutOfTokens, PromptTooLong
from models.guides import GuideCompiler
from models.llama import LlamaBackend
from models.llama_runtime import MOST_SLOTS, LlamaSettings
from models.protocol import ModelBackend, Reply, Request, Sampling, Segment

END = 256

# One test makes the model's thread die on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


class Bytes:
    eos_token_id = END
    bos_token_id = None
    tokens = [*(bytes([b]) for b in range(256)), b"<|end|>"]
    special_token_ids = [END]

    def __call__(self, text: bytes) -> list[int]:
        return list(text)


class FakeRuntime:
    """Bytes as tokens; logits by the history of the sequence."""

    vocabulary = None
    chat_template = None

    def __init__(self, path: Path, settings: Any) -> None:
        self.cells = settings.context_tokens or 2048
        self.histories: dict[int, list[int]] = {}
        self.gate = threading.Event()
        self.gate.set()
        self.failure: Exception | None = None
        self.closed = False

    def special_text(self, name: str) -> str:
        return ""

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        assert not self.closed, "the vocabulary is freed"
        return list(text.encode())

    def evaluate_tokens(self, items: Sequence[tuple[int, int, int, bool]]) -> list[NDArray[np.float32]]:
        self.gate.wait()
        if self.failure is not None:
            raise self.failure
        logits = []
        for token, position, sequence, wanted in items:
            history = self.histories.setdefault(sequence, [])
            assert position == len(history)
            history.append(token)
            if wanted:
                seed = zlib.crc32(bytes(t % 256 for t in history))
                logits.append(np.random.default_rng(seed).normal(size=END + 1).astype(np.float32))
        return logits

    def copy_prefix(self, source: int, target: int, length: int) -> None:
        self.histories[target] = self.histories[source][:length]

    def forget(self, sequence: int, start: int = 0) -> None:
        del self.histories.setdefault(sequence, [])[start:]

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlamaBackend]:
    compiler = GuideCompiler(LLTokenizer(TokenizerWrapper(Bytes())))
    monkeypatch.setattr(models.llama, "LlamaRuntime", FakeRuntime)
    monkeypatch.setattr(GuideCompiler, "from_llama_vocabulary", lambda vocabulary, layout: compiler)
    made = LlamaBackend(Path("none.gguf"), digest="d", name="fake", settings=LlamaSettings(running=4, kept=4))
    yield made
    runtime(made).gate.set()
    asyncio.run(made.close())
    assert not made._thread.is_alive()


def runtime(backend: LlamaBackend) -> FakeRuntime:
    fake = backend._runtime
    assert isinstance(fake, FakeRuntime)
    return fake


CHOICE = {
    "type": "object",
    "properties": {"x": {"enum": ["left", "right"]}},
    "required": ["x"],
    "additionalProperties": False,
}


def request(text: str = "Which?", schema: Any = CHOICE, max_tokens: int = 200) -> Request:
    return Request((Segment("user", text),), json.dumps(schema), Sampling(max_tokens=max_tokens))


async def start(backend: LlamaBackend, count: int) -> list[asyncio.Task[Any]]:
    tasks = [asyncio.create_task(backend.ask(request(f"Which? {i}"))) for i in range(count)]
    await asyncio.sleep(0)
    return tasks


async def errors_of(tasks: list[asyncio.Task[Any]]) -> list[type]:
    return [type(r) for r in await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 20)]


async def test_many_requests_at_once_are_answered_as_one_by_one(backend: LlamaBackend) -> None:
    assert isinstance(backend, ModelBackend)
    together = await asyncio.gather(*(backend.ask(request(f"Which? {i % 7}")) for i in range(21)))
    alone = [await backend.ask(request(f"Which? {i}")) for i in range(7)]
    assert [r.value for r in together] == [alone[i % 7].value for i in range(21)]
    assert all(r.prompt_tokens == backend.count_prompt_tokens(request("Which? 0")) for r in together)


@pytest.mark.parametrize(("schema", "kind"), [({"type": "integer"}, int), ({"const": {"a": [1]}}, dict)])
async def test_a_number_at_the_top_and_a_value_without_a_choice_are_replies(
    backend: LlamaBackend, schema: Any, kind: type
) -> None:
    reply = await asyncio.wait_for(backend.ask(request(schema=schema)), 20)
    assert type(reply.value) is kind
    assert json.loads(reply.text) == reply.value


async def test_out_of_tokens_has_the_text_so_far(backend: LlamaBackend) -> None:
    with pytest.raises(OutOfTokens, match="limit 9") as caught:
        await backend.ask(request(schema={"type": "string", "minLength": 100}, max_tokens=9))
    assert caught.value.partial.startswith('"')
    assert "max_tokens" in caught.value.advice
    assert caught.value.is_final
    assert caught.value.sampled_tokens + caught.value.forced_tokens == 9


async def test_a_reply_that_the_context_cuts_says_so(backend: LlamaBackend) -> None:
    room = 300
    text = "x" * (backend.context_tokens - backend.count_prompt_tokens(request("")) - room)
    with pytest.raises(OutOfTokens, match=f"limit {room}") as caught:
        await backend.ask(request(text, schema={"type": "string", "minLength": 900}, max_tokens=5000))
    assert "context of 2048" in caught.value.advice
    assert not caught.value.is_final


async def test_a_prompt_that_does_not_fit_names_the_numbers(backend: LlamaBackend) -> None:
    with pytest.raises(PromptTooLong, match=r"2048 tokens$") as caught:
        await backend.ask(request("x" * 1900, max_tokens=4000))
    assert caught.value.prompt_tokens == backend.count_prompt_tokens(request("x" * 1900))
    assert caught.value.reply_tokens == 256


async def test_a_schema_that_cannot_be_compiled_fails_its_request_alone(backend: LlamaBackend) -> None:
    good, bad = await asyncio.gather(
        backend.ask(request()), backend.ask(request(schema={"type": "text"})), return_exceptions=True
    )
    assert good.value["x"] in ("left", "right")  # type: ignore[union-attr]
    assert isinstance(bad, InvalidSchema)


async def test_closing_fails_what_waits_and_what_comes(backend: LlamaBackend) -> None:
    runtime(backend).gate.clear()
    tasks = await start(backend, 9)
    closing = asyncio.create_task(backend.close())
    await asyncio.sleep(0.01)
    runtime(backend).gate.set()
    await closing
    kinds = await errors_of(tasks)
    assert set(kinds) <= {Reply, ModelCrashed}
    assert kinds.count(ModelCrashed) >= 5  # the batch in progress may finish the four that run
    await backend.close()
    with pytest.raises(ModelCrashed, match="closed"):
        await backend.ask(request())
    with pytest.raises(ModelCrashed, match="closed"):
        backend.count_tokens("text that was never counted before")


async def test_a_crash_fails_the_requests_in_flight_and_the_next_are_answered(backend: LlamaBackend) -> None:
    runtime(backend).failure = ModelCrashed("told to")
    assert await errors_of(await start(backend, 6)) == [ModelCrashed] * 6
    runtime(backend).failure = None
    assert (await backend.ask(request())).value["x"] in ("left", "right")


async def test_a_thread_that_dies_leaves_nobody_waiting(backend: LlamaBackend, capfd: Any) -> None:
    runtime(backend).failure = MemoryError("none left")
    assert await errors_of(await start(backend, 6)) == [ModelCrashed] * 6
    with pytest.raises(ModelCrashed, match="has stopped"):
        await backend.ask(request())


async def test_a_cancelled_request_leaves_the_others(backend: LlamaBackend) -> None:
    runtime(backend).gate.clear()
    tasks = await start(backend, 8)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.sleep(0)
    runtime(backend).gate.set()
    kinds = await errors_of(tasks)
    assert kinds[::2] == [asyncio.CancelledError] * 4
    assert asyncio.CancelledError not in kinds[1::2]
    assert ModelCrashed not in kinds


def test_a_loop_that_ended_with_requests_in_flight_does_not_stop_the_model(backend: LlamaBackend) -> None:
    async def leave() -> None:
        runtime(backend).gate.clear()
        job_sent = asyncio.get_running_loop().create_task(backend.ask(request("left behind")))
        await asyncio.sleep(0)
        job_sent.remove_done_callback(lambda _: None)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(leave())
    left = asyncio.all_tasks(loop)
    loop.close()
    runtime(backend).gate.set()
    assert asyncio.run(backend.ask(request())).value["x"] in ("left", "right")
    for task in left:
        task._log_destroy_pending = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", ["0", "-4", "many", "1e4", "9" * 30, "½", "1_000", "٣"])
@pytest.mark.parametrize("name", ["REDWELL_CONTEXT_TOKENS", "REDWELL_THREADS", "REDWELL_SEQUENCES"])
def test_a_wrong_environment_variable_is_an_error_with_its_range(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ModelError, match=name) as caught:
        LlamaSettings.from_environment()
    assert "whole number from" in caught.value.advice


def test_the_environment_sets_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("CONTEXT_TOKENS", str(LEAST_CONTEXT)), ("THREADS", " 2 "), ("SEQUENCES", "7")):
        monkeypatch.setenv(f"REDWELL_{name}", value)
    settings = LlamaSettings.from_environment()
    assert (settings.context_tokens, settings.threads, settings.running) == (LEAST_CONTEXT, 2, 7)
    for name in ("CONTEXT_TOKENS", "THREADS", "SEQUENCES"):
        monkeypatch.setenv(f"REDWELL_{name}", "")
    assert LlamaSettings.from_environment() == LlamaSettings()
    monkeypatch.setenv("REDWELL_SEQUENCES", str(MOST_SLOTS))
    with pytest.raises(ModelError, match="REDWELL_SEQUENCES"):
        LlamaSettings.from_environment()
