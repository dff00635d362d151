"""How a model will do on this machine, before it is loaded: whether it fits into memory, and how fast it will be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from models.fitting import SPARE_BYTES
from models.rates import Rates, remembered_rates
from models.status import ModelStatus

Verdict = Literal["fits", "slow", "will not fit", "cannot be used"]

SLOW_READING = 20.0
"""Tokens a second: a page of about 500 tokens takes half a minute."""

SLOW_WRITING = 3.0
"""Tokens a second, several replies together: a row of 60 tokens takes 20 seconds."""

LEAST_CONTEXT = 4096
"""Tokens of context without which a model is of no use: a few pages and a reply."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What to expect of a model. `rates` is None where no model was measured here, or the model writes nothing.

    `is_estimated`: worked out from `estimated_from`, a model that was measured, by size. `most_context` is the context
    that fits into the memory that can be had now, where the model's whole one does not.
    """

    verdict: Verdict
    why: str
    rates: Rates | None = None
    is_estimated: bool = False
    estimated_from: str = ""
    most_context: int | None = None


def prospects(statuses: Sequence[ModelStatus]) -> list[Prospect]:
    """Say what to expect of each model, in order. Nothing is measured and nothing loaded."""
    measured = {
        status.id: (status, rates)
        for status in statuses
        if status.kind == "language" and status.sha256 and (rates := remembered_rates(status.sha256))
    }
    return [_prospect(status, measured) for status in statuses]


def _prospect(status: ModelStatus, measured: Mapping[str, tuple[ModelStatus, Rates]]) -> Prospect:
    if status.is_broken:
        return Prospect("cannot be used", status.problem)
    available = max(0, status.available_bytes - SPARE_BYTES)
    memory, fitting = status.needs.memory(status.context_tokens, available), status.needs.largest_context(available)
    if not memory.fits and fitting < min(LEAST_CONTEXT, status.context_tokens or LEAST_CONTEXT):
        least = memory.weights_bytes + memory.compute_bytes
        why = f"its weights and work space need {_gb(least)}, and {_gb(available)} can be had"
        return Prospect("will not fit", why)
    rates, origin = _rates(status, measured)
    prospect = Prospect("fits", "", rates, bool(origin), origin, None if memory.fits else fitting)
    space = f"needs {_gb(memory.needed_bytes)} of memory, {_gb(available)} can be had"
    if not memory.fits:
        space = (
            f"its whole context of {status.context_tokens:,} tokens needs {_gb(memory.needed_bytes)} of memory, and "
            f"{_gb(available)} can be had: set the longest text in Settings (REDWELL_CONTEXT_TOKENS) "
            f"to {fitting} or less"
        )
    return replace(prospect, verdict="slow" if rates and is_slow(rates) else "fits", why=space)


def is_slow(rates: Rates) -> bool:
    """Say whether a model reads fewer than SLOW_READING or writes fewer than SLOW_WRITING tokens a second."""
    return rates.prompt_per_second < SLOW_READING or rates.sampled_per_second < SLOW_WRITING


def _rates(status: ModelStatus, measured: Mapping[str, tuple[ModelStatus, Rates]]) -> tuple[Rates | None, str]:
    """Return rates, and the model they were estimated from, "" where they are the model's own.

    Reading and writing both take time in proportion to the weights that are multiplied with.
    """
    if status.id in measured:
        return measured[status.id][1], ""
    if status.kind != "language" or not measured or not status.bytes:
        return None, ""
    nearest, rates = min(measured.values(), key=lambda known: abs(math.log(known[0].bytes / status.bytes)))
    factor = nearest.bytes / status.bytes
    scaled = replace(
        rates,
        prompt_per_second=round(rates.prompt_per_second * factor, 1),
        sampled_per_second=round(rates.sampled_per_second * factor, 1),
        layout="",
    )
    return scaled, nearest.id


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
