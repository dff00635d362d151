"""All that is known of a model, as data for programs: `redwell models list --json` and the window."""

from __future__ import annotations

from engine.worker.contract.models import MeasuredSpeed, ModelFacts, ModelMemory, ModelSpeed
from models.install import list_models
from models.prospects import Prospect, prospects
from models.rates import Rates
from models.status import ModelStatus


def all_models() -> list[ModelFacts]:
    """Describe the catalogue's models and the user's own; nothing is loaded."""
    statuses = list_models()
    return [facts_of(*each) for each in zip(statuses, prospects(statuses), strict=True)]


def facts_of(status: ModelStatus, prospect: Prospect) -> ModelFacts:
    """Return all that is known of a model."""
    memory = status.memory
    return ModelFacts(
        id=status.id,
        title=status.title,
        kind=status.kind,
        purpose=status.purpose,
        installed=status.installed,
        is_default=status.is_default,
        licence=status.licence,
        made_by=status.made_by,
        source=status.source,
        sha256=status.sha256,
        bytes=status.bytes,
        context_tokens=status.context_tokens,
        path=str(status.path),
        memory=ModelMemory(
            weights_bytes=memory.weights_bytes,
            kv_bytes=memory.kv_bytes,
            compute_bytes=memory.compute_bytes,
            available_bytes=memory.available_bytes,
            needed_bytes=memory.needed_bytes,
            fits=memory.fits,
        ),
        verdict=prospect.verdict,
        why=prospect.why,
        most_context_tokens=prospect.most_context,
        speed=_speed(prospect),
    )


def speed_of(rates: Rates) -> MeasuredSpeed:
    """Return what was measured of a model."""
    return MeasuredSpeed(rates.prompt_per_second, rates.sampled_per_second, rates.measured_at, rates.layout)


def _speed(prospect: Prospect) -> ModelSpeed | None:
    if prospect.rates is None:
        return None
    return ModelSpeed(
        read_tokens_per_second=prospect.rates.prompt_per_second,
        written_tokens_per_second=prospect.rates.sampled_per_second,
        is_estimated=prospect.is_estimated,
        estimated_from=prospect.estimated_from,
        measured_at=prospect.rates.measured_at,
    )
