"""Put pieces of text into lines, and lines into reading order.

A text layer may hold its pieces in any order (forms often do), and an OCR engine finds boxes in none. Both come
here as fragments. PyMuPDF's `sort=True` was measured first: right on forms, but it joins the columns of a two-column
page into one line; its layout model reads columns, takes 0.1 to 0.3 s a page, and cuts forms into blocks. So:

1. fragments on one baseline form a row;
2. runs of rows that leave one vertical gutter free, with running text on both sides, are columns;
3. columns are read one after the other, everything else row by row across the page. Rows and columns of a script that
   is read from right to left begin at the right.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from engine.documents.document import Box, Hidden

ASKEW = -1
"""The `turn` of text that runs at an odd angle, such as a watermark."""

_SAME_ROW_OVERLAP = 0.6
_GUTTER_HEIGHTS = 0.8
_TALL = 2.0
_SAME_MIDDLE = 0.4
_WIDE_GAP_HEIGHTS = 2.0
_MIN_COLUMN_ROWS = 5
_MIN_COLUMN_FILL = 0.7
_MIN_COLUMN_INK = 0.85
_MIN_COLUMN_CHARACTERS = 20
_MIN_PITCH_RATIO = 0.6
_MAX_ROWS_FOR_COLUMNS = 600


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of text that lies on one baseline.

    `box` is its place on the displayed page. `frame` is its place after the page has been turned (and deskewed) so
    that this text runs left to right; pieces with the same `turn` (degrees clockwise) share that frame.
    """

    text: str
    box: Box
    frame: Box
    turn: int = 0
    confidence: float | None = None
    bold: bool = False
    hidden: Hidden | None = None

    @property
    def height(self) -> float:
        """Return the height across the reading direction."""
        return self.frame.y1 - self.frame.y0


Row = list[Fragment]


def arrange(fragments: Iterable[Fragment], rules: Sequence[Box] = ()) -> list[Row]:
    """Return the lines of a page in reading order, each with its fragments in order.

    Text of the commonest direction comes first, then the other directions, askew text last. `rules` are the ruling
    lines of the displayed page: columns crossed by several horizontal ones are a table, read by rows.
    """
    groups: dict[int, Row] = {}
    for fragment in _without_overprints(fragments):
        groups.setdefault(fragment.turn, []).append(fragment)
    weight = Counter({turn: sum(len(f.text) for f in group) for turn, group in groups.items()})
    order = sorted(groups, key=lambda turn: (turn == ASKEW, -weight[turn], turn))
    return [line for turn in order for line in _read(groups[turn], [turned(r, turn) for r in rules])]


def join_row(row: Sequence[Fragment]) -> str:
    """Join a row to text; a wide gap (form fields, table cells) becomes three spaces, a normal one a single space."""
    parts = [row[0].text]
    for left, right in zip(row, row[1:], strict=False):
        gap = max(right.frame.x0 - left.frame.x1, left.frame.x0 - right.frame.x1)
        wide = gap > _WIDE_GAP_HEIGHTS * min(left.height, right.height)
        parts.append(("   " if wide else " ") + right.text)
    return "".join(parts)


def is_right_to_left(text: str) -> bool:
    """Say whether more letters are of a script that is read from right to left (Arabic, Hebrew) than are not."""
    kinds = Counter(map(unicodedata.bidirectional, text))
    return kinds["R"] + kinds["AL"] > kinds["L"]


def enclosing(boxes: Iterable[Box]) -> Box:
    """Return the smallest box around all of `boxes`, which must not be empty."""
    every = list(boxes)
    return Box(min(b.x0 for b in every), min(b.y0 for b in every), max(b.x1 for b in every), max(b.y1 for b in every))


def turned(box: Box, turn: int) -> Box:
    """Return the box in the frame in which text running at `turn` degrees clockwise runs left to right."""
    if turn == 90:
        return Box(box.y0, -box.x1, box.y1, -box.x0)
    if turn == 180:
        return Box(-box.x1, -box.y1, -box.x0, -box.y0)
    if turn == 270:
        return Box(-box.y1, box.x0, -box.y0, box.x1)
    return box


def _without_overprints(fragments: Iterable[Fragment]) -> list[Fragment]:
    """Drop pieces printed twice in one place, the poor man's bold."""
    seen: set[tuple[str, int, int]] = set()
    kept = []
    for fragment in fragments:
        spots = {
            (fragment.text, round(fragment.box.x0 / 2) + dx, round(fragment.box.y0 / 2) + dy)
            for dx in (0, 1)
            for dy in (0, 1)
        }
        if not seen & spots:
            kept.append(fragment)
        seen |= spots
    return kept


def _read(fragments: Row, rules: Sequence[Box]) -> list[Row]:
    rows = _rows(fragments)
    if len(rows) > _MAX_ROWS_FOR_COLUMNS:
        return rows
    lines: list[Row] = []
    start = 0
    while start < len(rows):
        end, gutter = _column_run(rows, start, rules)
        if gutter is None:
            lines.append(rows[start])
            start += 1
            continue
        pieces = [f for row in rows[start:end] for f in row]
        columns = [[f for f in pieces if _middle(f) < gutter], [f for f in pieces if _middle(f) >= gutter]]
        for column in reversed(columns) if _reads_from_right(pieces) else columns:
            lines += _read(column, rules)
        start = end
    return lines


