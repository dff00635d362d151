"""Whether lines bear out a value: word for word, as the same date or number, or in other words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.answers.contract import Method
from engine.answers.shown import Shown
from engine.evidence.locate import locate
from engine.rows import Span
from engine.text.dates import dates_in, parse_date
from engine.text.normalise import plain, words
from engine.text.numbers import number_mentions, parse_number
from engine.values.base import Normalised, ValueType

LEAST_SHARED = 0.6
"""Share of a paraphrase's longer words that must stand in the cited lines."""

SHORTEST_WORD = 4
FREE_TYPES = frozenset({"text"})
"""Types whose values may be told in other words."""

_NUMBERED = re.compile(r"(?P<line>\d+): ")


@dataclass(frozen=True, slots=True)
class Support:
    """Where a value stands (half-open ranges of pieces), in which words, and how surely.

    `moved`: not in the lines that were cited, so these are others.
    """

    method: Method
    places: tuple[range, ...]
    original: str
    moved: bool = False


def support(
    shown: Shown, cited: Sequence[range], kind: ValueType, read: Normalised, *, claim: str = "verbatim"
) -> Support | None:
    """Find what bears out a value that was read, in the cited pieces or else anywhere in what is shown; None: nothing.

    A type without words of its own (boolean) is borne out by the citation. `claim` is what the model says of its
    answer: only a value that it says was computed may stand nowhere.
    """
    if not read.original:
        return Support("inferred", tuple(cited), "")
    location = _located(shown, read.original, cited)
    if location is not None:
        place, method = location
        original = read.original if method == "words" else _as_written(read.original, shown.snippet([place]))
        inside = any(place.start >= block.start and place.stop <= block.stop for block in cited)
        places = (place, *_elsewhere(shown, read.original, cited, place)) if inside else (place,)
        if not original:  # the same day or number, in words of which none is that alone
            return Support("inferred", places, read.original, moved=not inside)
        return Support("verbatim", places, original, moved=not inside)
    if claim == "computed" and kind.name not in FREE_TYPES:
        return Support("computed", tuple(cited), read.original)
    if kind.name in FREE_TYPES and shared_words(read.original, shown.snippet(list(cited))) >= LEAST_SHARED:
        return Support("inferred", tuple(cited), read.original)
    return None


def quoted(shown: Shown, quote: str, cited: range) -> range | None:
    """Return the pieces a quote stands in, the cited ones first; None where it stands in none that is shown."""
    location = _located(shown, quote, [cited])
    return location[0] if location and location[1] == "words" else None


def without_number(shown: Shown, value: str) -> str:
    """Leave out the number of a line that was copied with it ("12: The Owner shall pay"), if the rest stands there."""
    number = _NUMBERED.match(value)
    if number is None or shown.offsets(int(number["line"]), int(number["line"])) is None:
        return value
    bare = value[number.end() :]
    location, whole = _located(shown, bare, ()), _located(shown, value, ())
    is_rest = location is not None and location[1] == "words" and (whole is None or whole[1] != "words")
    return bare if is_rest else value


def shared_words(text: str, lines: str, *, shortest: int = SHORTEST_WORD) -> float:
    """Return the share of a text's words, of so many letters or more, that stand in lines: 0 to 1; 0 without any."""
    mine = {word for word in words(plain(text)) if len(word) >= shortest}
    return len(mine & set(words(plain(lines)))) / len(mine) if mine else 0.0


def _elsewhere(shown: Shown, value: str, cited: Sequence[range], place: range) -> Iterator[range]:
    """Yield where a value stands in the citations that do not hold `place`: it may be said more than once."""
    for block in cited:
        if block.start < place.stop and place.start < block.stop:
            continue
        location = _located(shown, value, [block])
        if location is not None and block.start <= location[0].start and location[0].stop <= block.stop:
            yield location[0]


def _located(shown: Shown, value: str, cited: Sequence[range]) -> tuple[range, str] | None:
    """Find the pieces of a value: by its "words", or as the same date or number by its "value"."""
    near = [Span(block.start + 1, block.stop) for block in cited]
    located = locate(shown.index, value, near=near)
    if located is None or located.method in ("fuzzy", "name"):
        return None
    place = range(located.first_line - 1, located.last_line)
    if not any(place.start in block and place.stop - 1 in block for block in shown.blocks):
        return None
    return place, "words" if located.method in ("exact", "normalised") else "value"


def _as_written(value: str, lines: str) -> str:
    """Return the date or number of some lines that means the same as a value; "" where there is none."""
    text = plain(lines)
    date = parse_date(value)
    if date is not None:
        same = (text[b:e] for other, b, e in dates_in(text) if date.agreement(other, year_is_known=False))
        return next(same, "")
    number = parse_number(value)
    return next((text[b:e] for other, b, e in number_mentions(text) if other == number), "")
