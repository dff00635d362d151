"""What the end of a process means, and which settings the next one has."""

from __future__ import annotations

import signal

import pytest

from models.isolation.ending import Ending, given_up, load_crash, poison
from models.isolation.supervisor import context_needed, describe, smaller
from models.protocol import Request, Sampling, Segment

KILL, SEGV, ABRT, TERM = (-int(s) for s in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM))


@pytest.mark.parametrize(
    ("ending", "outside", "memory", "reason"),
    [
        (Ending(KILL), True, False, "it was killed (SIGKILL)"),
        (Ending(TERM), True, False, "it was killed (SIGTERM)"),
        (Ending(KILL, memory_kills=1), True, True, "it ran out of memory (SIGKILL)"),
        (Ending(SEGV), False, False, "it crashed (SIGSEGV)"),
        (Ending(SEGV, memory_kills=1), False, False, "it crashed (SIGSEGV)"),
        (Ending(ABRT, "terminate: std::bad_alloc"), False, True, "it ran out of memory (SIGABRT)"),
        (Ending(1, "MemoryError\n"), False, True, "it ran out of memory (exit code 1)"),
        (Ending(3), False, False, "it ended with exit code 3"),
        (Ending(0xC0000005), False, False, "it ended with exit code 0xc0000005"),
        (Ending(KILL, fault="it wrote what is no reply: 'x'"), False, False, "it wrote what is no reply: 'x'"),
    ],
)
def test_what_an_end_means(ending, outside, memory, reason):
    assert (ending.is_from_outside, ending.is_for_memory) == (outside, memory)
    assert ending.reason == reason


def test_the_last_words_are_the_last_lines_without_control_characters():
    complaint = "\n".join(f"line {n}\x1b[31m\r" for n in range(20))
    assert Ending(SEGV, complaint).last_words == " | ".join(f"line {n}[31m" for n in range(15, 20))
    for make in (poison, load_crash):
        assert "line 19" in str(make("tiny", Ending(SEGV, complaint)))
        assert "SIGSEGV" in str(make("tiny", Ending(SEGV)))
    assert "12 times" in str(given_up("tiny", 12, "it was killed", Ending(KILL)))


LLAMA = {"context_tokens": 32768, "running": 16, "kept": 16, "threads": None, "batch_tokens": 512, "gpu_layers": 0}


def test_smaller_settings_are_half_as_large_down_to_their_least():
    first = smaller(LLAMA, 0)
    assert first == {"context_tokens": 16384, "running": 8, "kept": 8, "batch_tokens": 256}
    settings, steps = LLAMA, 0
    while changed := smaller(settings, 0):
        settings, steps = {**settings, **changed}, steps + 1
    assert steps == 6  # 32768 / 512 = 2 ** 6
    assert settings == {**LLAMA, "context_tokens": 512, "running": 1, "kept": 0, "batch_tokens": 64}


def test_the_context_is_not_made_too_small_for_what_waits():
    assert smaller(LLAMA, 20_000)["context_tokens"] == 20_000
    assert "context_tokens" not in smaller(LLAMA, 40_000)
    assert "context_tokens" not in smaller({**LLAMA, "context_tokens": None}, 0)
    long, short = (Request((Segment("user", "x" * n),), "{}", Sampling(max_tokens=100)) for n in (10_000, 10))
    assert context_needed([short, long], 0.5) == 5120  # 5,100 up to the next multiple of 256
    assert context_needed([], 0.5) == 0


def test_what_changed_is_said_in_words():
    assert describe(smaller(LLAMA, 0)) == (
        "now with a context of 16,384 tokens, 8 requests at once, 256 tokens in one step"
    )
    assert describe({}) == "with the same settings"
