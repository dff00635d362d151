"""Work that is not cut short: what has begun to end (a process, a model) is ended whole."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


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
