"""What the dispatcher knows of a worker: a process somewhere that answers with one model, and may die."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from models.protocol import Reply, Request


class WorkerLost(Exception):
    """A worker died or cannot be reached: what it was asked must be asked elsewhere. Never shown to a user."""


class Worker(Protocol):
    """One worker whose model is open. All but `close` raise WorkerLost, or a ModelError of the model."""

    @property
    def node(self) -> str:
        """Name the node it runs on, for people."""

    @property
    def pid(self) -> int:
        """Return the process that it is, on its node."""

    @property
    def context_tokens(self) -> int:
        """Return the context of its model."""

    async def ask(self, request: Request) -> Reply:
        """Answer a request; when cancelled, the worker stops working on it."""

    async def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text."""

    async def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of a whole prompt."""

    async def close(self) -> None:
        """End the process, whatever it does; raises nothing because it is gone already."""


StartWorker = Callable[[int], Awaitable[Worker]]
"""Start the worker of a place (0, 1, ...) and open its model.

Raises WorkerLost where another try may help, ModelError where none will (wrong weights, no memory, not allowed).
"""
