"""Judge whether what was shown is bounded or truncated: does what the answer is about go on at an end? (article, 2.4).

No model is asked.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.completeness.lists import Event, ListWalk, OpenList
from engine.completeness.markers import markers_of, without_marker
from engine.documents.document import Line
from engine.documents.furniture import furniture
from engine.documents.outline import headed_sections, sections_of_lines
from engine.rows import Span
from engine.text.blocks import blocks
from engine.text.numbered_text import merge
from engine.text.numbers import WORD_NUMBERS

Side = Literal["before", "after"]
Verdict = Literal["bounded", "truncated"]
Test = Literal[
    "document_end", "heading", "numbering", "item_end", "sentence", "table", "announced", "announcement", "other_text"
]
"""What was looked at: the document ends; a heading stands in the overlap; the numbers or bullets of a list go on; an
item ends in ';' or 'and'; a sentence goes on; a table goes on; a count announced in the text; a line that only
announces ('the following:'); plain text that is no part of the list."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One test's finding at one end of what was shown. `lines` are those that say so, None where there are none."""

    test: Test
    verdict: Verdict
    reason: str
    lines: Span | None = None
    side: Side = "after"


_CONTINUED = re.compile(r"\b(?:continued|cont['’]?d)\b", re.IGNORECASE)
_CLOSING = re.compile(
    r"^\W*(?:in witness whereof|witness|signed|signature|by:|/s/|dated?:?\b|sincerely|respectfully|attest)|/s/|_{6,}",
    re.IGNORECASE,
)
"""With these words a contract, letter or filing comes to its signatures."""
_LEAD = 4
_OUTDENT_POINTS = 4.0


@dataclass(frozen=True)
class RunningText:
    """All lines of a document; `body` are those that do not repeat on its pages, `headings` the numbers of headings.

    A heading that runs over several lines is in it with its first.
    """

    lines: tuple[Line, ...]
    body: tuple[Line, ...]
    headings: frozenset[int]

    def between(self, first: int, last: int) -> tuple[Line, ...]:
        """Return the lines of the body from `first` to `last`, both inclusive."""
        start = bisect_left(self.body, first, key=lambda line: line.number)
        stop = bisect_right(self.body, last, key=lambda line: line.number)
        return self.body[start:stop]


def running_text(lines: Sequence[Line]) -> RunningText:
    """Prepare the lines of a whole document."""
    skipped = furniture(lines)
    # A contents page may leave out the lower headings, which end lists as well.
    sections = (*sections_of_lines(lines), *headed_sections(lines))
    return RunningText(
        tuple(lines),
        tuple(line for line in lines if line.number not in skipped),
        frozenset(section.first_line for section in sections),
    )


@dataclass(frozen=True)
class Shown:
    """What the tests look at: lines `first` to `last`, shown around the answer, and those kept behind them.

    `cited` are the spans of the answer's items in order; empty, the whole of what was shown is judged.
    """

    text: RunningText
    first: int
    last: int
    cited: tuple[Span, ...]
    after: Span | None

    @property
    def tail(self) -> tuple[Line, ...]:
        """Return the running text from the first to the last line shown."""
        return self.text.between(self.first, self.last)

    @property
    def overlap(self) -> tuple[Line, ...]:
        """Return the running text kept behind what was shown."""
        return self.text.between(self.after.first, self.after.last) if self.after else ()


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
    judged = [run for run in runs if any(run.overlaps(span) for span in cited)] or runs[-1:]
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
    inside = [(span.first, min(span.last, lines)) for span in shown if span.first <= lines]
    return [Span(first, last) for first, last in merge(inside, borders=range(1, lines + 1))]


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


def findings_after(shown: Shown, walk: ListWalk) -> list[Finding]:
    """Test the end of what was shown against the lines kept behind it, with which the walk goes on."""
    targets = _targets(walk, shown)
    if targets:
        return _after_list(shown, walk, targets)
    return _after_text(shown, walk)


def findings_before(shown: Shown, walk: ListWalk) -> list[Finding]:
    """Test the beginning of what was shown against the lines before it; the walk stands where what was shown ends."""
    for target in _targets(walk, shown):
        first = target.items[0].line
        if first < shown.first:
            reason = f"a list was shown from its middle: it begins on line {first}"
            return [Finding("numbering", "truncated", reason, Span(first, first), "before")]
    tail, before = shown.tail, shown.text.between(1, shown.first - 1)
    if not tail:
        return []
    is_cited = not shown.cited or any(span.first <= tail[0].number <= span.last for span in shown.cited)
    if is_cited and sentence_goes_on(before, tail):
        at = Span(tail[0].number, tail[0].number)
        return [Finding("sentence", "truncated", "what was shown begins in the middle of a sentence", at, "before")]
    return []


