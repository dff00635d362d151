"""Headings of chunks, and the path of headings that leads to a chunk (gather)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import ItemError
from engine.operators.accounting import kind_of


@dataclass(frozen=True, slots=True)
class Header:
    """A heading; `level` counts from 1, the highest."""

    header: str
    level: int

    @property
    def text(self) -> str:
        """Write the heading in Markdown; marks a model already put there are not doubled."""
        return f"{'#' * self.level} {self.header.lstrip('# ').strip()}"


def headers_of(value: Any, key: str) -> tuple[Header, ...]:
    """Read [{header, level}, ...]; null is no headings. Raises ItemError naming the wrong entry."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise ItemError(f"field {key!r} is {kind_of(value)}, not a list of headings")
    return tuple(_header(entry, f"{key}[{index}]") for index, entry in enumerate(value))


def header_path(before: Iterable[Header], headers: Sequence[Header]) -> list[Header]:
    """Find the headings above a chunk that has `headers`, where earlier chunks had `before`, and its own first one.

    As in the gather page's figure: a chunk whose first heading has level 3 gets the latest level 1 and 2 from before
    and its own. A chunk without headings gets the whole path that was open when it began.
    """
    path: list[Header] = []
    for header in [*before, *headers[:1]]:
        path = [*(h for h in path if h.level < header.level), header]
    return path


def _header(entry: Any, at: str) -> Header:
    match entry:
        case Mapping() if isinstance(entry.get("header"), str) and _is_level(entry.get("level")):
            return Header(entry["header"], entry["level"])
    raise ItemError(
        f"{at} is not a heading: {entry!r}",
        advice='A heading is {header: string, level: integer from 1}; see "list[{header: string, level: integer}]".',
    )


def _is_level(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
