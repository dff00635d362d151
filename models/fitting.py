"""Before a model is loaded: whether it fits in the memory that is free, and with how much context.

Weights, KV cache and work space are estimated from the model's header (models.model_header.Needs). A context that
the user chose either fits or is refused; one that nobody chose is made as large as fits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from models.catalog import catalog
from models.errors import NotEnoughMemory
from models.gguf import read_header
from models.hardware import machine_memory
from models.model_header import CONTEXT_STEP, Needs
from models.protocol import ModelSpec

SPARE_BYTES = 256 * 1024**2
"""Left for everything else: the programs that run meanwhile need a little more now and then."""

LEAST_CHOSEN_CONTEXT = 4096
"""A context is made smaller than the model's own down to this; a smaller one has to be asked for."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A description whose sizes are settled. `settings` are all of the runtime's, also those left at their defaults.

    `own_context` is larger than the context chosen when memory is what limits it, else 0.
    """

    spec: ModelSpec
    settings: dict[str, Any]
    own_context: int = 0


def needs_of(path: Path, digest: str) -> Needs:
    """Read what a model needs: from the catalogue, else from its header. Raises BadModelFile."""
    for entry in catalog():
        if entry.kind == "language" and entry.files[0].sha256 == digest:
            return Needs.of(entry, entry.bytes)
    return Needs.of(read_header(path), path.stat().st_size)


def fit(spec: ModelSpec) -> Fitted:
    """Settle the sizes of a model by the memory that is free now. Raises NotEnoughMemory or BadModelFile.

    The layers that go to a graphics card are chosen first. With any there, and for runtimes that keep their own
    account, no size is changed.
    """
    if spec.runtime != "llama":
        return Fitted(spec, dict(spec.settings))
    from models.gpu_layers import choose_for_machine  # noqa: PLC0415 - where a model is opened only
    from models.llama_runtime import LlamaSettings, supports_gpu  # noqa: PLC0415 - the runtime

    path = Path(spec.location)
    settings = LlamaSettings.from_environment(**spec.settings)
    if settings.gpu_layers is None:
        choice = choose_for_machine(path, settings.context_tokens, supports_gpu=supports_gpu)
        settings = replace(settings, gpu_layers=choice.layers)
    limited = 0
    if not settings.gpu_layers:  # else the weights are not, or not all, in the machine's own memory
        needs = needs_of(path, spec.digest)
        available = max(0, machine_memory()[1] - SPARE_BYTES)
        chosen = choose_context(spec, needs, settings.context_tokens, available)
        limited = needs.context_tokens if settings.context_tokens is None and chosen < needs.context_tokens else 0
        settings = replace(settings, context_tokens=chosen or None)
    if not _is_running_chosen(spec):
        settings = replace(settings, running=_measured_replies(spec.digest) or settings.running)
    sizes = ("context_tokens", "gpu_layers", "running")
    settled = {name: getattr(settings, name) for name in sizes}
    return Fitted(replace(spec, settings={**spec.settings, **settled}), asdict(settings), own_context=limited)


def _is_running_chosen(spec: ModelSpec) -> bool:
    return "running" in spec.settings or bool(os.environ.get("REDWELL_SEQUENCES", "").strip())


def _measured_replies(digest: str) -> int:
    """Return how many replies at once this machine writes best, as `redwell models measure` found; 0 if it did not."""
    from models.rates import remembered_rates  # noqa: PLC0415 - reads a file, where a model is opened only

    rates = remembered_rates(digest)
    return rates.replies_at_once if rates else 0


def choose_context(spec: ModelSpec, needs: Needs, wanted: int | None, available_bytes: int) -> int:
    """Return the context to load a model with; `wanted` is what the user chose, None for the model's own.

    0 where the file does not say what its own is. Raises NotEnoughMemory with what would fit.
    """
    largest = needs.largest_context(available_bytes)
    own_context = needs.context_tokens
    if wanted is not None:
        asked = min(wanted, own_context) if own_context else wanted
        if not needs.memory(asked, available_bytes).fits:
            raise _refusal(spec, needs, asked, available_bytes)
        return asked
    if largest < min(LEAST_CHOSEN_CONTEXT, own_context) or not needs.memory(0, available_bytes).fits:
        raise _refusal(spec, needs, min(LEAST_CHOSEN_CONTEXT, own_context), available_bytes)
    return largest


def _refusal(spec: ModelSpec, needs: Needs, context: int, available_bytes: int) -> NotEnoughMemory:
    memory = needs.memory(context, available_bytes)
    return NotEnoughMemory(
        f"the model {spec.name} with a context of {context:,} tokens needs {_gb(memory.needed_bytes)} of memory "
        f"({_gb(memory.weights_bytes)} for its weights, {_gb(memory.kv_bytes)} for the context, "
        f"{_gb(memory.compute_bytes)} to work in), and {_gb(available_bytes)} can be had now",
        advice=_sentence(
            [
                "close other programs",
                *_smaller_context(needs, available_bytes),
                *_smaller_models(needs, available_bytes),
            ]
        ),
    )


def _smaller_context(needs: Needs, available_bytes: int) -> Iterable[str]:
    largest = needs.largest_context(available_bytes)
    if largest >= CONTEXT_STEP:
        size = _gb(needs.memory(largest, available_bytes).needed_bytes)
        yield f"set REDWELL_CONTEXT_TOKENS={largest} ({size})"


def _smaller_models(needs: Needs, available_bytes: int) -> Iterable[str]:
    from models.install import list_models  # noqa: PLC0415 - looks through a folder, for an error only

    for status in list_models():
        if not status.installed or status.kind != "language" or status.needs.weights_bytes >= needs.weights_bytes:
            continue
        memory = status.needs.memory(min(LEAST_CHOSEN_CONTEXT, status.context_tokens), available_bytes)
        if memory.fits:
            yield f"use the model {status.id} ({_gb(memory.needed_bytes)})"


def _sentence(choices: list[str]) -> str:
    *others, last = choices
    text = f"{', '.join(others)}, or {last}" if others else last
    return f"{text[0].upper()}{text[1:]}."


def _gb(count: int) -> str:
    return f"{count / 1e9:.2f} GB"