def _rows(fragments: Iterable[Fragment]) -> list[Row]:
    """Group fragments that share a baseline; rows from top to bottom, each in reading direction."""
    rows: list[Row] = []
    for fragment in sorted(fragments, key=lambda f: (f.frame.y0 + f.frame.y1, f.frame.x0)):
        home = next((row for row in reversed(rows[-4:]) if _belongs(fragment, row)), None)
        if home is None:
            rows.append([fragment])
        else:
            home.append(fragment)
    for row in rows:
        row.sort(key=lambda f: f.frame.x0, reverse=_reads_from_right(row))
    return sorted(rows, key=lambda row: median((f.frame.y0 + f.frame.y1) / 2 for f in row))


def _belongs(fragment: Fragment, row: Row) -> bool:
    top = median(f.frame.y0 for f in row)
    bottom = median(f.frame.y1 for f in row)
    overlap = min(bottom, fragment.frame.y1) - max(top, fragment.frame.y0)
    smaller, larger = sorted((bottom - top, fragment.height))
    if larger > _TALL * smaller:
        # A drop cap or a brace stands beside several rows and belongs to the one at its middle, if to any.
        together = abs(top + bottom - fragment.frame.y0 - fragment.frame.y1) / 2 <= _SAME_MIDDLE * smaller
    else:
        together = overlap >= _SAME_ROW_OVERLAP * smaller
    return together and not any(_covers(f, fragment) for f in row)


def _covers(fragment: Fragment, other: Fragment) -> bool:
    shared = min(fragment.frame.x1, other.frame.x1) - max(fragment.frame.x0, other.frame.x0)
    narrower = min(fragment.frame.x1 - fragment.frame.x0, other.frame.x1 - other.frame.x0)
    return shared > 0.5 * narrower


def _reads_from_right(row: Row) -> bool:
    return is_right_to_left("".join(f.text for f in row))


def _middle(fragment: Fragment) -> float:
    return (fragment.frame.x0 + fragment.frame.x1) / 2


def _column_run(rows: Sequence[Row], start: int, rules: Sequence[Box]) -> tuple[int, float | None]:
    """Find the longest run of rows from `start` that leaves a gutter free; return its end and the gutter's middle.

    The gutter is None when the run is no pair of columns. Before there is text on both sides of a free strip, any
    strip may still become the gutter; afterwards one with both sides must survive.
    """
    narrowest = _GUTTER_HEIGHTS * median(f.height for row in rows for f in row)
    edge = enclosing(f.frame for row in rows for f in row)
    free = [(edge.x0 - 1, edge.x1 + 1)]
    reach = (edge.x1, edge.x0)
    opened = False
    end = start
    for row in rows[start:]:
        left = _subtract(free, row, narrowest)
        middles = [_middle(f) for f in row]
        reach = (min(reach[0], *middles), max(reach[1], *middles))
        two_sided = any(reach[0] < (gap[0] + gap[1]) / 2 < reach[1] for gap in left)
        if not left or (opened and not two_sided):
            break
        free, opened, end = left, two_sided, end + 1
    gaps = [gap for gap in free if opened and _are_columns(rows[start:end], gap, rules)]
    if not gaps:
        return end, None
    widest = max(gaps, key=lambda gap: gap[1] - gap[0])
    return end, (widest[0] + widest[1]) / 2


def _subtract(free: Sequence[tuple[float, float]], row: Row, narrowest: float) -> list[tuple[float, float]]:
    """Take the row's text out of the free strips; drop strips narrower than `narrowest`."""
    strips = list(free)
    for fragment in row:
        x0, x1 = fragment.frame.x0, fragment.frame.x1
        cut = []
        for left, right in strips:
            cut += [(left, min(right, x0)), (max(left, x1), right)] if x0 < right and x1 > left else [(left, right)]
        strips = [(left, right) for left, right in cut if right - left >= narrowest]
    return strips


def _are_columns(rows: Sequence[Row], gap: tuple[float, float], rules: Sequence[Box]) -> bool:
    middle = (gap[0] + gap[1]) / 2
    left = _rows(f for row in rows for f in row if _middle(f) < middle)
    right = _rows(f for row in rows for f in row if _middle(f) >= middle)
    if not (_is_running_text(left) and _is_running_text(right)):
        return False
    pitches = sorted((_pitch(left), _pitch(right)))
    if pitches[0] < _MIN_PITCH_RATIO * pitches[1]:  # labels beside paragraphs: a form or a table
        return False
    extent = enclosing(f.frame for row in rows for f in row)
    crossing = [r for r in rules if r.x0 < gap[0] and r.x1 > gap[1] and extent.y0 < r.y0 < extent.y1]
    return len(crossing) < 3


def _is_running_text(rows: Sequence[Row]) -> bool:
    """Say whether rows look like a column of text: enough of them, most nearly full, few holes, some length."""
    if len(rows) < _MIN_COLUMN_ROWS:
        return False
    extent = enclosing(f.frame for row in rows for f in row)
    widths = sorted(_width(row) for row in rows)
    ink = sum(f.frame.x1 - f.frame.x0 for row in rows for f in row)
    characters = median(sum(len(f.text) for f in row) for row in rows)
    return (
        characters >= _MIN_COLUMN_CHARACTERS
        and widths[3 * len(widths) // 4] >= _MIN_COLUMN_FILL * (extent.x1 - extent.x0)
        and ink >= _MIN_COLUMN_INK * sum(widths)
    )


def _width(row: Row) -> float:
    return max(f.frame.x1 for f in row) - min(f.frame.x0 for f in row)


def _pitch(rows: Sequence[Row]) -> float:
    """Return the usual distance from one line to the next."""
    middles = [median((f.frame.y0 + f.frame.y1) / 2 for f in row) for row in rows]
    return max(median(b - a for a, b in zip(middles, middles[1:], strict=False)), 1.0)
