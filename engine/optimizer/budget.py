"""The time that a build may take, and what it does when that is over: stop cleanly, and keep the best so far."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class OutOfTime(Exception):
    """The time of a budget is over, or the user stopped the build. No error: what was found until then stands."""


class Budget:
    """Seconds from now on, or a share of the seconds of another budget, which it can never exceed.

    A share that is over lets nothing begin; what has begun goes on, for half a reply is worth nothing. Only the end of
    the whole budget cancels it.
    """

    def __init__(
        self, seconds: float, *, clock: Callable[[], float] = time.monotonic, parent: Budget | None = None
    ) -> None:
        self._clock = clock
        self._parent = parent
        self._began = clock()
        ends = self._began + seconds
        self._ends: float = min(ends, parent._ends) if parent else ends
        self._stopped = False

    @property
    def spent(self) -> float:
        """Return the seconds since the budget was made."""
        return self._clock() - self._began

    @property
    def left(self) -> float:
        """Return the seconds that are left, 0 at least."""
        return 0.0 if self.is_stopped else max(0.0, self._ends - self._clock())

    @property
    def is_stopped(self) -> bool:
        """Say whether the user stopped the build."""
        return self._stopped or (self._parent is not None and self._parent.is_stopped)

    def stop(self) -> None:
        """End it now; work that is going on is to be cancelled by the caller, and then ends as out of time."""
        self._stopped = True

    @property
    def whole(self) -> Budget:
        """Return the budget of which this is a share, itself if it is none."""
        return self._parent.whole if self._parent else self

    def share(self, seconds: float) -> Budget:
        """Return a budget of so many of the seconds that are left."""
        return Budget(seconds, clock=self._clock, parent=self)

    def check(self) -> None:
        """Raise OutOfTime when nothing is left."""
        if not self.left:
            raise OutOfTime

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Check, and cancel what is awaited inside when the whole time is over; raises OutOfTime."""
        self.check()
        try:
            async with asyncio.timeout(self.whole.left) as scope:
                yield
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise OutOfTime from error
        except asyncio.CancelledError as error:
            if not self.is_stopped:
                raise
            raise OutOfTime from error
