"""The model client of agents: it asks through the reply cache, and its calls are counted like those of operators."""

from __future__ import annotations

from engine.executor.asking import Asking
from engine.optimizer.counting import Reuse, Tally
from models.protocol import ModelBackend, Reply, Request


class CountingModel:
    """A model that agents ask (engine.optimizer.agent.AgentModel); a question that was answered is not asked again."""

    def __init__(self, backend: ModelBackend, asking: Asking, reuse: Reuse) -> None:
        self._backend = backend
        self.tally = Tally(asking, reuse)

    @property
    def context_tokens(self) -> int:
        """Return how many tokens one request may use: prompt and reply together."""
        return self._backend.context_tokens

    def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text."""
        return self._backend.count_tokens(text)

    async def ask(self, request: Request) -> Reply:
        """Answer one request; raises models.errors.ModelError."""
        return await self.tally.ask(self._backend, request)
