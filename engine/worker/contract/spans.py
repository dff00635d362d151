"""Which lines of a table are meant, where they are too many to be named one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a table from `first` to `last`, inclusive; the first one is 0."""

    first: int
    last: int

    def of(self, lines: Sequence[Line]) -> Sequence[Line]:
        """Return these of all lines of the table."""
        return lines[self.first : self.last + 1]
