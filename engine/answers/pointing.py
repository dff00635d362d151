"""Where lines say that an answer goes on elsewhere ("continued in Section 7"), and whether that was read.

An explicit pointer is told by code, as the other signs of an answer that is cut off (engine.completeness).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.answers.contract import Item, spans_of
from engine.answers.shown import Shown
from engine.text.normalise import plain, words

REACH = 6
"""Lines behind the last one cited, in which a pointer still belongs to the answer."""

_TARGET = r"(?:the\s+)?(?P<target>[^()\[\].;:,]{1,60}?)"
_PLACES = r"(?:sections?|articles?|annex(?:es)?|appendix|appendices|schedules?|exhibits?|pages?)\s+[\w.-]{0,8}\w"
_LISTED = r"(?:listed|set\s+out|set\s+forth|found|contained|described|named|given)"
_MORE = r"(?:more|further|additional|other|others|the\s+rest|the\s+remaining|the\s+others)"
_POINTS = re.compile(
    rf"\b(?:continued|continues|cont['’]?d\.?)\s+(?:in|on|at|under)\s+{_TARGET}\s*(?:[()\[\].;:,]|$)"
    rf"|\bsee\s+(?:also\s+)?(?P<seen>{_PLACES})\s+for\s+{_MORE}\b"
    rf"|\b{_MORE}\s+(?:[\w-]+\s+){{0,4}}(?:is|are)\s+{_LISTED}\s+in\s+(?P<listed>{_PLACES})",
    re.IGNORECASE,
)
"""Continued there; see there for more; further exclusions are listed there."""

_PAGE = re.compile(r"page\s+(?P<number>\d+)", re.IGNORECASE)
_NEXT = re.compile(r"(?:next|following)\s+page|reverse|back", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pointer:
    """A line of the document (or text, from 1) that says that the answer goes on at `target`."""

    line: int
    target: str


def pointer_of(shown: Shown, items: Sequence[Item], page_of: Callable[[int], int | None]) -> Pointer | None:
    """Find a pointer in or shortly behind the lines that items cite to a place that was not shown; None: there is none.

    A section counts as shown where a line begins with its name, a page where one of its lines is there. "On the next
    page" names no place: that is for engine.completeness to see.
    """
    spans = spans_of(items)
    lines = {
        shown.span(range(piece, piece + 1)).first: shown.snippet([range(piece, piece + 1)]) for piece in shown.pieces
    }
    if not spans:
        return None
    for number in sorted(lines):
        if not spans[0].first <= number <= max(span.last for span in spans) + REACH:
            continue
        found = _POINTS.search(lines[number])
        target = next((part.strip() for part in found.groups() if part), "") if found else ""
        if not target or _NEXT.match(target):
            continue
        others = [(line, text) for line, text in lines.items() if line != number]
        if not _is_shown(target, others, page_of):
            return Pointer(number, target)
    return None


def _is_shown(target: str, lines: Sequence[tuple[int, str]], page_of: Callable[[int], int | None]) -> bool:
    if page := _PAGE.match(target):
        return any(page_of(line) == int(page["number"]) for line, _ in lines)
    wanted = words(plain(target))
    return any(words(plain(text))[: len(wanted)] == wanted for _, text in lines)
