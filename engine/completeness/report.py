"""What the tests of completeness found, and the verdict they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.rows import Span

Side = Literal["before", "after"]
Verdict = Literal["bounded", "truncated"]
Test = Literal[
    "document_end",
    "section_end",
    "heading",
    "numbering",
    "item_end",
    "sentence",
    "table",
    "announced",
    "announcement",
    "other_text",
]
"""What was looked at: the document or section ends; a heading stands in the overlap; the numbers or bullets of a list
go on; an item ends in ';' or 'and'; a sentence goes on; a table goes on; a count announced in the text; a line that
only announces ('the following:'); plain text that is no part of the list."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One test's finding at one end of what was shown. `lines` are those that say so, None where there are none."""

    test: Test
    side: Side
    verdict: Verdict
    reason: str
    lines: Span | None = None


@dataclass(frozen=True, slots=True)
class SpanCheck:
    """How clean the ends of one span of one item are (article, 2.4, the secondary check). `item` counts from 0."""

    item: int
    span: Span
    starts_mid_sentence: bool
    ends_without_punctuation: bool

    @property
    def is_clean(self) -> bool:
        """Say whether the span begins and ends where a sentence, item or heading does."""
        return not (self.starts_mid_sentence or self.ends_without_punctuation)


@dataclass(frozen=True, slots=True)
class Gap:
    """Lines with text that lie between two spans of one item. `item` counts from 0."""

    item: int
    lines: Span


@dataclass(frozen=True, slots=True)
class CompletenessReport:
    """Whether what was shown holds all that the answer is about.

    `context_completeness_strong`: True, it is proven bounded; False, it is proven truncated; None, nothing proves
    either. It rests on `findings` alone; `span_checks` and `gaps` are for triage of single items.
    """

    context_completeness_strong: bool | None
    findings: tuple[Finding, ...]
    span_checks: tuple[SpanCheck, ...]
    gaps: tuple[Gap, ...]
    reasons: tuple[str, ...]
    overlap_before: Span | None = None
    overlap_after: Span | None = None
