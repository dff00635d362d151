"""How much may be taken out of one file of the user's, over all that is nested in it: bytes and files.

A ZIP of 236 kB can hold ZIPs that unpack to many gigabytes, each within the limits of one ZIP. So all of them draw from
one budget, that of the file which the user gave.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from engine.documents.options import ALWAYS_ALLOWED, ParseOptions
from engine.errors import DocumentError

TOO_LARGE = "too_large"
"""The reason of a DocumentError for what unpacks to more than it may."""

_ADVICE = "Unpack it yourself and add the folder."


@dataclass(frozen=True, slots=True)
class Share:
    """What one file may take out at most: bytes, and files."""

    bytes: int
    files: int

    @classmethod
    def of(cls, size: int, options: ParseOptions) -> Share:
        """Return what may be taken out of a file of so many bytes, which lies in no other."""
        most = max(ALWAYS_ALLOWED, round(size * options.max_compression_ratio))
        return cls(min(options.max_unpacked_bytes, most), options.max_members)


def too_much(what: str, share: Share) -> DocumentError:
    """Make the error for a file that would take out more than its share; `what` says what it would take."""
    return DocumentError(
        f"{what}; of what may be taken out of one file, {share.bytes} bytes and {share.files} files are left",
        reason=TOO_LARGE,
        advice=_ADVICE,
    )


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
