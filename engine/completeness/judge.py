"""Judge whether what was retrieved is bounded or truncated (article, 2.4). No model is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from engine.completeness.ends import Shown, findings_after, findings_before
from engine.completeness.lists import walk_lists
from engine.completeness.report import CompletenessReport, Finding, Gap, SpanCheck
from engine.completeness.retrieval import Retrieval, overlap_after, overlap_before, shown
from engine.completeness.text import RunningText, running_text
from engine.documents.document import Line
from engine.documents.outline import Section
from engine.rows import Span
from engine.text.blocks import blocks
from engine.text.sentences import Sentence, sentences

_SURE = 0.9


def judge_completeness(
    document_lines: Sequence[Line],
    retrieval: Retrieval,
    spans: Sequence[Sequence[Span]],
    *,
    sections: Sequence[Section] | None = None,
) -> CompletenessReport:
    """Say whether the shown lines hold all that an answer is about.

    `document_lines` are all lines of the document, `spans` those that each item of the answer cites; without items the
    whole of what was shown is judged. `sections` is the document's outline; None finds one in the lines. Whoever
    judges several answers about one document prepares it once: `judge(running_text(lines, sections), ...)`.
    """
    return judge(running_text(document_lines, sections), retrieval, spans)


def judge(text: RunningText, retrieval: Retrieval, spans: Sequence[Sequence[Span]]) -> CompletenessReport:
    """Judge an answer as `judge_completeness` does."""
    cited = tuple(sorted(span for item in spans for span in item))
    around = _around(shown(retrieval, text.lines), cited)
    if around is None:
        return CompletenessReport(None, (), check_spans(text, spans), gaps(text, spans), ("nothing was shown",))
    before = overlap_before(around.first, text.lines, retrieval.overlap_pages)
    after = overlap_after(around.last, text.lines, retrieval.overlap_pages)
    looked_at = Shown(text, around.first, around.last, cited, after)
    walk = walk_lists(text.between(1, around.last), text.headings)
    findings = findings_before(looked_at, walk) if before else []
    findings += findings_after(looked_at, walk)
    findings += _section_findings(text, retrieval, around, findings, has_items=bool(cited))
    strong = _strong(findings)
    reasons = tuple(finding.reason for finding in findings)
    if not reasons:
        reasons = (_nothing_known(after),)
    return CompletenessReport(
        strong, tuple(findings), check_spans(text, spans), gaps(text, spans), reasons, before, after
    )


def _around(spans: Sequence[Span], cited: Sequence[Span]) -> Span | None:
    """Return the run of shown lines that holds the last line cited; the last run where nothing is cited."""
    runs: list[Span] = []
    for span in spans:
        if runs and span.first == runs[-1].last + 1:
            runs[-1] = Span(runs[-1].first, span.last)
        else:
            runs.append(span)
    if not runs:
        return None
    last = max((span.last for span in cited), default=runs[-1].last)
    return next((run for run in runs if run.first <= last <= run.last), runs[-1])


def _section_findings(
    text: RunningText, retrieval: Retrieval, around: Span, findings: Sequence[Finding], *, has_items: bool
) -> list[Finding]:
    """Use the section's end, where it is known, for what the text at the ends leaves open."""
    section = retrieval.section
    if section is None or any(finding.side == "after" for finding in findings):
        return []
    rest = text.between(around.last + 1, section.section_end_line)
    if rest and not has_items:
        reason = f"the section {section.title!r} goes on to line {section.section_end_line}"
        return [Finding("section_end", "after", "truncated", reason, Span(rest[0].number, rest[-1].number))]
    if not rest and section.confidence >= _SURE:
        reason = f"the section {section.title!r} was shown to its end"
        return [Finding("section_end", "after", "bounded", reason, None)]
    return []


def _strong(findings: Sequence[Finding]) -> bool | None:
    """Weigh the findings: a truncated beginning decides; at the end, signs that disagree prove nothing."""
    if any(finding.side == "before" and finding.verdict == "truncated" for finding in findings):
        return False
    verdicts = {finding.verdict for finding in findings if finding.side == "after"}
    if len(verdicts) != 1:
        return _surest(findings) if verdicts else None
    return verdicts == {"bounded"}


def _surest(findings: Sequence[Finding]) -> bool | None:
    """Where signs at the end disagree, an item that follows is stronger than a count that is reached."""
    follows = ("numbering", "sentence", "table")
    if any(f.verdict == "truncated" and f.test in follows and f.side == "after" for f in findings):
        return False
    return None


def _nothing_known(after: Span | None) -> str:
    if after is None:
        return "no lines were kept behind what was shown, so nothing tells whether it goes on"
    return "neither a heading nor a continuation stands behind what was shown"


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
    for span, following in pairwise(sorted(spans)):
        lines = text.between(span.last + 1, following.first - 1)
        if lines:
            yield Span(lines[0].number, lines[-1].number)


def _check(text: RunningText, item: int, span: Span) -> SpanCheck:
    around = text.between(max(1, span.first - _WINDOW), span.last + _WINDOW)
    inside = [place for place, line in enumerate(around) if span.first <= line.number <= span.last]
    if not inside:
        return SpanCheck(item, span, starts_mid_sentence=False, ends_without_punctuation=False)
    sentences_around = sentences([line.text for line in around])
    return SpanCheck(
        item,
        span,
        _starts_inside(sentences_around, inside[0]),
        ends_without_punctuation=_ends_inside(sentences_around, around, inside[-1]),
    )


def _starts_inside(sentences_around: Sequence[Sentence], first: int) -> bool:
    holders = [sentence for sentence in sentences_around if sentence.first <= first <= sentence.last]
    return bool(holders) and all(sentence.first < first for sentence in holders)


def _ends_inside(sentences_around: Sequence[Sentence], around: Sequence[Line], last: int) -> bool:
    holders = [sentence for sentence in sentences_around if sentence.first <= last <= sentence.last]
    if holders and any(sentence.last == last for sentence in holders):
        return False
    if _PUNCTUATED.search(around[last].text.rstrip()):
        return False
    return any(run.start <= last < run.stop - 1 for run in blocks([line.text for line in around]))
