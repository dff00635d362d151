"""The door to the model: replies come from the case file where they can, else from the model, and are kept."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from typing import Any

from engine.executor.events import Emit, ModelCall
from models.protocol import ModelBackend, Reply, Request
from storage.case import Case


class CachedAsk:
    """Ask one model through the case's reply cache.

    A reply is written and committed before it is handed on, so a run killed at any moment asks for nothing twice.
    Equal requests that are in flight at once share one call.
    """

    def __init__(self, case: Case, run_id: str, emit: Emit) -> None:
        self._case = case
        self._run_id = run_id
        self._emit = emit
        self._in_flight: dict[str, asyncio.Future[Reply]] = {}

    async def ask(self, backend: ModelBackend, request: Request) -> Reply:
        """Answer a request; raises models.errors.ModelError."""
        key = reply_key(backend, request)
        stored = self._case.reply(key)
        if stored is not None:
            return self._report(request, dataclasses.replace(_reply_from(stored), from_cache=True))
        if key in self._in_flight:
            reply = await asyncio.shield(self._in_flight[key])
            return self._report(request, dataclasses.replace(reply, from_cache=True))
        return self._report(request, await self._call(key, backend, request))

    async def _call(self, key: str, backend: ModelBackend, request: Request) -> Reply:
        call = self._in_flight[key] = asyncio.ensure_future(backend.ask(request))
        try:
            reply = await call
        finally:
            del self._in_flight[key]
        self._case.save_reply(key, _reply_to(reply), request.purpose.operator, self._run_id)
        return reply

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
