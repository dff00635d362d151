"""From a description of a model to a backend that runs it. A runtime is imported when one of its models opens."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from models.errors import ModelError
from models.protocol import ModelBackend

RuntimeName = Literal["llama", "vllm"]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model and how to run it: plain data, so that another process can be told to open it.

    `location` is the path of the weights, a file or a folder; `digest` identifies them (SHA-256, hexadecimal).
    `settings` are those of the runtime that differ from its defaults (for "llama": fields of
    models.llama.LlamaSettings, for "vllm": of models.vllm_runtime.EngineSettings).
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
    """Open a model in this process; blocks while it loads. Raises ModelError."""
    if spec.runtime == "llama":
        return _open_llama(spec)
    if spec.runtime == "vllm":
        from models.vllm import VllmBackend, settings_from_environment  # noqa: PLC0415 - the runtime

        chosen = settings_from_environment(**spec.settings)
        return VllmBackend(Path(spec.location), digest=spec.digest, name=spec.name, settings=chosen)
    raise ModelError(f"there is no runtime {spec.runtime!r}", advice="Known: llama, vllm.")


def _open_llama(spec: ModelSpec) -> ModelBackend:
    from models.gpu_layers import choose_for_machine  # noqa: PLC0415 - where a model is opened only
    from models.llama import LlamaBackend, LlamaSettings  # noqa: PLC0415 - the runtime
    from models.llama_runtime import supports_gpu  # noqa: PLC0415 - the runtime

    path = Path(spec.location)
    settings = LlamaSettings.from_environment(**spec.settings)
    if settings.gpu_layers is None:
        layers = choose_for_machine(path, settings.context_tokens, supports_gpu=supports_gpu).layers
        settings = dataclasses.replace(settings, gpu_layers=layers)
    try:
        return LlamaBackend(path, digest=spec.digest, name=spec.name, settings=settings)
    except ModelError as error:
        if settings.gpu_layers:
            error.advice += f" {settings.gpu_layers} layers went to the graphics card: try REDWELL_GPU_LAYERS=0."
        raise
