"""A gate before the model: closed, it lets no new call begin, while those under way and cached replies go on."""

from __future__ import annotations

import asyncio
import time

from models.protocol import ModelBackend, Reply, Request
from models.wrapped import WrappedBackend


class Gate:
    """Open at first. Lives in one event loop."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()
        self._opened.set()
        self._closed_at = 0.0
        self._closed_seconds = 0.0

    def open(self) -> None:
        """Let the calls that wait begin."""
        if not self._opened.is_set():
            self._closed_seconds += time.monotonic() - self._closed_at
        self._opened.set()

    def close(self) -> None:
        """Hold back the calls that have not begun."""
        if self._opened.is_set():
            self._closed_at = time.monotonic()
        self._opened.clear()

    def clock(self) -> float:
        """Return the time in seconds, which stands still while the gate is closed: a pause says nothing of the pace."""
        return (time.monotonic() if self._opened.is_set() else self._closed_at) - self._closed_seconds

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
