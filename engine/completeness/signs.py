"""Signs at the end of a text that it goes on: a sentence, a table, a count that was announced (article, 2.4)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.completeness.markers import markers_of, without_marker
from engine.documents.document import Line
from engine.text.blocks import blocks

_TERMINAL = re.compile(r"[.!?][\"'”’)\]]*$")
_OPEN_END = re.compile(r"(?:[;,]|\b(?:and|or|and/or)|[–—])$", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[:;](?:\s*(?:and|or|and/or))?$", re.IGNORECASE)
_ANNOUNCES = re.compile(r"(?::|:[-–—]|\b(?:the following|as follows))$", re.IGNORECASE)
_CELLS = re.compile(r"\s{3,}|\t")
_WINDOW = 8
_SAME_EDGE_POINTS = 12.0
_NUMBERS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
    " nineteen twenty"
)
_VALUES = {word: value for value, word in enumerate(_NUMBERS.split(), 2)}
_NUMBER = rf"(?P<number>{'|'.join(_VALUES)}|\d{{1,2}})(?:\s*\(\d{{1,2}}\))?"
_NOUN = r"(?!days?\b|months?\b|years?\b|weeks?\b|hours?\b|minutes?\b|dollars\b)[a-z-]+"
_ANNOUNCED = re.compile(
    rf"(?:\b(?:following|these)\s+{_NUMBER}\s+(?:{_NOUN}\s+){{0,3}}{_NOUN}s\b[^.;]*"
    rf"|\b{_NUMBER.replace('number', 'before')}\s+following\s+(?:{_NOUN}\s+){{0,3}}{_NOUN}s\b[^.;]*"
    rf"|(?<!least )(?<!most )\b{_NUMBER.replace('number', 'last')}\s+(?:{_NOUN}\s+){{0,3}}{_NOUN}s)\s*[:.–—-]*$",
    re.IGNORECASE,
)


def sentence_goes_on(before: Sequence[Line], behind: Sequence[Line]) -> bool:
    """Say whether the last line of `before` is cut in a sentence that the first of `behind` finishes."""
    if not before or not behind:
        return False
    last, following = before[-1].text.rstrip(), behind[0].text.strip()
    if _TERMINAL.search(last) or markers_of(following)[:1] and not markers_of(following)[0].is_inline:
        return False
    if not following or following.startswith((":", "(")):
        return False
    if last.endswith("-") or following[0].islower():
        return not _ANNOUNCES.search(last)
    texts = [line.text for line in (*before[-_WINDOW:], *behind[:_WINDOW])]
    cut = min(len(before), _WINDOW)
    return not _CLAUSE_END.search(last) and any(run.start < cut < run.stop for run in blocks(texts))


def is_open_ended(line: Line) -> bool:
    """Say whether an item ends as one does that is not the last: in a semicolon, a comma, 'and' or 'or'."""
    return _OPEN_END.search(line.text.rstrip()) is not None


def announces(line: Line) -> bool:
    """Say whether a line promises what stands behind it: it ends in a colon or 'the following'."""
    return _ANNOUNCES.search(line.text.rstrip()) is not None


def table_goes_on(before: Sequence[Line], behind: Sequence[Line]) -> bool:
    """Say whether the rows that end `before` go on in `behind`: as many cells, the same edges; or its head is repeated.

    Cells are told apart by three spaces or a tab. A row of totals ends a table.
    """
    if len(before) < 2 or not behind:
        return False
    last = cells(before[-1].text)
    if len(last) < 2 or len(cells(before[-2].text)) < 2 or last[0].lower().startswith(("total", "sum", "subtotal")):
        return False
    heads = {" ".join(line.text.split()) for line in before[-60:] if len(cells(line.text)) >= 2}
    if " ".join(behind[0].text.split()) in heads:
        return True
    counts = {len(cells(line.text)) for line in before[-3:]}
    return len(cells(behind[0].text)) in counts and len(cells(behind[0].text)) >= 2 and _aligned(before[-1], behind[0])


def cells(text: str) -> list[str]:
    """Cut a row of a table into its cells."""
    return [cell for cell in _CELLS.split(text.strip()) if cell]


def announced_count(lead: Sequence[Line]) -> int | None:
    """Read how many items the text before a list announces: 'the following seven exclusions:'; None where it does not.

    Lengths of time and amounts of money are no announcements.
    """
    text = " ".join(without_marker(line.text) for line in lead[-3:])
    found = _ANNOUNCED.search(text)
    if not found:
        return None
    word = next(part for part in (found["number"], found["before"], found["last"]) if part).lower()
    return _VALUES.get(word) or int(word)


def _aligned(one: Line, other: Line) -> bool:
    if one.box is None or other.box is None:
        return True
    return abs(one.box.x0 - other.box.x0) <= _SAME_EDGE_POINTS
