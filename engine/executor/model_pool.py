"""The models of one run: loaded when first needed, shared by all operators, closed at the end."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from engine.executor.events import Emit, Event, ModelLoading, ModelReady, ModelRestarted, ModelWorking, Warned
from engine.executor.translation import redwell_errors
from engine.finishing import to_the_end
from models.matrices import Matrix
from models.notices import GivesNotice, Notice, Restarted, Working
from models.protocol import ModelBackend

OpenModel = Callable[[str], ModelBackend]
"""Load the model of that name; empty for the default. Blocks while it loads; raises models.errors.ModelError."""


class TextEmbedder(Protocol):
    """Turns texts into unit vectors (models.embeddings.Embedder)."""

    @property
    def digest(self) -> str:
        """Identify the weights."""

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector per text: shape (len(texts), dimensions)."""


OpenEmbedder = Callable[[], TextEmbedder]


class ModelPool:
    """Models by name. `override` replaces every name that the pipeline gives."""

    def __init__(self, open_model: OpenModel, open_embedder: OpenEmbedder, emit: Emit, *, override: str = "") -> None:
        self._open_model = open_model
        self._open_embedder = open_embedder
        self._emit = emit
        self._override = override
        self._loading: dict[str, asyncio.Task[ModelBackend]] = {}
        self._embedder: TextEmbedder | None = None
        self._weights: dict[str, str] = {}

    async def model(self, name: str) -> ModelBackend:
        """Return the model, loading it on the first call; raises EnvironmentMissing if it cannot be."""
        return await asyncio.shield(self.prefetch(name))

    def prefetch(self, name: str) -> asyncio.Task[ModelBackend]:
        """Begin to load the model; the task raises EnvironmentMissing if it cannot be."""
        name = self._override or name
        if name not in self._loading:
            self._loading[name] = asyncio.create_task(self._load(name))
        return self._loading[name]

    def weights(self) -> dict[str, str]:
        """Return the models that were loaded so far, by name, and the SHA-256 of their weights."""
        embedding = {"embedding model": self._embedder.digest} if self._embedder is not None else {}
        return {**self._weights, **embedding}

    def embedder(self) -> TextEmbedder:
        """Return the embedding model."""
        if self._embedder is None:
            with redwell_errors():
                self._embedder = self._open_embedder()
        return self._embedder

    async def close(self) -> None:
        """Close every model that was loaded; one that is still loading is waited for, for a thread cannot be ended.

        What has begun to close is closed to the end, even if the caller is cancelled (again) meanwhile.
        """
        await to_the_end(self._close())

    async def _close(self) -> None:
        loaded = await asyncio.gather(*self._loading.values(), return_exceptions=True)
        self._loading.clear()
        for backend in loaded:
            if not isinstance(backend, BaseException):
                await backend.close()

    async def _load(self, name: str) -> ModelBackend:
        self._emit(ModelLoading(model=name or "default"))
        start = time.perf_counter()
        with redwell_errors():
            backend = await asyncio.to_thread(self._open_model, name)
        self._weights[backend.name] = backend.digest
        self._emit(ModelReady(backend.name, backend.context_tokens, time.perf_counter() - start))
        if isinstance(backend, GivesNotice):
            backend.watch(partial(self._pass_on, asyncio.get_running_loop()))
        return backend

    def _pass_on(self, loop: asyncio.AbstractEventLoop, notice: Notice) -> None:
        """Emit what a model tells, in the loop of the run: notices come from threads."""
        # A closed loop has nobody watching.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._emit, _event_of(notice))


def _event_of(notice: Notice) -> Event:
    if isinstance(notice, Restarted):
        return ModelRestarted(notice.model, notice.reason, notice.settings)
    if isinstance(notice, Working):
        return ModelWorking(notice.model, notice.read, notice.written)
    return Warned(str(notice))
