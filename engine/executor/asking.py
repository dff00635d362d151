"""The door to the model: replies come from the case file where they can, else from the model, and are kept."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from dataclasses import dataclass
from typing import Any

from engine.executor.events import Emit, ModelCall, Warned
from models.errors import ModelError
from models.protocol import ModelBackend, Reply, Request, warnings_of
from storage.case import Case


@dataclass(eq=False)
class _Call:
    """One call in flight, and how many askers wait for it."""

    task: asyncio.Task[Reply]
    waiting: int = 0


class CachedAsk:
    """Ask one model through the case's reply cache.

    A reply is written and committed before it is handed on, so a run killed at any moment asks for nothing twice.
    Equal requests that are in flight at once share one call, which goes on as long as anybody waits for it.
    """

    def __init__(self, case: Case, run_id: str, emit: Emit) -> None:
        self._case = case
        self._run_id = run_id
        self._emit = emit
        self._in_flight: dict[str, _Call] = {}

    async def ask(self, backend: ModelBackend, request: Request) -> Reply:
        """Answer a request; raises models.errors.ModelError."""
        key = reply_key(backend, request)
        stored = self._case.reply(key)
        if stored is not None:
            return self._report(request, dataclasses.replace(_reply_from(stored), from_cache=True))
        shared = self._in_flight.get(key)
        if shared is not None:
            reply = await self._wait(key, shared)
            return self._report(request, dataclasses.replace(reply, from_cache=True))
        call = _Call(asyncio.create_task(self._call(key, backend, request)))
        self._in_flight[key] = call
        return await self._wait(key, call)

    async def _call(self, key: str, backend: ModelBackend, request: Request) -> Reply:
        try:
            reply = await backend.ask(request)
        except ModelError:
            self._tell_warnings(backend)
            raise
        # No await between the two: a reply that the model has finished is safe before anything else happens.
        self._case.save_reply(key, _reply_to(reply), request.purpose.operator, self._run_id)
        self._tell_warnings(backend)
        return self._report(request, reply)

    async def _wait(self, key: str, call: _Call) -> Reply:
        """Wait for a call; an asker that is cancelled takes the call with it only if nobody else waits."""
        call.waiting += 1
        try:
            return await asyncio.shield(call.task)
        finally:
            call.waiting -= 1
            if not call.waiting:
                await self._drop(key, call)

    async def _drop(self, key: str, call: _Call) -> None:
        """Forget a call that nobody waits for, and end it if it is still going on."""
        if self._in_flight.get(key) is call:
            del self._in_flight[key]
        if not call.task.done():
            call.task.cancel()
            await asyncio.wait([call.task])

    def _tell_warnings(self, backend: ModelBackend) -> None:
        for message in warnings_of(backend):
            self._emit(Warned(message))

    def _report(self, request: Request, reply: Reply) -> Reply:
        self._emit(
            ModelCall(
                operator=request.purpose.operator,
                row_id=request.purpose.row_id,
                prompt_tokens=reply.prompt_tokens,
                reused_tokens=reply.reused_tokens,
                sampled_tokens=reply.sampled_tokens,
                forced_tokens=reply.forced_tokens,
                seconds=reply.seconds,
                from_cache=reply.from_cache,
            )
        )
        return reply


def reply_key(backend: ModelBackend, request: Request) -> str:
    """Address a reply by what decides it: model file, prompt, schema, sampling, seed. SHA-256, hexadecimal."""
    return hashlib.sha256(f"{backend.digest}\n{request.digest}".encode()).hexdigest()


def _reply_to(reply: Reply) -> dict[str, Any]:
    return dataclasses.asdict(reply)


def _reply_from(stored: dict[str, Any]) -> Reply:
    return Reply(**stored)
