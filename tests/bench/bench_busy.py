"""What is lost beside other programs: `redwell bench busy`. REDWELL_BENCH_MODEL names the model.

A model reads and writes alone, then beside one busy loop per core, each of them in a session of its own as a browser
is; ROUNDS times in turn. With one loop per core the model's fair share of the processor is a half, so a rate of a half
is lost 1.0 times, and of a third 1.5 times. Rates that were measured before stay as they were.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

import pytest

from models.errors import ModelMissing
from models.install import find_model
from models.measuring import measure_model
from models.rates import Rates, remember_rates, remembered_rates

MODEL = os.environ.get("REDWELL_BENCH_MODEL", "qwen2.5-coder-1.5b")
ROUNDS = int(os.environ.get("REDWELL_BENCH_ROUNDS", "3"))
SHARE = 0.5
"""Of the processor, beside one busy loop per core."""


@contextlib.contextmanager
def busy_loops() -> Iterator[None]:
    """Keep each core busy at normal priority."""
    cores = len(os.sched_getaffinity(0))
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)  # noqa: S603 - our own
        for _ in range(cores)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def lost(alone: float, beside: float) -> float:
    """Return by what factor a rate is below the fair share of the rate alone."""
    return alone * SHARE / beside


def test_beside_busy_loops() -> None:
    try:
        found = find_model(MODEL)
    except ModelMissing as error:
        pytest.skip(str(error))
    before = remembered_rates(found.sha256)
    alone: list[Rates] = []
    beside: list[Rates] = []
    for _ in range(ROUNDS):
        alone.append(measure_model(MODEL))
        with busy_loops():
            beside.append(measure_model(MODEL))
    if before is not None:
        remember_rates(found, before)
    for what, name in (("reading", "prompt_per_second"), ("writing", "sampled_per_second")):
        quiet, loaded = (sorted(getattr(rates, name) for rates in side) for side in (alone, beside))
        print(
            f"{what}: alone {quiet} tokens/s, beside busy loops {loaded},"
            f" lost {lost(median(quiet), median(loaded)):.2f} times"
        )
