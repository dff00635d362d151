"""How far a conversion is, told while SQLite works, and its end before the last step where nobody wants it any more."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

from storage.encryption import database_errors

STEPS: Final = 1000
"""Instructions of SQLite's machine between two looks; a look costs microseconds."""

TELL_SECONDS: Final = 0.1

Phase = Literal["copied", "compared"]
Tell = Callable[[Phase, int, int], None]
"""Gets what is being done, the bytes done, and all bytes; both are 0 where it cannot be told how far that is.

It may raise ConversionStopped, until the copy takes the place of the case.
"""


class ConversionStopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """A conversion ended before its last step, because `tell` raised this; the case is as it was."""


class Watch:
    """Tells how far one conversion is. `part` is the copy, `size_bytes` what it will have, about."""

    def __init__(self, part: Path, size_bytes: int, tell: Tell) -> None:
        self._part = part
        self._size = size_bytes
        self._tell = tell
        self._phase: Phase = "copied"
        self._told_at = 0.0

    def begin(self, phase: Phase) -> None:
        """Go on to another phase; raises ConversionStopped."""
        self._phase, self._told_at = phase, 0.0
        self.look()

    def look(self) -> None:
        """Tell how far it is, unless that was told a moment ago; raises ConversionStopped."""
        now = time.monotonic()
        if now - self._told_at < TELL_SECONDS:
            return
        self._told_at = now
        if self._phase == "compared":
            self._tell("compared", 0, 0)
        else:
            self._tell("copied", min(self._part.stat().st_size, self._size), self._size)

    @contextlib.contextmanager
    def over(self, connection: Any) -> Iterator[None]:
        """Look again and again while a connection works in the block; raises ConversionStopped."""
        stopped: list[ConversionStopped | KeyboardInterrupt] = []

        def look() -> int:
            try:
                self.look()
            except (ConversionStopped, KeyboardInterrupt) as stop:  # an exception would be lost in SQLite
                stopped.append(stop)
            return len(stopped)

        connection.set_progress_handler(look, STEPS)
        try:
            yield
        except database_errors():
            if stopped:
                raise stopped[0] from None
            raise
        finally:
            connection.set_progress_handler(None, 0)
