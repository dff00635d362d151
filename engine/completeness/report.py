"""What the tests of completeness found, and the verdict they lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.rows import Span

Side = Literal["before", "after"]
Verdict = Literal["bounded", "truncated"]
Test = Literal[
    "document_end",
    "heading",
    "numbering",
    "item_end",
    "sentence",
    "table",
    "announced",
    "announcement",
    "other_text",
]
"""What was looked at: the document ends; a heading stands in the overlap; the numbers or bullets of a list go on; an
item ends in ';' or 'and'; a sentence goes on; a table goes on; a count announced in the text; a line that only
announces ('the following:'); plain text that is no part of the list."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One test's finding at one end of what was shown. `lines` are those that say so, None where there are none."""

    test: Test
    side: Side
    verdict: Verdict
    reason: str
    lines: Span | None = None


@dataclass(frozen=True, slots=True)
class CompletenessReport:
    """Whether what was shown holds all that the answer is about.

    `context_completeness_strong`: True, it is proven bounded; False, it is proven truncated; None, nothing proves
    either. It rests on `findings` alone.
    """

    context_completeness_strong: bool | None
    findings: tuple[Finding, ...]
