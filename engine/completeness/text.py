"""The running text of a document, without what repeats on its pages: what every test of completeness reads."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from engine.documents.document import Line
from engine.documents.furniture import furniture
from engine.documents.outline import headed_sections, sections_of_lines


@dataclass(frozen=True)
class RunningText:
    """All lines of a document; `body` are those of its running text, `headings` the numbers of those that are headings.

    A heading that runs over several lines is in it with its first.
    """

    lines: tuple[Line, ...]
    body: tuple[Line, ...]
    headings: frozenset[int]

    def between(self, first: int, last: int) -> tuple[Line, ...]:
        """Return the lines of the body from `first` to `last`, both inclusive."""
        start = bisect_left(self.body, first, key=lambda line: line.number)
        stop = bisect_right(self.body, last, key=lambda line: line.number)
        return self.body[start:stop]


def running_text(lines: Sequence[Line]) -> RunningText:
    """Prepare the lines of a whole document."""
    skipped = furniture(lines)
    # A contents page may leave out the lower headings, which end lists as well.
    sections = (*sections_of_lines(lines), *headed_sections(lines))
    return RunningText(
        tuple(lines),
        tuple(line for line in lines if line.number not in skipped),
        frozenset(section.first_line for section in sections),
    )
