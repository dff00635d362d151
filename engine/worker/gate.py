"""A gate before the model: closed, it lets no new call begin, while those under way and cached replies go on."""

from __future__ import annotations

import asyncio

from models.protocol import ModelBackend, Reply, Request
from models.wrapped import WrappedBackend


class Gate:
    """Open at first. Lives in one event loop."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()
        self._opened.set()

    def open(self) -> None:
        """Let the calls that wait begin."""
        self._opened.set()

    def close(self) -> None:
        """Hold back the calls that have not begun."""
        self._opened.clear()

    async def passed(self) -> None:
        """Return when the gate is open."""
        await self._opened.wait()


class GatedBackend(WrappedBackend):
    """A model behind a gate (models.protocol.ModelBackend)."""

    def __init__(self, backend: ModelBackend, gate: Gate) -> None:
        super().__init__(backend)
        self._gate = gate

    async def ask(self, request: Request) -> Reply:
        """Wait for the gate, then ask; raises models.errors.ModelError."""
        await self._gate.passed()
        return await super().ask(request)
