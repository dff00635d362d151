"""A table in groups: a heading for each value that a column names, the rows that have it below, folded or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final

from engine.results.shown import ShownHeading
from engine.results.table import ResultView, Selection
from engine.results.values import items


@dataclass(frozen=True, slots=True)
class Grouping:
    """By which column a table is grouped (empty: by none), and which groups are folded.

    `all_folded` says how groups are, `others` names those that are the other way.
    """

    column: str = ""
    all_folded: bool = False
    others: tuple[str, ...] = ()

    def is_folded(self, value: str) -> bool:
        """Say whether the rows of a group are hidden."""
        return self.all_folded != (value in self.others)


UNGROUPED: Final = Grouping()


class Sections:
    """The lines of a grouped table: headings, and numbers of rows. Groups with most rows come first.

    A row whose cell is a list stands in the group of each item, as in `ResultView.group`.
    """

    def __init__(self, view: ResultView, wanted: Selection, grouping: Grouping) -> None:
        self.rows = len(view.select(wanted))
        """Rows that are selected, each counted once."""
        self._groups: Sequence[tuple[ShownHeading, Sequence[int]]] = [
            (ShownHeading(value, len(numbers), grouping.is_folded(value)), numbers)
            for value, numbers in _grouped(view, wanted, grouping.column)
        ]
        lengths = (1 + (0 if heading.is_folded else heading.count) for heading, _ in self._groups)
        self._ends = list(accumulate(lengths))

    def __len__(self) -> int:
        """Return how many lines there are."""
        return self._ends[-1] if self._ends else 0

    def lines(self, offset: int, limit: int) -> Iterator[ShownHeading | int]:
        """Yield at most `limit` lines from `offset` on: headings, and numbers of rows below them."""
        begin = 0
        for (heading, numbers), end in zip(self._groups, self._ends, strict=True):
            if begin >= offset + limit:
                return
            if end > offset:
                lines: list[ShownHeading | int] = [heading, *(() if heading.is_folded else numbers)]
                yield from lines[max(offset - begin, 0) : offset + limit - begin]
            begin = end


@lru_cache(maxsize=2)
def _grouped(view: ResultView, wanted: Selection, column: str) -> Sequence[tuple[str, Sequence[int]]]:
    """Return the groups with their rows; cached, because each page of a table asks for them."""
    view.check_column(column)
    rows: dict[str, list[int]] = {}
    for number in view.select(wanted):
        for value in dict.fromkeys(items(view.cell(number, column))) or ("",):
            rows.setdefault(value, []).append(number)
    return sorted(rows.items(), key=lambda pair: (-len(pair[1]), pair[0].casefold(), pair[0]))
