"""What may be taken out of one file, for all that is nested in it to draw from (engine.documents.unpacking)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from engine.documents.options import ALWAYS_ALLOWED, ParseOptions
from engine.documents.unpacking import Share, too_much


class Budget:
    """What is left to be taken out of one file that the user gave. Lives in one event loop."""

    def __init__(self, size: int, options: ParseOptions) -> None:
        self._options = options
        self._left = Share.of(size, options)
        self._lent = 0
        self._changed = asyncio.Condition()

    def needs(self, size: int, *, is_nested: bool) -> tuple[int, ...]:
        """Return the bytes to lend to a file of so many bytes, at first and where that was not enough.

        Few files need much, and what is lent to one keeps others waiting; a file that lies in no other has no others.
        """
        most = Share.of(size, self._options).bytes
        usual = min(most, max(ALWAYS_ALLOWED, size))
        return (usual, most) if is_nested and usual < most else (most,)

    @asynccontextmanager
    async def share(self, need: int) -> AsyncIterator[Share]:
        """Lend a share of so many bytes, or of all that is left.

        Waits for others where they leave less, so that none fails for what another gives back.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: not self._lent or self._left.bytes - self._lent >= need)
            lent = max(min(need, self._left.bytes - self._lent), 0)
            self._lent += lent
            share = Share(lent, self._left.files)
        try:
            yield share
        finally:
            async with self._changed:
                self._lent -= lent
                self._changed.notify_all()

    def take(self, taken: Share) -> None:
        """Count what was taken out; raises DocumentError where that is more than is left."""
        if taken.files > self._left.files or taken.bytes > self._left.bytes:
            raise too_much(f"it holds {taken.files} files of {taken.bytes} bytes", self._left)
        self._left = Share(self._left.bytes - taken.bytes, self._left.files - taken.files)
