"""All that is known of a model, as data for programs: `redwell models list --json` and the window."""

from __future__ import annotations

import dataclasses
from typing import Any

from models.install import list_models
from models.prospects import Prospect, prospects
from models.rates import Rates
from models.status import ModelStatus

_PLAIN = (
    *("id", "title", "kind", "purpose", "installed", "is_default", "licence", "made_by", "source", "sha256"),
    *("bytes", "context_tokens"),
)


def all_models() -> list[dict[str, Any]]:
    """Describe the catalogue's models and the user's own; nothing is loaded."""
    statuses = list_models()
    return [as_json(*each) for each in zip(statuses, prospects(statuses), strict=True)]


def as_json(status: ModelStatus, prospect: Prospect) -> dict[str, Any]:
    """Return all that is known of a model."""
    memory = status.memory
    return {
        **{name: getattr(status, name) for name in _PLAIN},
        "path": str(status.path),
        "memory": {**dataclasses.asdict(memory), "needed_bytes": memory.needed_bytes, "fits": memory.fits},
        "verdict": prospect.verdict,
        "why": prospect.why,
        "most_context_tokens": prospect.most_context,
        "speed": _speed(prospect),
    }


def rates_json(rates: Rates) -> dict[str, Any]:
    """Return what was measured of a model."""
    return {
        "read_tokens_per_second": rates.prompt_per_second,
        "written_tokens_per_second": rates.sampled_per_second,
        "measured_at": rates.measured_at,
        "layout": rates.layout,
    }


def _speed(prospect: Prospect) -> dict[str, Any] | None:
    if prospect.rates is None:
        return None
    rates = rates_json(prospect.rates)
    measured_at = rates.pop("measured_at")
    del rates["layout"]
    return {
        **rates,
        "is_estimated": prospect.is_estimated,
        "estimated_from": prospect.estimated_from,
        "measured_at": measured_at,
    }
