"""Find a person under the forms that records use: rank and initial, surname first in capitals, surname and badge."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from engine.text.normalise import misreading, plain
from engine.text.person_names import (
    ALSO_FIRST_NAMES,
    PARTICLES,
    SUFFIXES,
    TITLES,
    PersonName,
    compare_first_names,
    is_capitalised,
    middles_clash,
    recognise_name,
    word_key,
)
from engine.text.vocabulary import AFTER_TIME, BEFORE_NAMES, NOT_NAMES, STARTERS

_TOKEN = re.compile(r"[^\W\d_][\w'-]*\.?")
_BEFORE = re.compile(r"((?:[^\W\d_][\w'-]*\.?\s+|[A-Z]\.){1,5})$")
_SURNAME_FIRST = re.compile(r",\s{0,2}((?:[A-Z][\w'-]*\.?[^\S\n]?){1,4})")
_ALSO_FIRST = {"april", "may", "june", "august"}
_NO_FIRST_NAMES = NOT_NAMES | STARTERS | BEFORE_NAMES | (AFTER_TIME - _ALSO_FIRST)
_ENOUGH_COMMON_WORDS = 100
_REACH = 70

Completeness = Literal["given", "initial", "title", "bare"]
_Fit = Literal["given", "initial", "none", "conflict"]
_WITH_BADGE = 0.97
_SCORES: dict[Completeness, float] = {"given": 0.95, "initial": 0.85, "title": 0.7, "bare": 0.6}


@dataclass(frozen=True, slots=True)
class NameMention:
    """A place where the surname stands: half-open character range of the whole form, and how well it fits."""

    begin: int
    end: int
    completeness: Completeness
    score: float


class NameFinder:
    """Finds people in one plain text; `misread`: letters that OCR confuses count as the same ('A1varez')."""

    def __init__(self, text: str, *, misread: bool = False) -> None:
        self._text = text
        self._form: Callable[[str], str] = misreading if misread else str
        self._places: dict[str, list[tuple[int, int]]] = {}
        self._common: set[str] = set()
        for match in _TOKEN.finditer(text):
            key = word_key(match.group())
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
        *others, last_word = name.surname_words or (name.surname,)
        given = (*name.given, *(word for word in others if word not in PARTICLES))
        mentions, conflict = [], False
        for begin, end in self._places.get(self._form(last_word), ()):
            if not is_capitalised(self._text[begin:end]):
                continue
            mention, conflicting = self._judge(name, given, begin, end)
            conflict = conflict or conflicting
            if mention is not None:
                mentions.append(mention)
        if conflict and not any(m.completeness in ("given", "initial") for m in mentions):
            return [m for m in mentions if m.score == _WITH_BADGE]
        return mentions

    def _judge(self, name: PersonName, mine: tuple[str, ...], begin: int, end: int) -> tuple[NameMention | None, bool]:
        """Decide about one place where the surname stands: the mention, and whether it is somebody else.

        `mine` are the words that may stand before it.
        """
        start, titled, given = self._words_before(begin)
        past, behind = self._words_behind(end)
        fit = self._compare(mine, _given_part(mine, given))
        if self._compare(mine, behind) in ("given", "initial"):
            fit, start = self._compare(mine, behind), begin
        else:
            past = end
        if fit == "conflict":
            return None, self._tells_words_apart or not self._text[start:end].isupper()
        completeness = _completeness(fit, titled=titled)
        if completeness == "bare" and (word_key(self._text[begin:end]) in self._common or not (mine or name.is_titled)):
            return None, False
        score = _SCORES[completeness]
        if name.badge and _badge(name.badge).search(self._text, start, min(len(self._text), past + _REACH // 2)):
            score = _WITH_BADGE
        return NameMention(start, past, completeness, score), False

    def _compare(self, mine: tuple[str, ...], other: tuple[str, ...]) -> _Fit:
        fit = _compare(mine, other)
        if fit == "conflict" and self._form is not str:
            return _compare(tuple(map(self._form, mine)), tuple(map(self._form, other)))
        return fit

    def _words_before(self, begin: int) -> tuple[int, bool, tuple[str, ...]]:
        """Read the title and given names right before a surname: where they begin, if titled, the given names."""
        match = _BEFORE.search(self._text, max(0, begin - _REACH), begin)
        start = begin
        given: list[str] = []
        tokens = list(_TOKEN.finditer(self._text, match.start(), begin)) if match else []
        for token in reversed(tokens):
            word, key = token.group(), word_key(token.group())
            if key in TITLES:
                return token.start(), True, tuple(given)
            is_initial = len(key) == 1 and word[-1] == "."
            if key in PARTICLES and not is_initial and (word[0].islower() or key not in ALSO_FIRST_NAMES):
                continue
            if word[0].islower() or (not is_initial and (key in _NO_FIRST_NAMES or key in self._common)):
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
        past, given = end, list[str]()
        for token in _TOKEN.finditer(self._text, match.start(1), match.end(1)):
            key = word_key(token.group())
            if key not in TITLES and key not in SUFFIXES:
                if len(given) == 2:
                    break
                given.append(key)
            past = token.end()
        return past, tuple(given)


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
    """Compare given names: equal, one a variant of the other, one side without any, or different people."""
    if not mine or not other:
        return "none"
    first = compare_first_names(mine, other)
    if first in ("near", "other") or middles_clash(mine, other):
        return "conflict"
    return "given" if first == "equal" else "initial"


@lru_cache(maxsize=1000)
def _badge(badge: str) -> re.Pattern[str]:
    """Match a badge as records write it: `417`, `0417`; `a417`, `A-417`."""
    return re.compile(rf"(?<![^\W_])0*{re.sub(r'(?<=[a-z])(?=[0-9])', '-?', badge)}(?![0-9])", re.IGNORECASE)


def about(person: object, sentences: Sequence[str]) -> list[str]:
    """Keep the sentences, given in reading order, that name a person, and the one after each.

    All of them when none names the person, or `person` is no person's name: a record may speak of "you".
    """
    name = recognise_name(person) if isinstance(person, str) else None
    named = [name is not None and bool(NameFinder(plain(s), misread=True).find(name)) for s in sentences]
    kept = [s for i, s in enumerate(sentences) if named[i] or (i > 0 and named[i - 1])]
    return kept or list(sentences)
