"""Work that is not cut short: what has begun to end (a process, a model) is ended whole."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

import psutil

Result = TypeVar("Result")

GOODBYE_SECONDS = 2.0
"""How long a child may take to end once its input is closed."""


async def to_the_end(work: Awaitable[Result]) -> Result:
    """Wait for work until it is done, even if the caller is cancelled (again) meanwhile.

    Returns its result or raises its error; where the caller was cancelled, raises CancelledError once the work is done
    (an error of the work, which no one then waits for, comes first: nothing is swallowed).
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result


@dataclass(frozen=True, slots=True)
class Usage:
    """Resident memory, and the processor seconds since the process started."""

    resident_bytes: int = 0
    cpu_seconds: float = 0.0


def usage_of(process: Process) -> Usage:
    """Return what a child has used; nothing when it is gone."""
    try:
        child = psutil.Process(process.pid)
        times = child.cpu_times()
        return Usage(int(child.memory_info().rss), times.user + times.system)
    except psutil.Error:
        return Usage()


async def start_process(starting: Awaitable[Process]) -> Process:
    """Start a child. What has begun to start when the caller is cancelled is started, then ended. Raises OSError."""
    start = asyncio.ensure_future(starting)
    try:
        return await to_the_end(start)
    except asyncio.CancelledError:
        # Cut short, asyncio would leave a pipe open.
        process = start.result()
        await to_the_end(end_process(process, at_once=True))
        while process.stderr is not None and await process.stderr.read(2**20):
            pass
        raise


async def end_process(process: Process, *, at_once: bool) -> None:
    """End a child: politely, by closing its input, or `at_once`. All that it has written to its output is read."""
    stdin, stdout = process.stdin, process.stdout
    if stdin is not None:
        stdin.close()
    if at_once:
        kill(process)
    try:
        await asyncio.wait_for(process.wait(), GOODBYE_SECONDS)
    except TimeoutError:
        kill(process)
        await process.wait()
    finally:
        kill(process)
    while stdout is not None and await stdout.read(2**20):
        pass
    if stdin is not None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            await stdin.wait_closed()


def kill(process: Process) -> None:
    """Kill a child, if it is still there."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
