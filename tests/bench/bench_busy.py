"""What is lost beside other programs: `redwell bench busy`. REDWELL_BENCH_MODEL names the model.

A model reads and writes alone, then beside one busy loop per core, ROUNDS times in turn. The loops are in one session,
as the processes of a browser are: Linux divides the processor among sessions (sched_autogroup), so the model's share is
a half, and a rate of a half is lost 1.0 times. Loops in two sessions would leave it a third. Rates that were measured
before stay as they were.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from needs import installed

from models.measuring import measure_model
from models.rates import Rates, remember_rates, remembered_rates

MODEL = os.environ.get("REDWELL_BENCH_MODEL", "qwen2.5-coder-1.5b")
ROUNDS = int(os.environ.get("REDWELL_BENCH_ROUNDS", "3"))
SHARE = 0.5
"""Of the processor, beside one busy loop per core."""

LOOPS = """
import os, sys
for _ in range(int(sys.argv[1]) - 1):
    if not os.fork():
        break
while True:
    pass
"""


@contextlib.contextmanager
def busy_loops() -> Iterator[None]:
    """Keep each core busy at normal priority."""
    cores = len(os.sched_getaffinity(0))
    loops = subprocess.Popen([sys.executable, "-c", LOOPS, str(cores)], start_new_session=True)  # noqa: S603 - our own
    try:
        yield
    finally:
        os.killpg(loops.pid, signal.SIGKILL)
        loops.wait()


def lost(alone: float, beside: float) -> float:
    """Return by what factor a rate is below the fair share of the rate alone."""
    return alone * SHARE / beside


def test_beside_busy_loops() -> None:
    found = installed(MODEL)
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
