"""Ctrl-C: the first stops a run in order, the second at once. A program that is run for another ends with it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from engine.cli.console import messages
from engine.worker.exit_codes import INTERRUPTED

Result = TypeVar("Result")


def run_interruptible(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end; raises KeyboardInterrupt when it was stopped by Ctrl-C.

    Asyncio's own handling raises KeyboardInterrupt inside the event loop at the second Ctrl-C, which can lose a
    callback and leave the loop waiting for ever. Replies are committed as they come, so leaving at once loses nothing.
    """
    try:
        return asyncio.run(_stoppable(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _stoppable(work: Coroutine[Any, Any, Result]) -> Result:
    task = asyncio.ensure_future(work)
    presses = 0

    def stop() -> None:
        nonlocal presses
        presses += 1
        if presses > 1:
            try:
                messages().show_cursor(True)  # a live picture may have hidden it
            finally:
                os._exit(INTERRUPTED)
        task.cancel()

    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, stop)
    except (NotImplementedError, ValueError, RuntimeError):
        return await task  # Windows, or not the main thread: asyncio's own handling has to do
    try:
        return await task
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def run_program(
    command: Sequence[str], *, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> int:
    """Run a program to its end and return its exit code; a request to end (SIGTERM) is passed on to it.

    Ctrl-C reaches it from the terminal by itself. Otherwise it would go on after this process was ended.
    """
    with subprocess.Popen(command, cwd=cwd, env=environment) as program:
        before = signal.signal(signal.SIGTERM, lambda *_: program.terminate())
        try:
            return program.wait()
        finally:
            signal.signal(signal.SIGTERM, before)
