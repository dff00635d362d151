"""A model that fails on purpose: a test double around any other backend."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from models.errors import ModelCrashed, OutOfTokens, PromptTooLong
from models.protocol import ModelBackend, Reply, Request
from models.wrapped import WrappedBackend

FaultKind = Literal["prompt_too_long", "out_of_tokens", "model_crashed", "hang"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong, and when.

    It strikes every `every`-th (1: each) of the requests for which `when` is true, at most `most` times (None:
    always). `partial` is the text of an out_of_tokens; None: the first half of the reply the inner model gives.
    """

    kind: FaultKind
    every: int = 1
    when: Callable[[Request], bool] = lambda request: True
    most: int | None = None
    partial: str | None = None

    def __post_init__(self) -> None:
        """Raise ValueError where a setting makes no sense."""
        if self.kind not in get_args(FaultKind):
            raise ValueError(f"unknown fault {self.kind!r}; one of {', '.join(get_args(FaultKind))}")
        if self.every < 1:
            raise ValueError(f"every is {self.every}; 1 means each request")
        if self.most is not None and self.most < 0:
            raise ValueError(f"most is {self.most}; it counts how often the fault may strike")


class FaultyBackend(WrappedBackend):
    """Pass requests to `inner`, except those that a fault strikes; of several faults the first named wins."""

    def __init__(self, inner: ModelBackend, faults: Sequence[Fault]) -> None:
        """`struck` lists (fault kind, request) for every fault, in order."""
        super().__init__(inner)
        self._faults = tuple(faults)
        self._seen = [0] * len(self._faults)
        self._left = [fault.most for fault in self._faults]
        self._hanging: set[asyncio.Future[Reply]] = set()
        self._closed = False
        self.struck: list[tuple[FaultKind, Request]] = []

    async def ask(self, request: Request) -> Reply:
        """Answer one request, or fail as the fault that strikes it says."""
        if self._closed:
            raise ModelCrashed(f"the model {self.name} is closed")
        fault = self._next_fault(request)
        if fault is None:
            return await self._inner.ask(request)
        self.struck.append((fault.kind, request))
        match fault.kind:
            case "prompt_too_long":
                raise self._too_long(request)
            case "out_of_tokens":
                raise await self._out_of_tokens(request, fault)
            case "model_crashed":
                raise ModelCrashed("injected fault: the runtime failed while this request was in flight")
            case "hang":
                return await self._hang()

    async def close(self) -> None:
        """Close the inner model and fail the requests that hang. Idempotent."""
        self._closed = True
        for future in self._hanging:
            if not future.done():
                future.set_exception(ModelCrashed(f"the model {self.name} was closed while this request was waiting"))
        await self._inner.close()

    def _next_fault(self, request: Request) -> Fault | None:
        """Count the request for every fault it concerns, and return the first that strikes."""
        chosen: int | None = None
        for i, fault in enumerate(self._faults):
            if not fault.when(request):
                continue
            self._seen[i] += 1
            due = self._seen[i] % fault.every == 0 and self._left[i] != 0
            chosen = i if due and chosen is None else chosen
        if chosen is None:
            return None
        left = self._left[chosen]
        self._left[chosen] = None if left is None else left - 1
        return self._faults[chosen]

    def _too_long(self, request: Request) -> PromptTooLong:
        return PromptTooLong(
            prompt_tokens=max(self._inner.count_prompt_tokens(request), self.context_tokens + 1),
            reply_tokens=request.sampling.max_tokens,
            context_tokens=self.context_tokens,
            what="injected fault: the prompt",
        )

    async def _out_of_tokens(self, request: Request, fault: Fault) -> OutOfTokens:
        partial = fault.partial
        if partial is None:
            text = (await self._inner.ask(request)).text
            partial = text[: len(text) // 2]
        limit = request.sampling.max_tokens
        return OutOfTokens(
            f"injected fault: the reply was not complete at its limit of {limit} tokens", partial=partial
        )

    async def _hang(self) -> Reply:
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._hanging.add(future)
        try:
            return await future
        finally:
            self._hanging.discard(future)
