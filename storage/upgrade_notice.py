"""Who hears that a case of an earlier version was upgraded. Light to import: every command listens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A case that was upgraded, from which schema, and the copy of what it was before."""

    case: Path
    version: int
    backup: Path


Told = Callable[[Upgraded], None]
_listeners: list[Told] = []


def tell(upgraded: Upgraded) -> None:
    """Tell who listens."""
    for listener in _listeners:
        listener(upgraded)


def tell_with(listener: Told | None) -> None:
    """Let `listener` hear of every upgrade in this process from now on; None: nobody does."""
    _listeners[:] = [] if listener is None else [listener]
