"""The model client: a reply comes from the case file if it is there, else from the model, and is then kept."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from engine.executor.events import Emit, ModelCall
from models.errors import ModelError, OutOfTokens
from models.loops import second_try, text_loops
from models.protocol import ModelBackend, Reply, Request
from storage.replies import Replies


class Asking(Protocol):
    """The model client of one run."""

    async def ask(self, backend: ModelBackend, request: Request) -> Reply:
        """Answer a request; raises models.errors.ModelError."""


@dataclass(eq=False)
class _Call:
    """One call in flight, and how many askers wait for it."""

    task: asyncio.Task[Reply]
    waiting: int = 0


class CachedAsk:
    """Ask one model through the case's reply cache.

    A reply is written and committed before it is handed on, so a run killed at any moment asks for nothing twice. So is
    the end of a reply that reached its limit or went round in circles: the same request would end so again.
    Equal requests that are in flight at once share one call, which goes on as long as anybody waits for it.

    `run_id` is None for work that is no run of its own: a trial, a build. Of its calls the ledger has no notes.
    """

    def __init__(self, store: Replies, run_id: str | None, emit: Emit) -> None:
        self._store = store
        self._run_id = run_id
        self._emit = emit
        self._in_flight: dict[str, _Call] = {}

    async def ask(self, backend: ModelBackend, request: Request) -> Reply:
        """Answer a request; raises models.errors.ModelError."""
        key = reply_key(backend, request)
        stored = self._store.get(key)
        if stored is not None:
            if _CUT in stored:
                cut = _cut_from(stored)
                self._report(request, dataclasses.replace(_cost_of(cut), from_cache=True))
                raise cut
            return self._report(request, dataclasses.replace(Reply(**stored), from_cache=True))
        shared = self._in_flight.get(key)
        if shared is not None:
            reply = await self._wait(key, shared)
            return self._report(request, dataclasses.replace(reply, from_cache=True))
        call = _Call(asyncio.create_task(self._call(key, backend, request)))
        self._in_flight[key] = call
        return await self._wait(key, call)

    async def _call(self, key: str, backend: ModelBackend, request: Request) -> Reply:
        if self._run_id is not None:
            self._store.begin_call(key, request.purpose.operator, self._run_id)
        try:
            reply = await _out_of_circles(backend, request)
        except OutOfTokens as error:
            if error.is_final:
                self._store.save(key, _cut_to(error), request.purpose.operator, self._run_id)
            else:
                self._end_call(key)
            self._report(request, _cost_of(error))
            raise
        except ModelError:
            self._end_call(key)
            raise
        # No await between the two: a reply that the model has finished is safe before anything else happens.
        self._store.save(key, dataclasses.asdict(reply), request.purpose.operator, self._run_id)
        return self._report(request, reply)

    def _end_call(self, key: str) -> None:
        if self._run_id is not None:
            self._store.end_call(key, self._run_id)

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


async def _out_of_circles(backend: ModelBackend, request: Request) -> Reply:
    """Ask; a reply that goes round in circles is asked for once more (models.loops); raises ModelError.

    Our own scheduler has done so by itself, while the prompt was still there.
    """
    try:
        return await backend.ask(request)
    except OutOfTokens as error:
        if error.tries > 1 or not text_loops(error.partial, "\n".join(segment.text for segment in request.segments)):
            raise
    sampling, seed = second_try(request.sampling, request.seed)
    return await backend.ask(dataclasses.replace(request, sampling=sampling, seed=seed))


NewAsk = Callable[[Replies, str, Emit], CachedAsk]
"""Builds the model client of one run, from the reply store, the run's id and the listener for calls."""


def reply_key(backend: ModelBackend, request: Request) -> str:
    """Address a reply by what decides it: model file, layout, prompt, schema, sampling, seed. SHA-256, hexadecimal."""
    return hashlib.sha256(f"{backend.digest} {backend.layout}\n{request.digest}".encode()).hexdigest()


_CUT = "cut"
"""What in the place of a reply says that there is none: it was cut."""


def _cut_to(error: OutOfTokens) -> dict[str, Any]:
    said = {"partial": error.partial, "advice": error.advice, "tries": error.tries}
    return {_CUT: str(error), **said, **{name: getattr(error, name) for name in _COSTS}}


def _cut_from(stored: dict[str, Any]) -> OutOfTokens:
    fields = {name: stored[name] for name in ("partial", "advice", "tries")}
    error = OutOfTokens(stored[_CUT], **fields, is_final=True)
    for name in _COSTS & stored.keys():  # a case made before 2026-11-27 has none
        setattr(error, name, stored[name])
    return error


_COSTS = frozenset({"prompt_tokens", "reused_tokens", "sampled_tokens", "forced_tokens", "seconds"})
"""What OutOfTokens and Reply both tell of a call."""


def _cost_of(error: OutOfTokens) -> Reply:
    """Return what a reply that was cut has cost, as a reply."""
    return Reply(None, error.partial, **{name: getattr(error, name) for name in _COSTS})
