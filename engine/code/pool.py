"""The processes for code of one run: started when first needed, used again, ended with the run."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from engine.code.process import CodeProcess, Lost
from engine.code.program import Program

MOST_WORKERS = os.cpu_count() or 2


class CodePool:
    """Calls code of a pipeline, each program in processes of its own."""

    def __init__(self) -> None:
        self._idle: list[CodeProcess] = []
        self._processes: set[CodeProcess] = set()
        self._slots: dict[Program, asyncio.Semaphore] = {}
        self._all_slots = asyncio.Semaphore(MOST_WORKERS)

    async def call(self, program: Program, given: Any) -> Any:
        """Call `transform` with a JSON value.

        Raises ItemError when the call fails, PipelineError when the code cannot even be read, EnvironmentMissing when
        there can be no confined process.
        """
        slots = self._slots.setdefault(program, asyncio.Semaphore(program.workers))
        async with slots, self._all_slots:
            try:
                return await self._try(program, given, fresh=False)
            except Lost as error:
                if error.by_call:
                    raise
            # Only a fresh process can tell whether this call is to blame or one before it.
            return await self._try(program, given, fresh=True)

    async def close(self) -> None:
        """End all processes."""
        self._idle.clear()
        processes, self._processes = self._processes, set()
        await asyncio.gather(*(process.close() for process in processes))

    async def _try(self, program: Program, given: Any, *, fresh: bool) -> Any:
        process = await self._take(program, fresh=fresh)
        try:
            return await process.call(given)
        finally:
            if process.is_fit and process in self._processes:
                self._idle.append(process)
            else:
                await self._retire(process)

    async def _take(self, program: Program, *, fresh: bool) -> CodeProcess:
        """Return an idle process of the program, or a new one in place of the one that has been idle the longest."""
        own = [] if fresh else [process for process in self._idle if process.program == program]
        if own:
            self._idle.remove(own[-1])
            return own[-1]
        if self._idle and len(self._processes) >= MOST_WORKERS:
            await self._retire(self._idle.pop(0))
        process = await CodeProcess.start(program)
        self._processes.add(process)
        return process

    async def _retire(self, process: CodeProcess) -> None:
        self._processes.discard(process)
        await process.close()
