"""The processes for code of one run: started when first needed, used again, ended with the run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, TypeVar

from engine.code.process import CodeProcess, Lost
from engine.code.program import Program
from engine.errors import PipelineError

Result = TypeVar("Result")

MOST_WORKERS = os.cpu_count() or 2


class CodePool:
    """Calls code of a pipeline, each program in processes of its own."""

    def __init__(self) -> None:
        self._idle: list[CodeProcess] = []
        self._processes: set[CodeProcess] = set()
        self._slots: dict[Program, asyncio.Semaphore] = {}
        self._apart: set[Program] = set()
        self._ending: set[asyncio.Task[Any]] = set()
        self._all_slots = asyncio.Semaphore(MOST_WORKERS)

    async def call(self, program: Program, given: Any) -> Any:
        """Call `transform` with a JSON value.

        Raises ItemError when the call fails, PipelineError when the code cannot even be read, EnvironmentMissing when
        there can be no confined process. Programs that could not be called together are not tried together again:
        that would cost every row a process, or the time it may take.
        """
        if program in self._apart:
            raise Lost("these programs cannot share a process", by_call=True)
        try:
            return await self._call(program, given)
        except (Lost, PipelineError):
            if program.then:
                self._apart.add(program)
            raise

    async def _call(self, program: Program, argument: Any) -> Any:
        slots = self._slots.setdefault(program, asyncio.Semaphore(program.workers))
        async with slots, self._all_slots:
            try:
                return await self._try(program, argument, fresh=False)
            except Lost as error:
                if error.by_call:
                    raise
            # Only a fresh process can tell whether this call is to blame or one before it.
            return await self._try(program, argument, fresh=True)

    async def close(self) -> None:
        """End all processes. What has begun to end is ended, even if the caller is cancelled (again) meanwhile."""
        self._idle.clear()
        for process in list(self._processes):
            self._end(process)
        cancelled: asyncio.CancelledError | None = None
        while self._ending:
            try:
                await asyncio.wait(self._ending)
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    async def _try(self, program: Program, argument: Any, *, fresh: bool) -> Any:
        process = await self._take(program, fresh=fresh)
        try:
            return await process.call(argument)
        finally:
            if process.is_fit and process in self._processes:
                self._idle.append(process)
            else:
                await asyncio.shield(self._end(process))

    async def _take(self, program: Program, *, fresh: bool) -> CodeProcess:
        """Return an idle process of the program, or a new one in place of the one that has been idle the longest."""
        idle = [] if fresh else [process for process in self._idle if process.program == program]
        if idle:
            self._idle.remove(idle[-1])
            return idle[-1]
        if self._idle and len(self._processes) >= MOST_WORKERS:
            await asyncio.shield(self._end(self._idle.pop(0)))
        starting = self._watched(self._start(program))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            started = starting.done() and not starting.cancelled() and starting.exception() is None
            if started and starting.result() in self._processes:
                self._end(starting.result())
            starting.cancel()  # once, so that it ends what it has started; the caller may be cancelled again and again
            raise

    async def _start(self, program: Program) -> CodeProcess:
        """Start a process that `close` knows of from its first moment, whether its taker still waits or not."""
        process = await CodeProcess.start(program)
        self._processes.add(process)
        return process

    def _end(self, process: CodeProcess) -> asyncio.Task[None]:
        self._processes.discard(process)
        return self._watched(process.close())

    def _watched(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """Do in a task of its own what must not be cut short; `close` waits for it."""
        task = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._ending.discard(task)
        if not task.cancelled():
            task.exception()  # who waits for the task gets it; if no one does any more, it is of no interest
