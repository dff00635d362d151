"""Judge whether what was shown is bounded or truncated (article, 2.4). No model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.completeness.ends import Finding, RunningText, Shown, findings_after, findings_before, running_text
from engine.completeness.lists import ListWalk
from engine.documents.document import Line
from engine.rows import Span

_FEWEST_LINES = 5
"""Fewer lines kept behind what was shown are not a page."""


@dataclass(frozen=True, slots=True)
class CompletenessReport:
    """Whether what was shown holds all that the answer is about.

    `context_completeness_strong`: True, it is proven bounded; False, it is proven truncated; None, nothing proves
    either. It rests on `findings` alone.
    """

    context_completeness_strong: bool | None
    findings: tuple[Finding, ...]


def judge_completeness(
    document_lines: Sequence[Line], shown: Sequence[Span], spans: Sequence[Sequence[Span]]
) -> CompletenessReport:
    """Say whether the shown lines hold all that an answer is about.

    `document_lines` are all lines of the document, `shown` those that the model saw, in order, `spans` those that each
    item of the answer cites. Each run of shown lines that the answer cites is judged; without items, the last run. All
    of them must be bounded.
    """
    cited = sorted(span for item in spans for span in item)
    runs = _runs(shown, len(document_lines))
    judged = [run for run in runs if any(s.first <= run.last and s.last >= run.first for s in cited)] or runs[-1:]
    if not judged:
        return CompletenessReport(None, ())
    text = running_text(document_lines)
    found = [_findings(text, run, cited) for run in judged if text.between(run.first, run.last)]
    verdicts = {_strong(findings) for findings in found}
    strong = False if False in verdicts else verdicts == {True} or None
    return CompletenessReport(strong, tuple(finding for findings in found for finding in findings))


def _findings(text: RunningText, run: Span, cited: Sequence[Span]) -> list[Finding]:
    """Test both ends of a run; the answer is taken to end there, as if nothing behind it were cited."""
    until = tuple(span for span in cited if span.first <= run.last)
    looked_at = Shown(text, run.first, run.last, until, _kept_behind(run.last, text.lines))
    walk = ListWalk(text.headings)
    for line in text.between(1, run.last):
        walk.read(line)
    return [*findings_before(looked_at, walk), *findings_after(looked_at, walk)]


def _runs(shown: Sequence[Span], lines: int) -> list[Span]:
    """Return the runs of shown lines without a gap.

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
    return runs


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
    after = [finding for finding in findings if finding.side == "after"]
    verdicts = {finding.verdict for finding in after}
    if len(verdicts) == 1:
        return verdicts == {"bounded"}
    # Where they disagree, an item that follows is stronger than a count that is reached.
    follows = any(f.verdict == "truncated" and f.test in ("numbering", "sentence", "table") for f in after)
    return False if follows else None
