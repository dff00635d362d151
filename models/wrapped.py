"""A model inside another: what all that stand before a model have in common."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable

from models.notices import GivesNotice, Tell
from models.protocol import ModelBackend, Reply, Request

KEPT_COUNTS = 50_000
"""Token counts that are kept, of about 150 bytes each: the same texts are measured again and again."""


class WrappedBackend:
    """Pass everything on to `inner` (models.protocol.ModelBackend); subclasses change what they are about."""

    def __init__(self, inner: ModelBackend) -> None:
        self._inner = inner

    @property
    def digest(self) -> str:
        """Identify the weights."""
        return self._inner.digest

    @property
    def name(self) -> str:
        """Return the inner model's name."""
        return self._inner.name

    @property
    def layout(self) -> str:
        """Name the layout of the inner model's replies."""
        return self._inner.layout

    @property
    def context_tokens(self) -> int:
        """Return the inner model's context."""
        return self._inner.context_tokens

    def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text."""
        return self._inner.count_tokens(text)

    def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of a whole prompt."""
        return self._inner.count_prompt_tokens(request)

    async def ask(self, request: Request) -> Reply:
        """Answer one request; raises models.errors.ModelError."""
        return await self._inner.ask(request)

    def watch(self, tell: Tell) -> None:
        """Pass on what the inner model tells (models.notices.GivesNotice), if it tells anything."""
        if isinstance(self._inner, GivesNotice):
            self._inner.watch(tell)

    async def close(self) -> None:
        """Close the inner model; idempotent."""
        await self._inner.close()


class KeptCounts:
    """Token counts of the latest texts and prompts, for who must ask another process for each. From any thread."""

    def __init__(self) -> None:
        self._counts: OrderedDict[bytes, int] = OrderedDict()
        self._turn = threading.Lock()

    def of_text(self, text: str, count: Callable[[], int]) -> int:
        """Return the count of a text; `count` asks for one that is not known."""
        return self._of(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), count)

    def of_prompt(self, request: Request, count: Callable[[], int]) -> int:
        """Return the count of a whole prompt; `count` asks for one that is not known."""
        return self._of(bytes.fromhex(request.digest), count)

    def _of(self, key: bytes, count: Callable[[], int]) -> int:
        with self._turn:
            if (known := self._counts.get(key)) is not None:
                self._counts.move_to_end(key)
                return known
        tokens = count()
        with self._turn:
            self._counts[key] = tokens
            if len(self._counts) > KEPT_COUNTS:
                self._counts.popitem(last=False)
        return tokens
