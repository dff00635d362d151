"""Judge whether what was shown is bounded or truncated (article, 2.4). No model is asked."""

from __future__ import annotations

from collections.abc import Sequence

from engine.completeness.ends import Shown, findings_after, findings_before
from engine.completeness.lists import walk_lists
from engine.completeness.report import CompletenessReport, Finding
from engine.completeness.text import running_text
from engine.documents.document import Line
from engine.rows import Span

_FEWEST_LINES = 5
"""Fewer lines kept behind what was shown are not a page."""


def judge_completeness(
    document_lines: Sequence[Line], shown: Sequence[Span], spans: Sequence[Sequence[Span]]
) -> CompletenessReport:
    """Say whether the shown lines hold all that an answer is about.

    `document_lines` are all lines of the document, `shown` those that the model saw, in order, `spans` those that each
    item of the answer cites; without items the whole of what was shown is judged.
    """
    cited = tuple(sorted(span for item in spans for span in item))
    around = _around(shown, cited, len(document_lines))
    if around is None:
        return CompletenessReport(None, ())
    text = running_text(document_lines)
    looked_at = Shown(text, around.first, around.last, cited, _kept_behind(around.last, text.lines))
    walk = walk_lists(text.between(1, around.last), text.headings)
    findings = (*findings_before(looked_at, walk), *findings_after(looked_at, walk))
    return CompletenessReport(_strong(findings), findings)


def _around(shown: Sequence[Span], cited: Sequence[Span], lines: int) -> Span | None:
    """Return the run of shown lines that holds the last line cited; the last run where nothing is cited.

    Spans may touch or share a line, as pieces of one long line do. Those behind the last of `lines` lines are left out.
    """
    runs: list[Span] = []
    for span in shown:
        if span.first > lines:
            continue
        end = min(span.last, lines)
        if runs and span.first <= runs[-1].last + 1:
            runs[-1] = Span(runs[-1].first, max(runs[-1].last, end))
        else:
            runs.append(Span(span.first, end))
    if not runs:
        return None
    last = max((span.last for span in cited), default=runs[-1].last)
    return next((run for run in runs if run.first <= last <= run.last), runs[-1])


def _kept_behind(last: int, lines: Sequence[Line]) -> Span | None:
    """Return the lines kept behind line `last`: the rest of its page and the next page that has lines.

    Where that is next to nothing, such as the last words of a page and a stamp, a further page is kept. None where the
    document ends there.
    """
    rest = lines[last:]
    if not rest:
        return None
    pages = sorted({line.page for line in rest if line.page > lines[last - 1].page}) or [rest[-1].page]
    counts = [sum(line.page <= page for line in rest) for page in pages]
    return Span(last + 1, last + next((count for count in counts if count >= _FEWEST_LINES), counts[-1]))


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
