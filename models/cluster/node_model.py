"""The model on one node: what a worker of the cluster does. Runs in a process of its own, and knows no Ray."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from models.cache_place import models_folder
from models.errors import ModelError, ModelMissing, WeightsCorrupt
from models.model_folder import model_files
from models.opening import open_here
from models.protocol import ModelBackend, ModelSpec, Reply, Request
from models.verification import verified_folder, verified_hash

OpenModel = Callable[[ModelSpec], ModelBackend]
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Opened:
    """A model that a worker has opened. `version` is that of Redwell on the node."""

    context_tokens: int
    pid: int
    version: str


class NodeModel:
    """Opens a model and answers. Errors are returned, not raised: so they arrive as what they are."""

    def __init__(self, open_model: OpenModel = open_here) -> None:
        self._open_model = open_model
        self._backend: ModelBackend | None = None
        self._node = socket.gethostname()

    async def open(self, spec: ModelSpec, node: str, cores: int) -> Opened | ModelError:
        """Check the weights on this node and load them; `node` names it in errors, `cores` are the worker's."""
        self._node = node
        try:
            self._backend = await asyncio.to_thread(self._load, spec, cores)
        except ModelError as error:
            return _on(node, error)
        return Opened(self._backend.context_tokens, os.getpid(), redwell_version())

    async def ask(self, request: Request) -> Reply | ModelError:
        """Answer one request (models.protocol.ModelBackend.ask)."""
        return await self._told(lambda backend: backend.ask(request))

    async def count_tokens(self, text: str) -> int | ModelError:
        """Count the tokens of plain text."""
        return await self._told(lambda backend: asyncio.to_thread(backend.count_tokens, text))

    async def count_prompt_tokens(self, request: Request) -> int | ModelError:
        """Count the tokens of a whole prompt."""
        return await self._told(lambda backend: asyncio.to_thread(backend.count_prompt_tokens, request))

    async def close(self) -> None:
        """Close the model; idempotent."""
        if self._backend is not None:
            await self._backend.close()

    async def _told(self, work: Callable[[ModelBackend], Awaitable[Value]]) -> Value | ModelError:
        if self._backend is None:
            return ModelError(f"the worker on {self._node} has no model open")
        try:
            return await work(self._backend)
        except ModelError as error:
            return error

    def _load(self, spec: ModelSpec, cores: int) -> ModelBackend:
        here = replace(spec, location=str(find_weights(spec)))
        if spec.runtime == "llama":
            here = replace(here, settings={**spec.settings, "threads": spec.settings.get("threads") or cores})
        return self._open_model(here)


def find_weights(spec: ModelSpec) -> Path:
    """Find a model (file or folder) on this node, by its path or its name in the models folder, and check its hash.

    Replies are kept by the hash of the weights, so one node with another file would put false replies in the case.
    Raises ModelMissing or WeightsCorrupt.
    """
    location = Path(spec.location)
    fallback = models_folder() / location.name
    path = next((path for path in (location, fallback) if path.exists()), None)
    if path is None:
        raise ModelMissing(
            f"the model {spec.name} is not there: neither at {location} nor at {fallback}",
            advice="Put the same file on every node: `redwell models install` or `redwell models add` there.",
        )
    root = models_folder()
    actual = verified_folder(path, model_files(path), root) if path.is_dir() else verified_hash(path, root)
    if actual != spec.digest:
        raise WeightsCorrupt(
            f"{path} has SHA-256 {actual}, but this run uses the model with {spec.digest}",
            advice="Put the same file on every node: replies of other weights must not mix with these.",
        )
    return path


def redwell_version() -> str:
    """Return the version of Redwell in this process; empty for a checkout that is not installed."""
    try:
        return importlib.metadata.version("redwell")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _on(node: str, error: ModelError) -> ModelError:
    """Say on which node it happened; the type, the advice and the other fields stay."""
    error.args = (f"on node {node}: {error}", *error.args[1:])
    return error
