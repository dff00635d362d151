"""From a description of a model to a backend that runs it. A runtime is imported when one of its models opens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from models.errors import ModelError
from models.fence.process import need_network
from models.fitting import fit
from models.protocol import ModelBackend, ModelSpec


def open_here(spec: ModelSpec) -> ModelBackend:
    """Open a model in this process; blocks while it loads. Raises ModelError, NotEnoughMemory before it loads."""
    return open_fitted(fit(spec).spec)


def open_fitted(spec: ModelSpec) -> ModelBackend:
    """Open a model whose sizes `fit` has settled, for memory judged twice can refuse what was chosen a moment before.

    Raises ModelError.
    """
    opener = _OPENERS.get(spec.runtime)
    if opener is None:
        raise ModelError(f"there is no runtime {spec.runtime!r}", advice=f"Known: {', '.join(_OPENERS)}.")
    return opener(spec)


def _open_llama(spec: ModelSpec) -> ModelBackend:
    from models.llama import LlamaBackend  # noqa: PLC0415 - the runtime
    from models.llama_runtime import LlamaSettings  # noqa: PLC0415

    settings = LlamaSettings.from_environment(**spec.settings)
    try:
        return LlamaBackend(Path(spec.location), digest=spec.digest, name=spec.name, settings=settings)
    except ModelError as error:
        if settings.gpu_layers:
            error.advice += f" {settings.gpu_layers} layers went to the graphics card: try REDWELL_GPU_LAYERS=0."
        raise


def _open_vllm(spec: ModelSpec) -> ModelBackend:
    from models.vllm import VllmBackend, settings_from_environment  # noqa: PLC0415 - the runtime

    need_network(
        f"vLLM cannot run {spec.name}, for its parts speak by sockets of this machine",
        "Name the model with --model, or open the window with `redwell desktop --network`.",
    )
    settings = settings_from_environment(**spec.settings)
    return VllmBackend(Path(spec.location), digest=spec.digest, name=spec.name, settings=settings)


def _open_server(spec: ModelSpec) -> ModelBackend:
    from models.servers.backend import ServerBackend, ServerSettings  # noqa: PLC0415 - the HTTP client

    return ServerBackend(spec.location, name=spec.name, settings=ServerSettings(**spec.settings))


_OPENERS: Mapping[str, Callable[[ModelSpec], ModelBackend]] = {
    "llama": _open_llama,
    "vllm": _open_vllm,
    "server": _open_server,
}
