"""How fast a model reads and writes on this machine: measured in a child process.

Of a model that the catalogue does not know, the layout that it answers best in is found on the way.

Run as a program (`python -m models.measuring MODEL.gguf`) it is the child: it loads the model, reads some prompts,
writes some replies at once, and prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from models.download import never
from models.errors import InstallStopped, ModelError
from models.fence.process import die_with_parent
from models.install import find_model
from models.isolation.cage import end, report
from models.layouts import can_lay_out, choose_layout
from models.protocol import ModelBackend, Reply, Request, Sampling, Segment, canonical_json
from models.rates import Rates, remember_rates
from models.selftest import run_caged, run_child

TIMEOUT_SECONDS = 1800.0
READING_SECONDS, READINGS = 4.0, 4
"""Prompts are read one behind the other for so long, and no more of them: reading keeps the machine busy by itself."""

REPLIES = (8, 16, 32)
"""How many replies are written at once, as a run writes them: first the number of which the rate is told."""

LAYOUT_OPTION = "--layout"
"""Tells the child to find the layout too, which the catalogue knows of its own models."""

GAIN = 0.05
"""More replies at once are worth it where so much more is written in sum: each holds cells of the context."""

PASSAGE = (
    "On the third of May the harbour master wrote to the council that the crane had not been inspected since the "
    "winter, and that two men had asked for it in writing. The council answered that it had no record of the letter. "
)
MOST_NUMBERS, LEAST_NUMBERS = 16, 4
TOKENS_READ_PER_NUMBER = 12.0
"""A model that reads so many tokens a second is asked for one number more in a reply, so that it is done in seconds."""


async def measure(backend: ModelBackend) -> Rates:
    """Time some prompts that share nothing, then replies that are written together: half a minute or so."""
    await backend.ask(_reading(-1, 1))  # what is slow once (a grammar, pages of the file) is not counted
    began = time.perf_counter()
    read: list[Reply] = []
    while len(read) < READINGS and (not read or time.perf_counter() - began < READING_SECONDS):
        read.append(await backend.ask(_reading(len(read), 8)))
    reading_seconds = time.perf_counter() - began
    prompt_rate = sum(r.prompt_tokens - r.reused_tokens for r in read) / max(reading_seconds, 1e-6)
    numbers = int(min(MOST_NUMBERS, max(LEAST_NUMBERS, prompt_rate / TOKENS_READ_PER_NUMBER)))
    written = {
        count: await _writing_rate(backend, count, max(LEAST_NUMBERS, numbers * REPLIES[0] // count), prompt_rate)
        for count in REPLIES
    }
    return Rates(
        prompt_per_second=round(prompt_rate, 1),
        sampled_per_second=round(written[REPLIES[0]], 1),
        replies_at_once=best_count(written),
        characters_per_token=round(len(PASSAGE) / max(1, backend.count_tokens(PASSAGE)), 2),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def best_count(rates: Mapping[int, float]) -> int:
    """Return the smallest number of replies at once whose rate is within GAIN of the best."""
    best = max(rates.values())
    return min(count for count, rate in rates.items() if rate * (1 + GAIN) >= best)


async def _writing_rate(backend: ModelBackend, replies: int, numbers: int, prompt_rate: float) -> float:
    """Return the tokens that so many replies of so many numbers write per second in sum."""
    began = time.perf_counter()
    written = await asyncio.gather(*(backend.ask(_writing(replies * 100 + i, numbers)) for i in range(replies)))
    seconds = time.perf_counter() - began - sum(r.prompt_tokens - r.reused_tokens for r in written) / prompt_rate
    return sum(r.sampled_tokens for r in written) / max(seconds, 1e-6)


def _reading(number: int, repeats: int) -> Request:
    text = f"Record {number * 7919 + 13}. " + PASSAGE * repeats + "Is the crane mentioned?"
    return Request((Segment("user", text),), canonical_json({"type": "boolean"}), Sampling(max_tokens=8))


def _writing(number: int, count: int) -> Request:
    text = f"List {number * 31 + 17}: write {count} numbers below a thousand."
    items = {"type": "integer", "minimum": 0, "maximum": 999}
    schema = {"type": "array", "items": items, "minItems": count, "maxItems": count}
    return Request((Segment("user", text),), canonical_json(schema), Sampling(max_tokens=512), seed=number)


def measure_model(name: str = "", *, is_given_up: Callable[[], bool] = never) -> Rates:
    """Measure an installed model in a child process and remember it; "" is the default model. Raises ModelError.

    The layout of replies is tried for models that are not of the catalogue. Given up, it stops soon.
    """
    model = find_model(name)
    options = [] if model.entry else [LAYOUT_OPTION]
    answer = run_child(
        "models.measuring", model.path, *options, timeout_seconds=TIMEOUT_SECONDS, is_given_up=is_given_up
    )
    if answer is None and is_given_up():
        raise InstallStopped("measuring was stopped", advice="Measure the model again.")
    if answer is None:
        raise ModelError(f"measuring took longer than {TIMEOUT_SECONDS:.0f} s", advice="Close other programs.")
    try:
        rates = Rates(**json.loads((answer.stdout.strip().splitlines() or [""])[-1]))
    except (ValueError, TypeError) as error:
        reason = (answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"])[-1]
        raise ModelError(f"the model could not be measured: {reason}", advice="See `redwell doctor`.") from error
    remember_rates(model, rates)
    return rates


async def _measure_file(path: Path, *, with_layout: bool) -> Rates:
    # Imported here: the parent must not load the runtime that may crash.
    from models.opening import open_here  # noqa: PLC0415
    from models.protocol import ModelSpec, runtime_of  # noqa: PLC0415

    backend = open_here(ModelSpec(runtime_of(path), path.stem, str(path), "rates", {"context_tokens": 8192}))
    try:
        rates = await measure(backend)
        if with_layout and can_lay_out(backend):
            rates = dataclasses.replace(rates, layout=await choose_layout(backend))
        return rates
    finally:
        await backend.close()


if __name__ == "__main__":
    die_with_parent()
    measuring = partial(_measure_file, with_layout=LAYOUT_OPTION in sys.argv[2:])
    end(report(lambda: dataclasses.asdict(run_caged(Path(sys.argv[1]), measuring))))
