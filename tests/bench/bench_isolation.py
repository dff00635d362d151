"""What a process of its own costs: `redwell bench isolation`. REDWELL_BENCH_MODEL names the model.

Memory estimated and taken, a count of tokens in this process and in the other (while the model is idle and while it
works), replies per second either way, time to go on after a kill, and what 2,000 queued requests take here.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
import tracemalloc

import psutil
import pytest
from needs import installed

from models.fitting import needs_of
from models.install import InstalledModel
from models.isolation.backend import IsolatedBackend
from models.llama import LlamaBackend
from models.llama_runtime import LlamaSettings
from models.protocol import ModelBackend, ModelSpec, Request, Sampling, Segment

MODEL = os.environ.get("REDWELL_BENCH_MODEL", "qwen2.5-coder-0.5b")
CONTEXT, COUNTS, CALLS, QUEUED = 8192, 500, 32, 2000
SCHEMA = json.dumps({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
STORY = json.dumps({"type": "string", "minLength": 3000})


@pytest.fixture(scope="module")
def found() -> InstalledModel:
    return installed(MODEL)


def isolated(found: InstalledModel) -> IsolatedBackend:
    return IsolatedBackend(ModelSpec("llama", MODEL, str(found.path), found.sha256, {"context_tokens": CONTEXT}))


def request(text: str, schema: str = SCHEMA, max_tokens: int = 64) -> Request:
    return Request((Segment("user", text),), schema, Sampling(0.0, max_tokens))


def count_milliseconds(backend: ModelBackend, mark: str) -> float:
    began = time.perf_counter()
    for number in range(COUNTS):
        backend.count_tokens(f"{mark} line {number} of a text of which every line is counted for itself")
    return (time.perf_counter() - began) / COUNTS * 1000


async def measure(backend: ModelBackend) -> tuple[float, float, float]:
    """Return milliseconds per count, idle and busy, and seconds for CALLS short calls."""
    idle = count_milliseconds(backend, "idle")
    stories = [asyncio.create_task(backend.ask(request(f"Story {n}.", STORY, 900))) for n in range(8)]
    await asyncio.sleep(2)
    busy = count_milliseconds(backend, "busy")
    for story in stories:
        story.cancel()
    await asyncio.gather(*stories, return_exceptions=True)
    began = time.perf_counter()
    await asyncio.gather(*(backend.ask(request(f"Which number comes after {n}?")) for n in range(CALLS)))
    return idle, busy, time.perf_counter() - began


async def test_counts_and_calls(found: InstalledModel) -> None:
    settings = LlamaSettings.from_environment(context_tokens=CONTEXT)
    made = (LlamaBackend(found.path, digest="0", name=MODEL, settings=settings), "in this process")
    for backend, where in (made, (isolated(found), "in its own")):
        idle, busy, seconds = await measure(backend)
        print(f"{where}: a count {idle:.2f} ms idle, {busy:.2f} ms busy; {CALLS} calls in {seconds:.2f} s")
        await backend.close()


async def test_memory_and_a_kill(found: InstalledModel) -> None:
    backend = isolated(found)
    await backend.ask(request("word " * 1000))
    assert backend.pid is not None
    taken = psutil.Process(backend.pid).memory_full_info().uss
    estimate = needs_of(found.path, found.sha256).memory(CONTEXT, 0).needed_bytes
    print(f"memory of {MODEL} with {CONTEXT} tokens: {estimate / 1e6:,.0f} MB estimated, {taken / 1e6:,.0f} MB taken")
    psutil.Process(backend.pid).kill()
    began = time.perf_counter()
    await backend.ask(request("And now?"))
    print(f"{time.perf_counter() - began:.1f} s from a kill to the next reply")
    await backend.close()


async def test_two_thousand_in_the_queue(found: InstalledModel) -> None:
    backend = isolated(found)
    requests = [request(f"{number} " + "x" * 20_000) for number in range(QUEUED)]
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    tasks = [asyncio.create_task(backend.ask(asked)) for asked in requests]
    await asyncio.sleep(10)
    now, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    began = time.perf_counter()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    seconds = time.perf_counter() - began
    print(f"{QUEUED} queued: {(now - before) / 1e6:.1f} MB beside the requests; all cancelled in {seconds:.2f} s")
    await backend.close()
