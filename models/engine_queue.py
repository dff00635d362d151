"""Requests on their way through an engine that batches by itself (vLLM): waiting, in the engine, settled.

Only as many as run at once are in the engine; the others wait here, so that a reply's time begins when the model does,
and a thousand waiting requests cost next to nothing. Every token is read along with a guide of our own: a reply ends
with its last brace instead of one more step, and what the engine's mask lets through by mistake is an error.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from models.choices import MOST_TOKENS, Step
from models.errors import InvalidSchema, ModelCrashed, ModelError, OutOfTokens, TimedOut
from models.guided import Asked
from models.vllm_runtime import Engine, Order, Written


@dataclass(eq=False, kw_only=True)
class Task(Asked[Sequence[int]]):
    """One request in the engine's queue; `grammar` is what vLLM compiles its own guide from.

    vLLM samples every token, those too that the schema leaves no choice about.
    """

    grammar: str


class EngineQueue:
    """Feeds one engine, at most `running` requests at once, first come first served. Not thread-safe."""

    def __init__(self, engine: Engine, *, running: int) -> None:
        self._engine = engine
        self._running = running
        self._waiting: deque[Task] = deque()
        self._inside: dict[str, Task] = {}
        self._numbers = itertools.count()

    @property
    def idle(self) -> bool:
        """Say whether there is nothing to do."""
        return not self._waiting and not self._inside

    def submit(self, task: Task) -> None:
        """Put a request at the end of the queue."""
        self._waiting.append(task)

    def step(self) -> None:
        """Drop what is no longer wanted, fill up the engine and run it once. Raises ModelCrashed as the engine does."""
        self._drop_unwanted(time.perf_counter())
        self._fill()
        if not self._inside:
            return
        for written in self._engine.step():
            task = self._inside.get(written.id)
            if task is not None:
                self._read(task, written)

    def fail_all(self, error: ModelError) -> None:
        """Settle every request with an error."""
        tasks = [*self._inside.values(), *self._waiting]
        self._inside.clear()
        self._waiting.clear()
        for task in tasks:
            task.deliver(task, error)

    def _drop_unwanted(self, now: float) -> None:
        self._waiting = deque(task for task in self._waiting if not task.cancelled)
        cancelled = [id for id, task in self._inside.items() if task.cancelled]
        for id in cancelled:
            del self._inside[id]
        if cancelled:
            self._engine.abort(cancelled)
        for id, task in list(self._inside.items()):
            if task.is_late(now):
                self._settle(id, TimedOut(seconds=task.timeout_seconds or 0), in_engine=True)

    def _fill(self) -> None:
        while self._waiting and len(self._inside) < self._running:
            task = self._waiting.popleft()
            id = f"redwell-{next(self._numbers)}"
            task.started = time.perf_counter()
            self._inside[id] = task
            try:
                self._engine.add(self._order(id, task))
            except ModelError as error:
                self._settle(id, error, in_engine=False)

    def _order(self, id: str, task: Task) -> Order:
        return Order(
            id=id,
            prompt=task.prompt,
            grammar=task.grammar,
            # One more for the token that ends a reply: our limit does not count it.
            max_tokens=task.sampling.max_tokens + 1,
            temperature=task.sampling.temperature,
            seed=task.seed,
            top_tokens=MOST_TOKENS if task.keep_steps else 0,
        )

    def _read(self, task: Task, written: Written) -> None:
        """Take in what a step wrote of one reply, and settle it if that was the end."""
        task.reused = max(task.reused, written.reused_tokens)
        in_engine = not written.ending
        try:
            is_complete = self._accept(task, written)
        except InvalidSchema as error:
            self._settle(written.id, error, in_engine=in_engine)
            return
        # One more than the limit only where it is the token that ends a reply.
        if is_complete and (len(task.reply) <= task.sampling.max_tokens or written.ending == "stop"):
            self._settle(written.id, None, in_engine=in_engine)
        elif len(task.reply) > task.sampling.max_tokens or written.ending == "length":
            limit = task.sampling.max_tokens
            del task.reply[limit:]
            self._settle(
                written.id, OutOfTokens(f"the reply was not complete after {limit} tokens"), in_engine=in_engine
            )
        elif written.ending:
            self._settle(written.id, _ended_early(written.ending), in_engine=False)

    def _accept(self, task: Task, written: Written) -> bool:
        """Read the tokens along with the guide; say whether the value is complete. Raises InvalidSchema."""
        for number, token in enumerate(written.tokens):
            if task.guide.finished:
                return True
            task.guide.accept(token)
            if task.keep_steps and number < len(written.odds):
                tokens, odds = written.odds[number]
                task.steps.append(Step(len(task.reply), tokens, odds))
            task.reply.append(token)
        return task.guide.finished

    def _settle(self, id: str, error: ModelError | None, *, in_engine: bool) -> None:
        task = self._inside.pop(id)
        if in_engine:
            self._engine.abort([id])
        task.deliver(task, error)


def _ended_early(ending: str) -> ModelError:
    if ending == "error":
        return InvalidSchema(
            "the engine could not make a token mask of this schema", advice="Simplify the output schema."
        )
    return ModelCrashed(f"the engine ended a reply before it was complete ({ending})", advice="Run the command again.")