def _targets(walk: ListWalk, shown: Shown) -> list[OpenList]:
    """Find the lists the answer is about: those of which it cites several items, or the one it cites that just began.

    A list without an item in what was shown is none of them. Without items: the innermost list that is open where what
    was shown ends.
    """
    if not shown.cited:
        last_open = [open_list for open_list in walk.open[-1:] if open_list.items[-1].line >= shown.first]
        return [open_list for open_list in last_open if open_list.items[-1].line not in walk.headings]
    seen = [known for known in walk.seen if known.items[-1].line >= shown.first]
    hit = [known for known in seen if len(_cited_items(known, shown.cited)) > 1]
    if hit:
        return hit
    last = max(span.last for span in shown.cited)
    innermost = next((open_list for open_list in reversed(walk.open) if open_list.items[0].line <= last), None)
    just_begun = innermost is not None and len(innermost.items) == 1 and innermost.announced_on is not None
    return [innermost] if innermost and just_begun and innermost.items[0].line >= shown.first else []


def _cited_items(open_list: OpenList, cited: Sequence[Span]) -> set[int]:
    """Return the places of the items of a list on which a span lies."""
    places: set[int] = set()
    for span in cited:
        if open_list.closed_on is not None and span.first >= open_list.closed_on:
            continue
        places |= {i for i, item in enumerate(open_list.items) if span.first <= item.line <= span.last}
        held = [i for i, item in enumerate(open_list.items) if item.line <= span.first]
        places |= set(held[-1:])
    return places


def _after_list(shown: Shown, walk: ListWalk, targets: Sequence[OpenList]) -> list[Finding]:
    counted = [finding for target in targets if (finding := _announced(shown, target))]
    still_open = [target for target in targets if target in walk.open]
    if not still_open:
        ended = max(target.closed_on or 0 for target in targets)
        reason = "the list ends inside what was shown"
        return [Finding("other_text", "bounded", reason, Span(ended, ended)), *counted]
    rest = shown.text.between(shown.last + 1, len(shown.text.lines))
    if not rest:
        return [Finding("document_end", "bounded", "the document ends where what was shown ends"), *counted]
    tail, overlap = shown.tail, shown.overlap
    if overlap and sentence_goes_on(tail, overlap):
        return [_sentence(overlap[0])]
    decided = _followed(walk, still_open, overlap)
    if decided is not None and decided.test != "other_text":
        return [decided, *counted]
    hints = [*_hints(tail, overlap), *counted]
    if any(hint.verdict == "truncated" for hint in hints) or decided is None:
        return hints
    return [decided, *hints]


def _followed(walk: ListWalk, targets: Sequence[OpenList], overlap: Sequence[Line]) -> Finding | None:
    """Read on behind what was shown until a list goes on or all are over; None without lines to read."""
    for line in overlap:
        if _CONTINUED.search(line.text) and len(line.text) < 100:
            continue
        outdented = _leaves_bullets(line, [t for t in targets if t in walk.open])
        events = walk.read(line)
        for event in events:
            if event.deed == "continues" and event.list in targets:
                reason = f"the list goes on after what was shown: {event.marker!r} stands on line {line.number}"
                return Finding("numbering", "truncated", reason, _at(line))
        if not any(target in walk.open for target in targets):
            return _over(events[0], line, is_heading=line.number in walk.headings)
        if outdented and events[0].deed == "text":
            reason = f"text that is no item of the list follows on line {line.number}"
            return Finding("other_text", "bounded", reason, _at(line))
    titled = any(target.items[-1].line in walk.headings for target in targets)
    if not overlap or (titled and not _CLOSING.search(overlap[0].text)):
        return None  # text behind a section with a title is still that section's
    reason = "no further item stands on the lines kept after what was shown"
    return Finding("other_text", "bounded", reason, Span(overlap[0].number, overlap[-1].number))


def _leaves_bullets(line: Line, targets: Sequence[OpenList]) -> bool:
    """Say whether a line stands left of a bulleted list, so that further bullets are another list's."""
    if not targets or not targets[-1].is_bulleted:
        return False
    indent = targets[-1].indent
    is_left = line.box is not None and indent is not None and line.box.x0 < indent - _OUTDENT_POINTS
    return is_left or announces(line)


