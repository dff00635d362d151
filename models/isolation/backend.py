"""A model in a process of its own, behind the protocol of all models."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import asdict

from models.errors import ModelError
from models.isolation.line import Ticket
from models.isolation.supervisor import Supervisor
from models.notices import Notices, Tell
from models.protocol import ModelSpec, Reply, Request
from models.replies import hand_over
from models.wrapped import KeptCounts


class IsolatedBackend:
    """Any model that a ModelSpec describes, run by a child process (models.protocol.ModelBackend).

    When the process ends, another takes its place and is asked again what was in progress. `ask` raises ModelCrashed
    only for a request that ends the process by itself, and when process after process ends without a single reply.
    """

    def __init__(self, spec: ModelSpec, *, command: Sequence[str] | None = None) -> None:
        """Open the model; blocks while it loads. `command` starts another child. Raises ModelError."""
        self._numbers = itertools.count(1)
        self._counts = KeptCounts()
        self._notices = Notices()
        self._supervisor = Supervisor(spec, self._notices.tell, command)
        try:
            opened = self._supervisor.opened.result()
        except BaseException:
            self._supervisor.close()
            raise
        self.name = opened.name
        self.digest = opened.digest
        self.layout = opened.layout

    @property
    def context_tokens(self) -> int:
        """Return how many tokens one request may use. It becomes smaller when memory has run out."""
        return self._supervisor.context_tokens

    @property
    def pid(self) -> int | None:
        """Return the id of the model's process; None while there is none."""
        return self._supervisor.pid

    def watch(self, tell: Tell) -> None:
        """Call `tell` with each notice, the ones that nobody has heard yet first (GivesNotice)."""
        self._notices.watch(tell)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text; waits for the process, also for one that starts again. Raises ModelError."""
        return self._counts.of_text(text, lambda: self._supervisor.count({"text": text}))

    def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of a whole prompt, chat template included; waits as `count_tokens` does."""
        return self._counts.of_prompt(request, lambda: self._supervisor.count({"request": asdict(request)}))

    async def ask(self, request: Request) -> Reply:
        """Answer one request (see ModelBackend.ask)."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = loop.create_future()

        def deliver(outcome: Reply | ModelError) -> None:
            hand_over(loop, future, outcome)

        ticket = Ticket(next(self._numbers), request, deliver, asked=time.perf_counter())
        self._supervisor.ask(ticket)
        try:
            return await future
        except asyncio.CancelledError:
            self._supervisor.cancel(ticket)
            raise

    async def close(self) -> None:
        """End the process, failing requests in flight. Idempotent."""
        await asyncio.to_thread(self._supervisor.close)
