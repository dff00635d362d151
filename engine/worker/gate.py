"""A gate before the model: closed, it lets no new call begin, while those under way and cached replies go on."""

from __future__ import annotations

import asyncio

from models.notices import GivesNotice, Tell
from models.protocol import ModelBackend, Reply, Request


class Gate:
    """Open at first. Lives in one event loop."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()
        self._opened.set()

    @property
    def is_open(self) -> bool:
        """Say whether calls may begin."""
        return self._opened.is_set()

    def open(self) -> None:
        """Let the calls that wait begin."""
        self._opened.set()

    def close(self) -> None:
        """Hold back the calls that have not begun."""
        self._opened.clear()

    async def passed(self) -> None:
        """Return when the gate is open."""
        await self._opened.wait()


class GatedBackend:
    """A model behind a gate (models.protocol.ModelBackend)."""

    def __init__(self, backend: ModelBackend, gate: Gate) -> None:
        self._backend = backend
        self._gate = gate

    @property
    def digest(self) -> str:
        """Identify the weights."""
        return self._backend.digest

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self._backend.name

    @property
    def context_tokens(self) -> int:
        """Return the model's context."""
        return self._backend.context_tokens

    def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text."""
        return self._backend.count_tokens(text)

    def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of a whole prompt."""
        return self._backend.count_prompt_tokens(request)

    async def ask(self, request: Request) -> Reply:
        """Wait for the gate, then ask; raises models.errors.ModelError."""
        await self._gate.passed()
        return await self._backend.ask(request)

    def watch(self, tell: Tell) -> None:
        """Pass on what the model tells (models.notices.GivesNotice)."""
        if isinstance(self._backend, GivesNotice):
            self._backend.watch(tell)

    async def close(self) -> None:
        """Close the model."""
        await self._backend.close()
