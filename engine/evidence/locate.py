"""Find where a value stands in a document's numbered lines: exactly, by value, by name or nearly; never by guess."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import NamedTuple

from engine.evidence.fuzzy import find_fuzzy
from engine.evidence.text_index import MOST_HITS, Located, Method, Stretch, TextIndex
from engine.rows import Span
from engine.text.blocks import collapse
from engine.text.dates import parse_date
from engine.text.normalise import is_unspaced, plain, words
from engine.text.numbers import WORD_NUMBERS, parse_number
from engine.text.person_names import PersonName, recognise_name

WEAK_NUMBER = 20
"""Whole numbers up to this one, and texts under WEAK_LENGTH characters, stand in any text by chance: far from
`near` they count as located only where they occur once."""

WEAK_LENGTH = 3
"""A character that may be a word by itself (Chinese) counts as two."""

_SAY_NOTHING = frozenset(("yes", "no", "true", "false", "none", "null", "na", "n/a", "unknown", "other"))


class _Hit(NamedTuple):
    stretch: Stretch
    method: Method
    score: float


_Finder = Callable[[], Iterator[_Hit]]


def locate(index: TextIndex, value: object, *, near: Sequence[Span] = ()) -> Located | None:
    """Find where `value` (text or number) stands, or return None; booleans and containers are never located.

    An occurrence in the lines of `near` wins, whatever its form; then the best form; then the one closest to
    `near`; then the first.
    """
    if not index.lines or value is None or isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    hints = index.stretches(near)
    hit = _best_sharp(index, value, hints)
    if hit is None and isinstance(value, str):
        hit = _best_fuzzy(index, value, hints)
    return None if hit is None else _located(index, hit)


def locate_verbatim(index: TextIndex, value: str, *, near: Sequence[Span] = ()) -> Located | None:
    """Find where `value` stands word for word, as `locate` does, or return None; asked again, the index knows it."""
    key = value, tuple(near)
    if key not in index.verbatim:
        hit = _best_sharp(index, value, index.stretches(near)) if index.lines else None
        is_verbatim = hit is not None and hit.method in ("exact", "normalised")
        index.verbatim[key] = _located(index, hit) if hit is not None and is_verbatim else None
    return index.verbatim[key]


def _best_sharp(index: TextIndex, value: str | int | float, hints: Sequence[Stretch]) -> _Hit | None:
    finders = _finders_of_text(index, value) if isinstance(value, str) else _finders_of_number(index, value)
    return _best(finders, hints, weak=_is_weak(value))


def _located(index: TextIndex, hit: _Hit) -> Located:
    first, last = index.lines[hit.stretch.first], index.lines[hit.stretch.last]
    return Located(index.document_id, first.page, first.number, last.number, hit.method, hit.score)


def _best(finders: Sequence[_Finder], hints: Sequence[Stretch], *, weak: bool) -> _Hit | None:
    hit_lists: list[list[_Hit]] = []
    for finder in finders:
        hits = list(islice(finder(), MOST_HITS))
        inside = [hit for hit in hits if hints and _distance(hit.stretch, hints) == 0]
        if inside:
            return max(inside, key=lambda hit: (hit.score, -hit.stretch.first))
        hit_lists.append(hits)
        if hits and not hints and not weak:
            break
    if weak and len({hit.stretch for hits in hit_lists for hit in hits}) != 1:
        return None
    first = next((hits for hits in hit_lists if hits), [])
    return min(first, key=lambda hit: (-hit.score, _distance(hit.stretch, hints), hit.stretch.first), default=None)


def _best_fuzzy(index: TextIndex, value: str, hints: Sequence[Stretch]) -> _Hit | None:
    """Read past OCR's confusions in a name, or align a text's words; dates and numbers are right or not there."""
    if parse_date(value) is not None or parse_number(value) is not None:
        return None
    name = recognise_name(value)
    if name is not None:
        return _best([partial(_misread_names, index, name)], hints, weak=False)
    wanted = words(plain(value))
    for within in (hints, ()) if hints else ((),):
        if (hit := find_fuzzy(index, wanted, within)) is not None:
            return _Hit(hit[0], "fuzzy", hit[1])
    return None


def _misread_names(index: TextIndex, name: PersonName) -> Iterator[_Hit]:
    for mention in index.people_misread.find(name):
        yield _Hit(index.plain.stretch(mention.begin, mention.end), "fuzzy", round(mention.score * 0.95, 3))


def _distance(stretch: Stretch, hints: Sequence[Stretch]) -> int:
    """Count the lines between a stretch and the nearest hint: 0 when they share a line or there are no hints."""
    return min((max(0, hint.first - stretch.last, stretch.first - hint.last) for hint in hints), default=0)


def _is_weak(value: str | int | float) -> bool:
    if not isinstance(value, str):
        return abs(value) <= WEAK_NUMBER and value == int(value)
    if sum(1 + is_unspaced(character) for word in words(plain(value)) for character in word) < WEAK_LENGTH:
        return True
    number = parse_number(value)
    return number is not None and abs(number) <= WEAK_NUMBER and number == int(number)


def _finders_of_text(index: TextIndex, value: str) -> list[_Finder]:
    wanted = words(plain(value))
    if not wanted or "".join(wanted) in _SAY_NOTHING:
        return []
    finders: list[_Finder] = [
        partial(_exact, index, collapse(value)),
        partial(_normalised, index, "".join(wanted)),
        partial(_dates, index, value),
    ]
    number = parse_number(value)
    finders.append(partial(_counted, index, wanted) if number is None else partial(_numbers, index, number))
    return [*finders, partial(_names, index, value)]


def _finders_of_number(index: TextIndex, value: int | float) -> list[_Finder]:
    number = Decimal(str(value))
    return [partial(_numbers, index, number)] if number.is_finite() else []


def _exact(index: TextIndex, wanted: str) -> Iterator[_Hit]:
    """Find the value verbatim but for whitespace, not inside a longer word or number."""
    text, at = index.raw.text, index.raw.text.find(wanted)
    while at >= 0:
        past = at + len(wanted)
        before, behind = text[max(0, at - 2) : at], text[past : past + 2]
        if not _continues(wanted[0], before[::-1]) and not _continues(wanted[-1], behind):
            yield _Hit(index.raw.stretch(at, past), "exact", 1.0)
        at = text.find(wanted, at + 1)


def _continues(edge: str, beyond: str) -> bool:
    """Say whether a word or number goes on from its edge character into the two characters beyond it."""
    if not edge.isalnum() or not beyond or is_unspaced(edge) or is_unspaced(beyond[0]):
        return False
    return beyond[0].isalnum() or (edge.isdigit() and beyond[0] in ".,:/-" and beyond[1:].isdigit())


def _normalised(index: TextIndex, wanted: str) -> Iterator[_Hit]:
    for stretch in index.stream.find(wanted):
        yield _Hit(stretch, "normalised", 0.99)


def _counted(index: TextIndex, wanted: Sequence[str]) -> Iterator[_Hit]:
    """Find a phrase with its small numbers as digits or as words: '10 days', 'ten days'."""
    as_digits = [str(WORD_NUMBERS.get(word, word)) for word in wanted]
    if any(word.isdigit() for word in as_digits):
        for stretch in index.digit_stream.find("".join(as_digits)):
            yield _Hit(stretch, "number", 0.95)


def _dates(index: TextIndex, value: str) -> Iterator[_Hit]:
    wanted = parse_date(value)
    if wanted is None:
        return
    year_is_known = wanted.year is not None and (
        str(wanted.year) in index.lines_of_word or any(date.year == wanted.year for date, _, _ in index.dates)
    )
    for date, begin, end in index.dates:
        score = wanted.agreement(date, year_is_known=year_is_known)
        if score:
            yield _Hit(index.plain.stretch(begin, end), "date", score)


def _numbers(index: TextIndex, wanted: Decimal) -> Iterator[_Hit]:
    for begin, end in index.numbers.get(wanted, ()):
        yield _Hit(index.plain.stretch(begin, end), "number", 0.95)


def _names(index: TextIndex, value: str) -> Iterator[_Hit]:
    name = recognise_name(value)
    if name is not None:
        for mention in index.people.find(name):
            yield _Hit(index.plain.stretch(mention.begin, mention.end), "name", mention.score)
