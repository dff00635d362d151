"""What long use does to a backend: random requests for minutes, thousands in the queue, neighbours, cancellations.

`redwell bench endurance`. REDWELL_SOAK_MINUTES (10) and REDWELL_SOAK_MODEL (qwen2.5-coder-0.5b) change what is run.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import llama_cpp
import psutil
import pytest

from models.errors import ModelError, OutOfTokens, PromptTooLong, TimedOut
from models.fits import find_misfit
from models.install import find_model
from models.llama import LlamaBackend
from models.llama_runtime import LlamaSettings
from models.protocol import Reply, Request, Sampling, Segment

MODEL = os.environ.get("REDWELL_SOAK_MODEL", "qwen2.5-coder-0.5b")
MINUTES = float(os.environ.get("REDWELL_SOAK_MINUTES", "10"))
EXPECTED_FAILURES = (OutOfTokens, PromptTooLong, TimedOut)
SENTENCES = [
    f"On day {n} the patrol stopped vehicle {n * 7919 % 9973} and officer {n % 41} wrote it down. " for n in range(400)
]


def record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


SCHEMAS = [
    {"type": "boolean"},
    record(sure={"type": "boolean"}, count={"type": "integer", "minimum": 0, "maximum": 99}),
    record(names={"type": "array", "items": {"type": "string", "maxLength": 30}, "maxItems": 4}),
    record(text={"type": "string", "maxLength": 120}),
    record(quote={"enum": [sentence.strip() for sentence in SENTENCES[:12]]}),
    record(verdict={"enum": ["sustained", "not sustained", "unfounded"]}, why={"type": "string", "maxLength": 60}),
]


@pytest.fixture
def backend() -> Iterator[LlamaBackend]:
    found = find_model(MODEL)
    settings = LlamaSettings.from_environment(context_tokens=8192)
    made = LlamaBackend(found.path, digest=found.sha256, name=MODEL, settings=settings)
    yield made
    asyncio.run(made.close())


def a_request(chance: random.Random) -> Request:
    """Make a request of random length, document, schema, sampling and limit."""
    start, size = chance.randrange(20), int(chance.paretovariate(0.7)) % 200
    document = "".join(SENTENCES[start * 10 : start * 10 + size])
    return Request(
        (
            Segment("system", "Answer in JSON."),
            Segment("user", document, shared=True),
            Segment("user", f"Ask {chance.randrange(9)}?"),
        ),
        json.dumps(chance.choice(SCHEMAS)),
        Sampling(chance.choice([0.0, 0.0, 0.8]), chance.choice([4, 60, 200, 4000])),
        seed=chance.randrange(5),
        probabilities=chance.random() < 0.2,
        timeout_seconds=0.5 if chance.random() < 0.03 else None,
    )


async def soak(backend: LlamaBackend, minutes: float) -> Counter[str]:
    """Keep 100 askers busy; one in ten gives up at a random moment."""
    chance = random.Random(7)
    ends = Counter[str]()
    until = time.monotonic() + 60 * minutes

    async def asker() -> None:
        while time.monotonic() < until:
            asked = a_request(chance)
            patience = chance.random() * 4 if chance.random() < 0.1 else None
            try:
                reply = await asyncio.wait_for(backend.ask(asked), patience)
                assert find_misfit(reply.value, asked.schema) is None, reply.text
                ends["replied"] += 1
            except TimeoutError:
                ends["gave up"] += 1
            except EXPECTED_FAILURES as error:
                ends[type(error).__name__] += 1

    await asyncio.gather(*(asker() for _ in range(100)))
    return ends


async def come_to_rest(backend: LlamaBackend) -> None:
    while not backend._scheduler.idle:
        await asyncio.sleep(0.1)


def length_in_cache(backend: LlamaBackend, sequence: int) -> int:
    return llama_cpp.llama_memory_seq_pos_max(backend._runtime._memory, sequence) + 1


def test_soak(backend: LlamaBackend) -> None:
    """After minutes of random requests no sequence, cell, job or thread is left over."""
    process = psutil.Process()
    asyncio.run(soak(backend, min(0.2, MINUTES)))  # grammars, pages and caches are warm
    before, threads_before = process.memory_info().rss, threading.active_count()
    ends = asyncio.run(soak(backend, MINUTES))
    asyncio.run(come_to_rest(backend))
    table = backend._scheduler._table
    print(f"\nsoak of {MINUTES:g} minutes with {MODEL}: {dict(ends)}")
    print(f"counters: {backend._scheduler.counters}")
    print(f"memory: {before / 1e6:.0f} MB before, {process.memory_info().rss / 1e6:.0f} MB after")
    assert not any(slot.busy for slot in table.slots)
    for slot in table.slots:
        assert length_in_cache(backend, slot.number) == slot.evaluated == len(slot.cells)
        backend._scheduler._cache.clear(slot)
        assert length_in_cache(backend, slot.number) == 0
    assert table.free_tiles == table.tiles(table.capacity)
    # asyncio.run starts and ends a pool of its own for each run; the model's threads stay.
    assert threading.active_count() <= threads_before


def test_two_thousand_queued(backend: LlamaBackend) -> None:
    """Print what 2,000 waiting requests hold, and how long cancelling them takes."""
    process = psutil.Process()

    async def queue_them() -> None:
        await backend.ask(a_request(random.Random(1)))
        gc.collect()
        before = process.memory_info().rss
        chance = random.Random(3)
        tasks = [asyncio.create_task(backend.ask(a_request(chance))) for _ in range(2000)]
        most = 0
        for _ in range(50):
            await asyncio.sleep(0.1)
            most = max(most, process.memory_info().rss)
        began = time.perf_counter()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        waited = time.perf_counter() - began
        await come_to_rest(backend)
        at_rest = time.perf_counter() - began
        gc.collect()
        print(f"\n2,000 queued: {before / 1e6:.0f} MB before, {most / 1e6:.0f} MB at most", end="")
        print(
            f", {process.memory_info().rss / 1e6:.0f} MB after; cancelled in {waited:.2f} s, idle after {at_rest:.2f} s"
        )

    asyncio.run(queue_them())


def test_independence(backend: LlamaBackend) -> None:
    """Print how many greedy replies are the same alone and in a crowd, to the last bit of their probabilities."""

    async def compare() -> None:
        chance = random.Random(11)
        asked = []
        while len(asked) < 60:
            one = dataclasses.replace(
                a_request(chance), sampling=Sampling(0.0, 60), probabilities=True, timeout_seconds=None
            )
            if backend.count_prompt_tokens(one) < 3000:
                asked.append(one)
        alone = [await outcome(one) for one in asked]
        crowd = await asyncio.gather(*(outcome(one) for one in asked * 2))
        same_text = sum(a[0] == b[0] for a, b in zip(alone * 2, crowd, strict=True))
        same_bits = sum(a == b for a, b in zip(alone * 2, crowd, strict=True))
        print(
            f"\nalone and in a crowd: {same_text} of {len(crowd)} replies equal, {same_bits} with equal probabilities"
        )

    async def outcome(one: Request) -> tuple[str, dict[str, float]]:
        reply: Reply | None = None
        with contextlib.suppress(ModelError):
            reply = await backend.ask(one)
        return ("", {}) if reply is None else (reply.text, dict(reply.probabilities))

    asyncio.run(compare())
