"""What the runtime does by itself: rates of reading and writing, and whether logits depend on the surroundings.

`redwell bench kernel` (REDWELL_BENCH_MODEL names another model). The comparisons are those of docs/decisions/0005.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from kernel import BATCH, forget, open_runtime, read, reading_rate, some_tokens, writing_rate
from needs import installed
from numpy.typing import NDArray

from models.llama_runtime import LlamaRuntime

Logits = NDArray[np.float32]
PROMPT, REPLY = 300, 5
"""Tokens of the prompt and of the reply whose logits are compared."""


@pytest.fixture(scope="module")
def runtime() -> Iterator[LlamaRuntime]:
    found = installed(os.environ.get("REDWELL_BENCH_MODEL", "qwen2.5-coder-1.5b"))
    runtime = open_runtime(found.path)
    print(f"\n{found.path.name}, {runtime.settings.threads} threads")
    read(runtime, [some_tokens(runtime, BATCH)])
    forget(runtime, [0])
    yield runtime
    runtime.close()


def test_rates(runtime: LlamaRuntime) -> None:
    """Print tokens per second, and how long small batches take."""
    for length in (512, 1024, 2048):
        print(f"reading {length} tokens: {reading_rate(runtime, length):.0f} tokens/s")
    for sequences in (1, 2, 4, 8, 16):
        rate = writing_rate(runtime, 1024, sequences)
        print(f"writing with {sequences} replies behind 1,024 tokens: {rate:.1f} tokens/s in sum")
    for count in (1, 2, 4, 8, 16, 17, 32, 33, 64, 96, 128, 129, 160, 192, 256, 512):
        print(f"{count} tokens in one call behind 1,024: {_behind(runtime, 1024, count) * 1000:.0f} ms")
    print(f"reading 60 tokens behind 2,048: {_behind(runtime, 2048, 60):.2f} s")


def _behind(runtime: LlamaRuntime, before: int, count: int) -> float:
    """Return the median seconds of evaluating so many tokens of one sequence at once, behind `before` others."""
    tokens = some_tokens(runtime, before + 8 * count)
    read(runtime, [tokens[:before]])
    seconds = []
    for turn in range(6):
        start = before + turn * count
        began = time.perf_counter()
        runtime.evaluate_tokens([(tokens[p], p, 0, p == start + count - 1) for p in range(start, start + count)])
        seconds.append(time.perf_counter() - began)
    forget(runtime, [0])
    return statistics.median(seconds)


def test_surroundings(runtime: LlamaRuntime) -> None:
    """Print for each surrounding how far the logits are from those of the prompt by itself; 0 is to the last bit."""
    tokens = some_tokens(runtime, PROMPT + REPLY)
    alone = _logits(runtime, tokens, _by_itself)
    for name, way in WAYS.items():
        told = _logits(runtime, tokens, way)
        apart = max(float(np.abs(a - b).max()) for a, b in zip(alone, told, strict=True))
        print(f"{name}: {'equal to the last bit' if apart == 0 else f'up to {apart:.2g} apart'}")


Way = Callable[[LlamaRuntime, list[int]], list[Logits]]


def _logits(runtime: LlamaRuntime, tokens: list[int], way: Way) -> list[Logits]:
    """Return the logits behind the prompt and behind each token of the reply; everything is forgotten after."""
    found = way(runtime, tokens)
    forget(runtime, range(runtime.settings.slots))
    return found


def _part(
    runtime: LlamaRuntime, tokens: list[int], first: int, end: int, sequence: int = 0, cut: int = BATCH
) -> Logits:
    """Evaluate positions `first` to `end` (exclusive), `cut` at once; return the logits behind the last."""
    last: Logits = np.empty(0, np.float32)
    for begin in range(first, end, cut):
        stop = min(begin + cut, end)
        items = [(tokens[p], p, sequence, p == end - 1) for p in range(begin, stop)]
        found = runtime.evaluate_tokens(items)
        last = found[0].copy() if found else last
    return last


def _reply(runtime: LlamaRuntime, tokens: list[int], sequence: int = 0, others: int = 0) -> list[Logits]:
    """Evaluate the reply token by token, with a token of so many other sequences beside each."""
    found = []
    for position in range(PROMPT, PROMPT + REPLY):
        beside = [(tokens[position - 7], position - PROMPT + 64, 10 + n, False) for n in range(others)]
        [logits] = runtime.evaluate_tokens([*beside, (tokens[position], position, sequence, True)])
        found.append(logits.copy())
    return found


def _by_itself(runtime: LlamaRuntime, tokens: list[int]) -> list[Logits]:
    return [_part(runtime, tokens, 0, PROMPT), *_reply(runtime, tokens)]


def _cut(count: int) -> Way:
    def way(runtime: LlamaRuntime, tokens: list[int]) -> list[Logits]:
        return [_part(runtime, tokens, 0, PROMPT, cut=count), *_reply(runtime, tokens)]

    return way


def _elsewhere(runtime: LlamaRuntime, tokens: list[int]) -> list[Logits]:
    return [_part(runtime, tokens, 0, PROMPT, sequence=9), *_reply(runtime, tokens, sequence=9)]


def _copied(runtime: LlamaRuntime, tokens: list[int]) -> list[Logits]:
    _part(runtime, tokens, 0, 200, sequence=1)
    runtime.copy_prefix(1, 2, 200)
    return [_part(runtime, tokens, 200, PROMPT, sequence=2), *_reply(runtime, tokens, sequence=2)]


def _among(runtime: LlamaRuntime, tokens: list[int]) -> list[Logits]:
    """Another sequence is read before, another between two halves of the prompt."""
    _part(runtime, some_tokens(runtime, 100, start=3), 0, 100, sequence=4)
    _part(runtime, tokens, 0, 150)
    _part(runtime, some_tokens(runtime, 70, start=5), 0, 70, sequence=5)
    return [_part(runtime, tokens, 150, PROMPT), *_reply(runtime, tokens)]


def _one_batch_with_others(runtime: LlamaRuntime, tokens: list[int]) -> list[Logits]:
    other = some_tokens(runtime, 100, start=3)
    items = [(other[p], p, 4, False) for p in range(100)]
    items += [(tokens[p], p, 0, p == PROMPT - 1) for p in range(PROMPT)]
    items += [(other[p], p, 5, False) for p in range(90)]
    [logits] = runtime.evaluate_tokens(items)
    return [logits.copy(), *_reply(runtime, tokens)]


def _beside_three(runtime: LlamaRuntime, tokens: list[int]) -> list[Logits]:
    for number in range(3):
        _part(runtime, some_tokens(runtime, 64, start=number), 0, 64, sequence=10 + number)
    return [_part(runtime, tokens, 0, PROMPT), *_reply(runtime, tokens, others=3)]


def _reply_at_once(runtime: LlamaRuntime, tokens: list[int]) -> list[Logits]:
    first = _part(runtime, tokens, 0, PROMPT)
    found = runtime.evaluate_tokens([(tokens[p], p, 0, True) for p in range(PROMPT, PROMPT + REPLY)])
    return [first, *(logits.copy() for logits in found)]


WAYS: dict[str, Way] = {
    "the prompt in cuts of 7": _cut(7),
    "in cuts of 64": _cut(64),
    "in cuts of 200": _cut(200),
    "in another sequence": _elsewhere,
    "behind a copied prefix": _copied,
    "with other sequences before and between": _among,
    "in one batch with two other prompts": _one_batch_with_others,
    "the reply beside three others": _beside_three,
    "the reply in one batch": _reply_at_once,
}
