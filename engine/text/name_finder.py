"""Find a person under the forms that records use: rank and initial, surname first in capitals, surname and badge."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import Levenshtein

from engine.text.normalise import fold, misreading, plain
from engine.text.vocabulary import NOT_NAMES, STARTERS, TITLES

_SUFFIXES = frozenset(("jr", "sr", "ii", "iii", "iv", "esq", "md", "phd"))
_PARTICLES = frozenset(("de", "la", "las", "los", "del", "della", "di", "da", "dos", "van", "von", "der", "den", "du"))
_TOKEN = re.compile(r"[^\W\d_][\w'’-]*\.?")
_BADGE = re.compile(
    r"(?:\(?\s*(?:badge|star|shield|id|serial)?\s*(?:no\.?|number)?\s*[#:]?\s*)(\d{2,6}[A-Z]?)\)?", re.IGNORECASE
)
_DIGIT_IN_WORD = re.compile(r"(?<=[^\W\d_])[01](?=[^\W\d_])")
"""Letters that OCR read as digits."""
_LETTERS = {"0": "o", "1": "l"}
_ONLY_NAMES = re.compile(r"(?:[^\W\d_]|[.'’() ]|-(?! )|,(?!.*,.*,))+")
_BEFORE = re.compile(r"((?:[^\W\d_][\w'’-]*\.?\s+|[A-Z]\.){1,5})$")
_SURNAME_FIRST = re.compile(r",\s{0,2}((?:[A-Z][\w'’-]*\.?\s?){1,4})")
_ENOUGH_COMMON_WORDS = 100
_REACH = 70

Completeness = Literal["given", "initial", "title", "bare"]
_Fit = Literal["given", "initial", "none", "conflict"]
_WITH_BADGE = 0.97
_SCORES: dict[Completeness, float] = {"given": 0.95, "initial": 0.85, "title": 0.7, "bare": 0.6}


@dataclass(frozen=True, slots=True)
class PersonName:
    """A parsed name: folded `surname` and `given` names or initials; `titled` when a rank or form of address stood."""

    surname: str
    given: tuple[str, ...] = ()
    badge: str | None = None
    titled: bool = False


@dataclass(frozen=True, slots=True)
class NameMention:
    """A place where the surname stands: half-open character range of the whole form, and how well it fits."""

    begin: int
    end: int
    completeness: Completeness
    score: float


def parse_name(value: str) -> PersonName | None:
    """Read a whole text as a person's name, or return None when it does not look like one.

    'Sgt. Daniel R. Alvarez', 'ALVAREZ, DANIEL #4417' and 'Officer Alvarez' are names; 'Excessive Force' is not. A 0
    or 1 inside a word is read as the letter it looks like.
    """
    text = _DIGIT_IN_WORD.sub(lambda digit: _LETTERS[digit[0]], plain(value))
    badge = _BADGE.search(text)
    rest = _BADGE.sub(" ", text, count=1)
    if not _ONLY_NAMES.fullmatch(rest):
        return None
    before, comma, after = rest.partition(",")
    if comma and _keys(after) and not all(k in _SUFFIXES for k in _keys(after)):
        rest = f"{after} {before}"
    tokens = [t for t in _TOKEN.findall(rest) if _key(t) not in ("badge", "star", "no")]
    return _assemble(tokens, badge[1] if badge else None)


def _assemble(tokens: list[str], badge: str | None) -> PersonName | None:
    titled = any(_key(t) in TITLES for t in tokens)
    tokens = [t for t in tokens if _key(t) not in TITLES and _key(t) not in _SUFFIXES]
    keys = [_key(t) for t in tokens]
    if (
        not 1 <= len(keys) <= 5
        or len(keys[-1]) < 2
        or any(k in NOT_NAMES or (k in STARTERS and len(k) > 1) for k in keys)
    ):
        return None
    if any(t[0].islower() and k not in _PARTICLES for t, k in zip(tokens, keys, strict=True)):
        return None
    given = tuple(k for k in keys[:-1] if k not in _PARTICLES)
    return PersonName(keys[-1], given, badge, titled)


class NameFinder:
    """Finds people in one plain text; `misread`: letters that OCR confuses count as the same ('A1varez')."""

    def __init__(self, text: str, *, misread: bool = False) -> None:
        self._text = text
        self._form: Callable[[str], str] = misreading if misread else str
        self._places: dict[str, list[tuple[int, int]]] = {}
        self._common: set[str] = set()
        for match in _TOKEN.finditer(text):
            key = _key(match.group())
            self._places.setdefault(self._form(key), []).append(match.span())
            if match.group()[0].islower():
                self._common.add(key)
        # In a text all in capitals any word may stand before a surname, so it shows no other person there.
        self._tells_words_apart = len(self._common) > _ENOUGH_COMMON_WORDS

    def find(self, name: PersonName) -> list[NameMention]:
        """List the places that may stand for this person, in order.

        A surname alone counts only if the text never gives that surname another given name without giving this one,
        and, without a title before it, only if the word is never written in lower case ('brown').
        """
        mentions, conflict = [], False
        for begin, end in self._places.get(self._form(name.surname), ()):
            if self._text[begin].islower():
                continue
            mention, conflicting = self._judge(name, begin, end)
            conflict = conflict or conflicting
            if mention is not None:
                mentions.append(mention)
        if conflict and not any(m.completeness in ("given", "initial") for m in mentions):
            return [m for m in mentions if m.score == _WITH_BADGE]
        return mentions

    def _judge(self, name: PersonName, begin: int, end: int) -> tuple[NameMention | None, bool]:
        """Decide about one place where the surname stands: the mention, and whether it is somebody else."""
        start, titled, given = self._words_before(begin)
        past, behind = self._words_behind(end)
        fit = self._compare(name.given, _given_part(name.given, given))
        if self._compare(name.given, behind) in ("given", "initial"):
            fit, start = self._compare(name.given, behind), begin
        else:
            past = end
        if fit == "conflict":
            return None, self._tells_words_apart or not self._text[start:end].isupper()
        completeness = _completeness(fit, titled=titled)
        if completeness == "bare" and (name.surname in self._common or not (name.given or name.titled)):
            return None, False
        score = _SCORES[completeness]
        if name.badge and re.search(rf"(?<!\d){name.badge}(?!\d)", self._text[start : past + _REACH // 2]):
            score = _WITH_BADGE
        return NameMention(start, past, completeness, score), False

    def _compare(self, mine: tuple[str, ...], other: tuple[str, ...]) -> _Fit:
        return _compare(tuple(map(self._form, mine)), tuple(map(self._form, other)))

    def _words_before(self, begin: int) -> tuple[int, bool, tuple[str, ...]]:
        """Read the title and given names right before a surname: where they begin, if titled, the given names."""
        match = _BEFORE.search(self._text, max(0, begin - _REACH), begin)
        start = begin
        given: list[str] = []
        tokens = list(_TOKEN.finditer(self._text, match.start(), begin)) if match else []
        for token in reversed(tokens):
            word, key = token.group(), _key(token.group())
            if key in TITLES:
                return token.start(), True, tuple(given)
            if key in _PARTICLES:
                continue
            is_initial = len(key) == 1 and word[-1] == "."
            if word[0].islower() or (not is_initial and (key in NOT_NAMES or key in STARTERS or key in self._common)):
                break
            if word[-1] == "." and len(key) > 2:
                break
            start, given = token.start(), [key, *given]
        return start, False, tuple(given)

    def _words_behind(self, end: int) -> tuple[int, tuple[str, ...]]:
        """Read the given names of 'SURNAME, GIVEN M.': where they end, and the names."""
        match = _SURNAME_FIRST.match(self._text, end, min(len(self._text), end + _REACH))
        if match is None:
            return end, ()
        keys = tuple(k for k in _keys(match[1]) if k not in TITLES and k not in _SUFFIXES)
        return match.end(), keys[:2]


def _given_part(mine: tuple[str, ...], before: tuple[str, ...]) -> tuple[str, ...]:
    """Keep the words before a surname that can belong to it: the last, or two when the last is a middle name.

    In a list without commas ('EMANUEL GOMES LEON MCCABE') the words further left are another person.
    """
    middle = len(before) > 1 and (len(before[-1]) == 1 or (len(mine) > 1 and mine[1][0] == before[-1][0]))
    return before[-2:] if middle else before[-1:]


def _completeness(fit: _Fit, *, titled: bool) -> Completeness:
    if fit in ("given", "initial"):
        return "given" if fit == "given" else "initial"
    return "title" if titled else "bare"


def _compare(mine: tuple[str, ...], other: tuple[str, ...]) -> _Fit:
    """Compare given names: equal, one an initial of the other, one side without any, or different people."""
    if not mine or not other:
        return "none"
    if len(mine) > 1 and len(other) > 1 and mine[1][0] != other[1][0]:
        return "conflict"
    first, second = mine[0], other[0]
    if first == second:
        return "given" if len(first) > 1 else "initial"
    if first[0] == second[0] and (1 in (len(first), len(second)) or _is_other_spelling(first, second)):
        return "initial"
    return "conflict"


def _is_other_spelling(first: str, second: str) -> bool:
    """Say whether two given names are spellings of one ('Emanuel', 'Emmanuel'), and not 'Maria' and 'Mario'."""
    return min(len(first), len(second)) >= 5 and first[-1] == second[-1] and Levenshtein.distance(first, second) == 1


def _keys(text: str) -> list[str]:
    return [_key(token) for token in _TOKEN.findall(text)]


def _key(token: str) -> str:
    return fold(token).rstrip(".").removesuffix("'s").replace("'", "")


def about(person: object, sentences: Sequence[str]) -> list[str]:
    """Keep the sentences, given in reading order, that name a person, and the one after each.

    All of them when none names the person, or `person` is no person's name: a record may speak of "you".
    """
    name = parse_name(person) if isinstance(person, str) else None
    named = [name is not None and bool(NameFinder(plain(s), misread=True).find(name)) for s in sentences]
    kept = [s for i, s in enumerate(sentences) if named[i] or (i > 0 and named[i - 1])]
    return kept or list(sentences)
