"""Where lines say that an answer goes on elsewhere ("continued in Section 7"), and whether that was read.

An explicit pointer is told by code, as the other signs of an answer that is cut off (engine.completeness).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
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

_REFERS = re.compile(
    rf"\b(?:see(?:\s+also)?|(?:{_LISTED}|stated|specified|provided|defined)\s+in)\s+(?P<place>{_PLACES})",
    re.IGNORECASE,
)
"""Set out there: where nothing was found, what is asked for may stand there."""

_NEXT = re.compile(r"(?:next|following)\s+page|reverse|back", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pointer:
    """A line of the document (or text, from 1) that says that the answer goes on at `target`."""

    line: int
    target: str


def pointer_of(shown: Shown, items: Sequence[Item], is_read: Callable[[str], bool | None]) -> Pointer | None:
    """Find a pointer in or shortly behind the lines that items cite to a place that was not shown; None: there is none.

    `is_read` says of a name whether the section or page that it names was shown, None where no section has the name:
    then a line that begins with it is enough. "On the next page" names no place: that is for engine.completeness to
    see.
    """
    spans = spans_of(items)
    if not spans:
        return None
    lines: dict[int, str] = {}
    for piece in sorted(shown.pieces):  # a long line is shown in several
        number = shown.span(range(piece, piece + 1)).first
        lines[number] = f"{lines.get(number, '')} {shown.snippet([range(piece, piece + 1)])}".strip()
    last = max(span.last for span in spans) + REACH
    for number, text in lines.items():
        if not spans[0].first <= number <= last:
            continue
        for target in _targets(_POINTS, text):
            was_read = is_read(target)
            if was_read is None:
                was_read = any(_begins_with(other, target) for line, other in lines.items() if line != number)
            if not was_read:
                return Pointer(number, target)
    return None


def references(text: str) -> Iterator[str]:
    """Yield the places that a text refers to: where it goes on, or where something is set out.

    >>> list(references("The notice period is set out in Section 7."))
    ['Section 7']
    """
    for pattern in (_POINTS, _REFERS):
        yield from _targets(pattern, text)


def _targets(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for match in pattern.finditer(text):
        target = next((part.strip() for part in match.groups() if part), "")
        if target and not _NEXT.match(target):
            yield target


def _begins_with(text: str, name: str) -> bool:
    wanted = words(plain(name))
    return words(plain(text))[: len(wanted)] == wanted
