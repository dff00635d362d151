"""From a description of a model to a backend that runs it. A runtime is imported when one of its models opens."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from models.errors import ModelError
from models.protocol import ModelBackend

RuntimeName = Literal["llama"]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model and how to run it: plain data, so that another process can be told to open it.

    `location` is the path of the weights; `digest` identifies them (SHA-256, hexadecimal). `settings` are those of the
    runtime that differ from its defaults (for "llama": fields of models.llama.LlamaSettings).
    """

    runtime: RuntimeName
    name: str
    location: str
    digest: str
    settings: dict[str, Any] = field(default_factory=dict)


def open_here(spec: ModelSpec) -> ModelBackend:
    """Open a model in this process; blocks while it loads. Raises ModelError, NotEnoughMemory before it loads."""
    if spec.runtime == "llama":
        from models.fitting import fit  # noqa: PLC0415 - reads what this module describes
        from models.llama import LlamaBackend, LlamaSettings  # noqa: PLC0415 - the runtime

        spec = fit(spec).spec
        settings = LlamaSettings.from_environment(**spec.settings)
        return LlamaBackend(Path(spec.location), digest=spec.digest, name=spec.name, settings=settings)
    raise ModelError(f"there is no runtime {spec.runtime!r}", advice="Known: llama.")
