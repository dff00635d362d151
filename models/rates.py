"""How fast a model reads and writes on this machine, as models.measuring found: remembered in the per-user cache."""

from __future__ import annotations

import dataclasses
import os
import platform
import re
from dataclasses import dataclass

from models.cache_place import note, noted
from models.hardware import CPUINFO, read_cpu, usable_cores
from models.install import InstalledModel, find_model, list_models
from models.layouts import DEFAULT_LAYOUT, LayoutName, layout_named

RATES = "rates.json"
"""Where rates are noted."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What one machine does with one model. `sampled_per_second` is that of eight replies together.

    `replies_at_once`: of how many replies at once most is written; 0 where that was not measured. `layout` is the one
    (models.layouts) in which short questions were answered best, "" where that was not tried.
    """

    prompt_per_second: float
    sampled_per_second: float
    characters_per_token: float
    measured_at: str
    replies_at_once: int = 0
    layout: str = ""

    def seconds(self, prompt_tokens: float, sampled_tokens: float) -> float:
        """Say how long it takes to read and write so many tokens in many calls."""
        return prompt_tokens / self.prompt_per_second + sampled_tokens / self.sampled_per_second


def load_rates(name: str = "") -> Rates | None:
    """Return what was measured of a model on this machine; None if nothing was. Raises ModelError for no such model."""
    return remembered_rates(find_model(name).sha256)


def remembered_rates(sha256: str) -> Rates | None:
    """Return what was measured of the weights with that hash on this machine; None if nothing was."""
    body = noted(RATES).get(machine_key(sha256))
    try:
        return Rates(**body) if isinstance(body, dict) else None
    except TypeError:
        return None


def layout_of(model: InstalledModel) -> LayoutName:
    """Return the layout that a model answers best in: the catalogue's, else what was measured, else the default one."""
    if model.entry is not None:
        return model.entry.layout
    rates = remembered_rates(model.sha256)
    return layout_named(rates.layout).name if rates and rates.layout else DEFAULT_LAYOUT


def remember_rates(model: InstalledModel, rates: Rates) -> None:
    """Keep rates in the cache; raises ModelError if it cannot be written."""
    note(RATES, machine_key(model.sha256), dataclasses.asdict(rates))


def context_of(name: str = "") -> int | None:
    """Return the context that a model will be loaded with, None where it is not known. No model is loaded.

    A larger one than the model's own cannot be chosen.
    """
    statuses = [s for s in list_models() if s.kind == "language"]
    status = next((s for s in statuses if (s.is_default if not name else name in (s.id, s.title, s.path.name))), None)
    own_context = status.context_tokens if status else 0
    chosen = os.environ.get("REDWELL_CONTEXT_TOKENS", "")
    if re.fullmatch("[0-9]{1,9}", chosen):
        return min(int(chosen), own_context or int(chosen))
    return own_context or None


def machine_key(sha256: str) -> str:
    """Name weights on this processor, with the threads that models get."""
    cpu, _ = read_cpu(CPUINFO)
    threads = os.environ.get("REDWELL_THREADS") or usable_cores()
    return f"{sha256} on {cpu or platform.processor()}, {threads} threads"
