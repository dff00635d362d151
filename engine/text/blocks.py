"""Group lines into runs that read on: the paragraphs, headings, form fields and list items of a page.

Files give us lines, not paragraphs. A line break is soft (the text reads on) when the next line goes on in
lower case, or when its first word would not have fitted on this line; everything else is a hard break.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

NARROWEST_WRAP = 36
"""Characters. Lines of a region narrower than this are cells or form fields, not wrapped prose."""

WIDEST_WRAP = 200
"""Characters. Lines longer than this are whole paragraphs, so nothing is wrapped."""

_REACH = 6
_BULLETS = "•●○■□▪▫◦‣⁃➢➤►✓✔❖"
MARKER = re.compile(
    rf"(?:[{_BULLETS}\uf0b7\uf0a7]+|[-–—*](?=\s|$)|\(?(?:\d{{1,3}}|[A-Za-z]|[ivx]{{1,5}}|[IVX]{{1,5}})[.)](?=\s|$))\s*"
)
"""A bullet or an enumerator ('•', '12.', '(a)', 'iv)') at the start of a line, with the space behind it."""

_GLYPH = re.compile(rf"[{_BULLETS}\uf0b7\uf0a7]|[-–—*]\s")
_FIELD = re.compile(r"[A-Z#][\w#./&'’()\- ]{0,38}?:(?=\s|$)")
_TURN = re.compile(
    r"(?:[QA][.:]?|THE (?:COURT|WITNESS|CLERK)[.:]|(?:MR|MS|MRS)\. [A-Z'’-]+:|\[[A-Za-z][^\[\]]{0,30}\]:?)\s"
)
_FURNITURE = re.compile(
    r"(?:page\s*#?\s*\d+(?:\s*(?:of|/)\s*\d+)?|-?\s*\d{1,4}\s*-?|case\s\S+\s+document\s.*|bates\s.*|\d+ of \d+)$",
    re.IGNORECASE,
)
_GAP = re.compile(r"\S(?:\s{3,}|\t)(?=\S)")
_TRAILING = re.compile(
    r"(?:^|\s)(?:an?|and|are|as|at|be|between|by|for|from|had|has|have|her|his|in|into|is|its|of|on|or|that|the|their|to"
    r"|was|were|which|who|with|within)$",
    re.IGNORECASE,
)
"""Words with which no sentence, field or heading ends."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What deciding about a line break needs to know of a line. `text` has its whitespace collapsed."""

    text: str
    blank: bool
    furniture: bool
    capitals: bool
    marker_only: bool
    cells: bool

    @property
    def first_word(self) -> str:
        return self.text.split(" ", 1)[0]


def collapse(text: str) -> str:
    """Replace every run of whitespace by one space and strip the ends."""
    return " ".join(text.split())


def blocks(lines: Sequence[str]) -> list[range]:
    """Group lines into runs that read on; offsets into `lines`, in order. Blank lines belong to no run."""
    shapes = [_shape(line) for line in lines]
    widths = _widths(shapes)
    runs: list[range] = []
    start: int | None = None
    for here, shape in enumerate(shapes):
        if shape.blank:
            start = None
        elif start is not None and _reads_on(shapes[here - 1], shape, widths[here - 1]):
            runs[-1] = range(start, here + 1)
        else:
            start = here
            runs.append(range(here, here + 1))
    return runs


def _shape(line: str) -> _Shape:
    text = collapse(line)
    marker = MARKER.match(text)
    letters = [c for c in text if c.isalpha()]
    marker_only = bool(marker) and marker is not None and marker.end() == len(text)
    return _Shape(
        text=text,
        blank=not marker_only and not any(c.isalnum() for c in text),
        furniture=not marker_only and _FURNITURE.match(text) is not None,
        capitals=len(letters) >= 3 and not any(c.islower() for c in letters),
        marker_only=marker_only,
        cells=len(_GAP.findall(line)) > 1,
    )


def _widths(shapes: Sequence[_Shape]) -> list[int]:
    """Measure the column around each line: the longest line within reach, in characters."""
    lengths = [len(s.text) for s in shapes]
    return [max(lengths[max(0, i - _REACH) : i + _REACH + 1]) for i in range(len(lengths))]


def _reads_on(line: _Shape, following: _Shape, width: int) -> bool:
    """Decide whether the text of `line` reads on in `following`, both not blank."""
    if line.furniture or following.furniture or line.cells or following.cells:
        return False
    if line.marker_only:
        return not following.marker_only
    full = _is_full(line, following, width)
    if _starts_unit(following, after_full_line=full and line.text[-1] not in ".;:!?"):
        return False
    if line.capitals != following.capitals and (_is_heading(line) or _is_heading(following)):
        return False
    if following.text[0].islower():
        return True
    return full or _is_cut_off(line, width)


def _is_full(line: _Shape, following: _Shape, width: int) -> bool:
    """Say whether the next word would not have fitted on the line."""
    if not NARROWEST_WRAP <= width <= WIDEST_WRAP:
        return False
    share = 0.9 if line.text[-1] in ".;:!?" else 0.78  # a first line may be indented, which its text does not show
    return len(line.text) + 1 + len(following.first_word) > share * width


def _is_cut_off(line: _Shape, width: int) -> bool:
    """Say whether a line that is not full still ends where no sentence, field or heading ends."""
    if _TRAILING.search(line.text[-12:]):
        return True
    return line.text[-1] == "," and len(line.text) > width / 2 and width >= NARROWEST_WRAP


def _is_heading(line: _Shape) -> bool:
    return line.capitals and len(line.text) > 5 and line.text[-1] != "."


def _starts_unit(line: _Shape, *, after_full_line: bool) -> bool:
    """Say whether a line opens a list item, a form field or a speaker's turn.

    After a full line without final punctuation, '12. He' is the end of a date and not an enumerator.
    """
    if _GLYPH.match(line.text) or _FIELD.match(line.text):
        return True
    if after_full_line:
        return False
    return MARKER.match(line.text) is not None or _TURN.match(line.text) is not None
