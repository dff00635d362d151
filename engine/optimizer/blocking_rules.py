"""Rules by which code proposes pairs that may mean the same (paper section 4.2.1, blocking keys and rules).

A rule looks at two values alone. Which rules are worth having is found out on pairs that a model has judged: those that
together let 95 % of the pairs through that are the same, and as few others as possible.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, utils

from engine.language.template_text import field_expression
from engine.optimizer.heuristics import TARGET_RECALL

LEAST_OVERLAP = 50.0
"""RapidFuzz's token set ratio, 0 to 100, from which on two values share enough words."""

LEAST_LIKENESS = 75.0
"""RapidFuzz's ratio, 0 to 100, from which on two values are spelt alike."""

_NUMBER = re.compile(r"\d+")
_SOUNDS = {
    **dict.fromkeys("bfpv", "1"),
    **dict.fromkeys("cgjkqsxz", "2"),
    **dict.fromkeys("dt", "3"),
    "l": "4",
    **dict.fromkeys("mn", "5"),
    "r": "6",
}
_SILENT = "hw"
_SOUNDEX_LENGTH = 4


@dataclass(frozen=True, slots=True)
class BlockingRule:
    """A rule that proposes a pair of values, or (`forbids`) refuses one that others propose.

    `condition` writes it for `blocking_conditions` over two fields; None for what the template language cannot say.
    """

    name: str
    holds: Callable[[str, str], bool]
    forbids: bool = False
    condition: Callable[[str, str], str] | None = None


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """Two values, and whether they mean the same."""

    left: str
    right: str
    same: bool


@dataclass(frozen=True, slots=True)
class RuleScore:
    """How rules do on judged pairs: the share of the same pairs that they propose, and of all others; both 0 to 1."""

    recall: float
    others: float


def contains(left: str, right: str) -> bool:
    """Say whether one value holds the other: `NYPD` and `officer of the NYPD`."""
    one, other = _plain(left), _plain(right)
    return bool(one and other) and (f" {one} " in f" {other} " or f" {other} " in f" {one} ")


def shares_words(left: str, right: str) -> bool:
    """Say whether half of the words of the shorter value are in the other, by RapidFuzz's token set ratio."""
    one, other = _plain(left), _plain(right)
    shared = set(one.split()) & set(other.split())
    return bool(shared) and fuzz.token_set_ratio(one, other) >= LEAST_OVERLAP


def spelt_alike(left: str, right: str) -> bool:
    """Say whether two values differ in few letters, by RapidFuzz's ratio."""
    one, other = _plain(left), _plain(right)
    return bool(one and other) and fuzz.ratio(one, other) >= LEAST_LIKENESS


def has_initials_of(left: str, right: str) -> bool:
    """Say whether one value abbreviates the other by initials: `D. H.` or `DH` and `Daniel Harmon`."""
    return _abbreviates(left, right) or _abbreviates(right, left)


def sounds_alike(left: str, right: str) -> bool:
    """Say whether the last words of two values have one phonetic key (Soundex): `Varick` and `Varrick`."""
    one, other = _plain(left).split(), _plain(right).split()
    return bool(one and other) and soundex(one[-1]) != "" and soundex(one[-1]) == soundex(other[-1])


def numbers_differ(left: str, right: str) -> bool:
    """Say whether both values hold numbers, such as badges, and none in common."""
    one, other = set(_NUMBER.findall(left)), set(_NUMBER.findall(right))
    return bool(one and other) and not one & other


def soundex(word: str) -> str:
    """Return the American Soundex key of a word, a letter and three digits; "" for a word without letters."""
    letters = [c for c in _folded(word) if "a" <= c <= "z"]
    if not letters:
        return ""
    digits: list[str] = []
    before = _SOUNDS.get(letters[0], "")
    for letter in letters[1:]:
        digit = _SOUNDS.get(letter, "")
        if digit and digit != before:
            digits.append(digit)
        before = before if letter in _SILENT else digit
    return (letters[0].upper() + "".join(digits)).ljust(_SOUNDEX_LENGTH, "0")[:_SOUNDEX_LENGTH]


def _contains_condition(left: str, right: str) -> str:
    one, other = f"({field_expression(left, 'left')} | lower)", f"({field_expression(right, 'right')} | lower)"
    return f"{one} in {other} or {other} in {one}"


RULES: tuple[BlockingRule, ...] = (
    BlockingRule("contains", contains, condition=_contains_condition),
    BlockingRule("shares_words", shares_words),
    BlockingRule("spelt_alike", spelt_alike),
    BlockingRule("has_initials_of", has_initials_of),
    BlockingRule("sounds_alike", sounds_alike),
    BlockingRule("numbers_differ", numbers_differ, forbids=True),
)


def proposes(rules: Sequence[BlockingRule], left: str, right: str) -> bool:
    """Say whether some rule proposes a pair and none forbids it."""
    forbidden = any(rule.forbids and rule.holds(left, right) for rule in rules)
    return not forbidden and any(not rule.forbids and rule.holds(left, right) for rule in rules)


def score(rules: Sequence[BlockingRule], pairs: Sequence[JudgedPair]) -> RuleScore:
    """Measure rules together; a share of no pairs is 1 for the recall, 0 for the others."""
    proposed = [proposes(rules, pair.left, pair.right) for pair in pairs]
    same = [found for found, pair in zip(proposed, pairs, strict=True) if pair.same]
    others = [found for found, pair in zip(proposed, pairs, strict=True) if not pair.same]
    return RuleScore(sum(same) / len(same) if same else 1.0, sum(others) / len(others) if others else 0.0)


def chosen_rules(
    pairs: Sequence[JudgedPair], recall: float = TARGET_RECALL, rules: Sequence[BlockingRule] = RULES
) -> tuple[BlockingRule, ...]:
    """Choose rules that reach a recall on judged pairs, the least greedy first; () where no choice reaches it.

    A rule that forbids is taken where it costs no pair that is the same.
    """
    if not any(pair.same for pair in pairs):
        return ()
    chosen: list[BlockingRule] = []
    left = [rule for rule in rules if not rule.forbids]
    while score(chosen, pairs).recall < recall:
        gains = [(rule, score([*chosen, rule], pairs)) for rule in left]
        useful = [(rule, found) for rule, found in gains if found.recall > score(chosen, pairs).recall]
        if not useful:
            return ()
        best, _ = max(useful, key=lambda gain: (gain[1].recall >= recall, gain[1].recall - gain[1].others))
        chosen.append(best)
        left.remove(best)
    guarded = [rule for rule in rules if rule.forbids and score([*chosen, rule], pairs).recall >= recall]
    return (*chosen, *guarded)


def _plain(text: str) -> str:
    """Lower the case, leave out accents and punctuation, and write one space between words."""
    return " ".join(utils.default_process(_folded(text)).split())


def _folded(text: str) -> str:
    marks = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in marks if not unicodedata.combining(c))


def _abbreviates(short: str, long: str) -> bool:
    letters = _plain(short).replace(" ", "")
    words = _plain(long).split()
    return len(words) > 1 and letters == "".join(word[0] for word in words) and letters != "".join(words)