def _over(event: Event, line: Line, *, is_heading: bool) -> Finding:
    if is_heading or event.list is None:
        reason = f"a new heading bounds it: {line.text.strip()[:60]!r} on line {line.number}"
        return Finding("heading", "bounded", reason, _at(line))
    what = "the list around it goes on" if event.deed == "continues" else "another list begins"
    reason = f"the list is over: {what} with {event.marker!r} on line {line.number}"
    return Finding("numbering", "bounded", reason, _at(line))


def _after_text(shown: Shown, walk: ListWalk) -> list[Finding]:
    """Test text that is no list, or one item of one."""
    tail, overlap = shown.tail, shown.overlap
    if not tail:
        return []
    last_cited = max((span.last for span in shown.cited), default=shown.last)
    behind = shown.text.between(last_cited + 1, shown.last)
    if behind and not sentence_goes_on(shown.text.between(shown.first, last_cited), behind):
        reason = "what is cited ends inside what was shown"
        return [Finding("other_text", "bounded", reason, _at(behind[0]))]
    if not shown.text.between(shown.last + 1, len(shown.text.lines)):
        return [Finding("document_end", "bounded", "the document ends where what was shown ends")]
    hints = _hints(tail, overlap, of_list=False)
    return hints if hints or not overlap else _begins_anew(shown, walk, overlap)


def _begins_anew(shown: Shown, walk: ListWalk, overlap: Sequence[Line]) -> list[Finding]:
    events = walk.read(overlap[0])
    if overlap[0].number in shown.text.headings and not _CONTINUED.search(overlap[0].text):
        return [_over(events[0], overlap[0], is_heading=True)]
    if shown.cited and events[0].list is not None:
        reason = f"a new item begins after what was shown: {events[0].marker!r} on line {overlap[0].number}"
        return [Finding("numbering", "bounded", reason, _at(overlap[0]))]
    return []


def _hints(tail: Sequence[Line], overlap: Sequence[Line], *, of_list: bool = True) -> list[Finding]:
    """Collect what the last lines shown say of what follows; nothing where only a running head or foot was shown."""
    if not tail:
        return []
    findings = []
    if table_goes_on(tail, overlap):
        findings.append(Finding("table", "truncated", "the table goes on after what was shown", _at(overlap[0])))
    elif overlap and sentence_goes_on(tail, overlap):
        findings.append(_sentence(overlap[0]))
    if announces(tail[-1]):
        reason = "what was shown ends with an announcement of more"
        findings.append(Finding("announcement", "truncated", reason, _at(tail[-1])))
    elif of_list and is_open_ended(tail[-1]):
        reason = f"the last item shown ends as one does that others follow: {tail[-1].text.rstrip()[-12:]!r}"
        findings.append(Finding("item_end", "truncated", reason, _at(tail[-1])))
    return findings


def _announced(shown: Shown, target: OpenList) -> Finding | None:
    """Compare the count in the text before a list with its items."""
    first = target.items[0].line
    lead = shown.text.between(max(1, first - _LEAD), first - 1)
    count = announced_count(lead) if lead and target.announced_on is not None else None
    if count is None or target.items[0].ordinal != 1:
        return None
    item_count = len(target.items)
    verdict: Verdict = "truncated" if item_count < count else "bounded"
    reason = f"the text announces {count} items; {item_count} stand in what was shown"
    return Finding("announced", verdict, reason, _at(lead[-1]))


def _sentence(line: Line) -> Finding:
    reason = f"a sentence goes on after what was shown, on line {line.number}"
    return Finding("sentence", "truncated", reason, _at(line))


def _at(line: Line) -> Span:
    return Span(line.number, line.number)


_TERMINAL = re.compile(r"[.!?][\"'”’)\]]*$")
_OPEN_END = re.compile(r"(?:[;,]|\b(?:and|or|and/or)|[–—])$", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[:;](?:\s*(?:and|or|and/or))?$", re.IGNORECASE)
_ANNOUNCES = re.compile(r"(?::|:[-–—]|\b(?:the following|as follows))$", re.IGNORECASE)
_CELLS = re.compile(r"\s{3,}|\t")
_WINDOW = 8
_SAME_EDGE_POINTS = 12.0
_VALUES = {word: value for word, value in WORD_NUMBERS.items() if value >= 2}
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
    match = _ANNOUNCED.search(text)
    if not match:
        return None
    word = next(part for part in (match["number"], match["before"], match["last"]) if part).lower()
    return _VALUES.get(word) or int(word)


def _aligned(line: Line, other: Line) -> bool:
    if line.box is None or other.box is None:
        return True
    return abs(line.box.x0 - other.box.x0) <= _SAME_EDGE_POINTS
