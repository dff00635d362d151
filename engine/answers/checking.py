"""Check by code what a model answered: its lines were shown, and its values stand in them (the article's validator).

A value that stands elsewhere in what was shown gets the lines where it does; one that stands nowhere is a complaint,
with which the model is asked again, and then dropped. Snippets are recovered from the text, never the model's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.answers.contract import Answer, Dropped, Item, Method
from engine.answers.reply import Form
from engine.answers.shown import Shown
from engine.answers.specs import has_content, read_spec
from engine.answers.support import FREE_TYPES, Support, quoted, shared_words, support, without_number
from engine.language.schema_types import Type
from engine.values.base import ORIGINAL, Normalised, ValueType

MOST_BESIDE = 12
"""Lines of a citation that does not hold the value itself; a longer one cites what was shown, not evidence."""

WORST_FIRST: tuple[Method, ...] = ("inferred", "computed", "verbatim")

PageOf = Callable[[int], int | None]
"""Gives the page of a line."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer as far as it passed, and what to tell the model of the rest."""

    answer: Answer
    complaints: tuple[str, ...]


@dataclass(frozen=True)
class Checker:
    """Checks replies about the lines shown. `accept` are the methods that may ship."""

    shown: Shown
    accept: Collection[Method]
    page_of: PageOf = lambda line: None

    def check(self, form: Form, reply: Mapping[str, Any]) -> Checked:
        """Check a whole reply to a question."""
        signals = {name: value for name, value in reply.items() if name not in ("items", "headers")}
        claim = signals.get("extraction_method", "verbatim")
        headers = tuple(reply.get("headers", ()))
        items: list[Item] = []
        dropped: list[Dropped] = []
        complaints: list[str] = []
        for number, written in enumerate(reply["items"], 1):
            checked = self.item(form.spec, written, claim=claim)
            if isinstance(checked, Dropped):
                dropped.append(checked)
                complaints.append(f"item {number}: {checked.why}")
            else:
                items.append(checked)
        return Checked(Answer(tuple(items), tuple(dropped), signals, headers), tuple(complaints))

    def item(self, spec: Type, written: Mapping[str, Any], *, claim: str = "verbatim") -> Item | Dropped:
        """Check one item: spans, quotes, and each leaf of its value."""
        cited = _checked_places(self.shown, written["spans"])
        if isinstance(cited, str):
            return Dropped(written["value"], cited)
        judge = _Judge(self.shown, cited, claim)
        value = read_spec(spec, written["value"], judge)
        places = sorted(places_and_beside(judge.places, cited, moved=judge.moved), key=lambda place: place.start)
        spans = tuple(sorted(set(map(self.shown.span, places))))
        if not has_content(value):
            return Dropped(written["value"], "; ".join(judge.unsupported) or "it has no value")
        method = next(name for name in WORST_FIRST if name in judge.methods or name == "verbatim")
        if method not in self.accept:
            why = "; ".join(judge.loose) or f"the value is {method} and not {' or '.join(self.accept)}"
            return Dropped(written["value"], why)
        return Item(
            value=value,
            spans=spans,
            snippet=self.shown.snippet(places),
            method=method,
            original="; ".join(judge.originals),
            page=self.page_of(spans[0].first),
            problem="; ".join([*judge.problems, *judge.unsupported]),
            level=written.get("level", 1),
        )


def cited_pieces(shown: Shown, spans: Sequence[Mapping[str, Any]]) -> list[range]:
    """Return the pieces that spans name; lines between two blocks that were not shown are left out."""
    named = (shown.offsets(span["line_start"], span["line_end"]) for span in spans)
    return list(dict.fromkeys(pieces for pieces in named if pieces is not None))


def places_and_beside(places: Sequence[range], cited: Sequence[range], *, moved: bool) -> list[range]:
    """Return where a value stands, and its other citations, if its lines were right (not `moved`).

    These may be a condition's exception or a footnote, which do not repeat the value. A long one is none.
    """
    if not places or moved:
        return list(places or cited)
    beside = [
        block
        for block in cited
        if len(block) <= MOST_BESIDE and not any(p.start < block.stop and block.start < p.stop for p in places)
    ]
    return [*places, *beside]


def _checked_places(shown: Shown, spans: Sequence[Mapping[str, Any]]) -> list[range] | str:
    """Return the pieces that the spans name, each checked by its quote if it has one; or what is wrong."""
    cited: list[range] = []
    for span in spans:
        named = shown.offsets(span["line_start"], span["line_end"])
        if named is None:
            return f"lines {span['line_start']} to {span['line_end']} are not all shown"
        if "quote" in span:
            named = quoted(shown, span["quote"], named)
            if named is None:
                return f"the quote {span['quote']!r} stands in none of the lines"
        if named not in cited:
            cited.append(named)
    return cited


class _Judge:
    """Judges the leaves of one item one after another, and gathers where they stand."""

    def __init__(self, shown: Shown, cited: Sequence[range], claim: str) -> None:
        self._shown = shown
        self._cited = cited
        self._claim = claim
        self.places: list[range] = []
        self.methods: set[Method] = set()
        self.originals: list[str] = []
        self.problems: list[str] = []
        self.unsupported: list[str] = []
        self.loose: list[str] = []
        self.moved = False

    def __call__(self, kind: ValueType, written: Any, read: Normalised) -> Any:
        """Return the value that is kept of a leaf; None where the lines do not bear it out."""
        if isinstance(written, str) and (bare := without_number(self._shown, written)) != written:
            written, read = bare, kind.read(bare)
        evidence = support(self._shown, self._cited, kind, read, claim=self._claim)
        if evidence is None:
            self.unsupported.append(f"{read.original!r} does not stand in the lines")
            return None
        self._take(evidence, read)
        if kind.name in FREE_TYPES or (read.value is None and not kind.part_names):
            return evidence.original
        return kind.cell(self._borne_out(written) if isinstance(written, Mapping) else written)

    def _borne_out(self, written: Mapping[str, Any]) -> dict[str, Any]:
        """Leave out the parts of a value that the lines it stands in do not hold."""
        lines = self._shown.snippet(self.places)
        kept: dict[str, Any] = {}
        for name, part in written.items():
            is_held = not isinstance(part, str) or name == ORIGINAL or shared_words(part, lines, shortest=1) == 1
            kept[name] = part if is_held else None
            if not is_held and part.strip():
                self.problems.append(f"{name} {part!r} does not stand in the lines")
        return kept

    def _take(self, evidence: Support, read: Normalised) -> None:
        self.methods.add(evidence.method)
        self.moved = self.moved or evidence.moved
        if evidence.original:
            self.originals.append(evidence.original)
        if evidence.method == "inferred" and read.original:
            self.loose.append(f"{read.original!r} does not stand in the lines word for word")
        if read.problem:
            self.problems.append(read.problem)
        self.places += [place for place in evidence.places if place not in self.places]
