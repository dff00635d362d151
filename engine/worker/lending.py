"""Models that several runs of one event loop share: loaded once, asked by all, closed at the end."""

from __future__ import annotations

import threading

from engine.worker.model_choice import Models
from models.protocol import ModelBackend
from models.wrapped import WrappedBackend


class Lent(WrappedBackend):
    """A model that outlives the run it is lent to: requests of several runs that begin alike are read once."""

    async def close(self) -> None:
        """Leave the model as it is: who lends it closes it."""


class Lender:
    """Opens each model once and lends it. Runs load models in threads."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._opened: dict[str, ModelBackend] = {}
        self._lock = threading.Lock()

    def open_model(self, name: str) -> ModelBackend:
        """Lend a model, loading it for the first borrower (engine.executor.model_pool.OpenModel)."""
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self._models.open_model(name)
            return Lent(self._opened[name])

    async def close(self) -> None:
        """Close all models that were opened."""
        for backend in self._opened.values():
            await backend.close()
        self._opened.clear()
