"""How clean the ends of the cited spans are, and what lies between the spans of an item (article, 2.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from engine.completeness.report import Gap, SpanCheck
from engine.completeness.text import RunningText
from engine.documents.document import Line
from engine.rows import Span
from engine.text.blocks import blocks
from engine.text.sentences import Sentence, sentences

_WINDOW = 30
_PUNCTUATED = re.compile(r"[.!?;:][\"'”’)\]]*$")


def check_spans(text: RunningText, items: Sequence[Sequence[Span]]) -> tuple[SpanCheck, ...]:
    """Check both ends of every span of every item, in order.

    A span starts mid-sentence when the sentence on its first line began before and no other begins there. It ends
    without punctuation when no sentence ends on its last line and the paragraph goes on; a heading or an item that
    ends its paragraph needs none.
    """
    return tuple(_check(text, item, span) for item, spans in enumerate(items) for span in spans)


def gaps(text: RunningText, items: Sequence[Sequence[Span]]) -> tuple[Gap, ...]:
    """Find the text that lies between two spans of one item."""
    return tuple(Gap(item, lines) for item, spans in enumerate(items) for lines in _between(text, spans))


def _between(text: RunningText, spans: Sequence[Span]) -> Iterator[Span]:
    for one, following in pairwise(sorted(spans)):
        lines = text.between(one.last + 1, following.first - 1)
        if lines:
            yield Span(lines[0].number, lines[-1].number)


def _check(text: RunningText, item: int, span: Span) -> SpanCheck:
    around = text.between(max(1, span.first - _WINDOW), span.last + _WINDOW)
    inside = [place for place, line in enumerate(around) if span.first <= line.number <= span.last]
    if not inside:
        return SpanCheck(item, span, starts_mid_sentence=False, ends_without_punctuation=False)
    found = sentences([line.text for line in around])
    return SpanCheck(
        item, span, _starts_inside(found, inside[0]), ends_without_punctuation=_ends_inside(found, around, inside[-1])
    )


def _starts_inside(found: Sequence[Sentence], first: int) -> bool:
    there = [sentence for sentence in found if sentence.first <= first <= sentence.last]
    return bool(there) and all(sentence.first < first for sentence in there)


def _ends_inside(found: Sequence[Sentence], around: Sequence[Line], last: int) -> bool:
    there = [sentence for sentence in found if sentence.first <= last <= sentence.last]
    if there and any(sentence.last == last for sentence in there):
        return False
    if _PUNCTUATED.search(around[last].text.rstrip()):
        return False
    return any(run.start <= last < run.stop - 1 for run in blocks([line.text for line in around]))
