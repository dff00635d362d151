"""From a description of a model to a backend that runs it. A runtime is imported when one of its models opens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from models.errors import ModelError
from models.fence.process import need_network
from models.protocol import ModelBackend

RuntimeName = Literal["llama", "vllm", "server"]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model and how to run it: plain data, so that another process can be told to open it.

    `location` is the path of the weights, a file or a folder, and `digest` identifies them (SHA-256, hexadecimal). For
    "server" it is the address, and the digest is asked of the server. `settings` are those of the runtime that differ
    from its defaults: fields of models.llama.LlamaSettings, models.vllm_runtime.EngineSettings or
    models.servers.backend.ServerSettings.
    """

    runtime: RuntimeName
    name: str
    location: str
    digest: str
    settings: dict[str, Any] = field(default_factory=dict)


def runtime_of(path: Path) -> RuntimeName:
    """Name the runtime for weights on this machine: llama.cpp runs GGUF files, vLLM folders of safetensors."""
    return "vllm" if path.is_dir() else "llama"


def open_here(spec: ModelSpec) -> ModelBackend:
    """Open a model in this process; blocks while it loads. Raises ModelError, NotEnoughMemory before it loads."""
    opener = _OPENERS.get(spec.runtime)
    if opener is None:
        raise ModelError(f"there is no runtime {spec.runtime!r}", advice=f"Known: {', '.join(_OPENERS)}.")
    return opener(spec)


def _open_llama(spec: ModelSpec) -> ModelBackend:
    from models.fitting import fit  # noqa: PLC0415 - reads what this module describes
    from models.llama import LlamaBackend, LlamaSettings  # noqa: PLC0415 - the runtime

    settings = LlamaSettings.from_environment(**fit(spec).spec.settings)
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
