"""Rules by which code proposes pairs that may mean the same (paper section 4.2.1, blocking keys and rules).

A rule looks at two values alone. Which rules are worth having is found out on pairs that a model has judged: those that
together let 95 % of the pairs through that are the same, and as few others as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.directives.heuristics import TARGET_RECALL
from engine.language.template_text import field_expression
from engine.text.likeness import abbreviates, contains_words, numbers, overlap, sound, spelling_likeness

LEAST_OVERLAP = 0.5
"""Share of the words of the shorter value, 0 to 1, from which on two values share enough words."""

LEAST_LIKENESS = 75.0
"""RapidFuzz's ratio, 0 to 100, from which on two values are spelt alike."""


@dataclass(frozen=True, slots=True)
class BlockingRule:
    """A rule that proposes a pair of values, or (`forbids`) refuses one that others propose.

    `condition` says the same for `blocking_conditions`, with {left} and {right} for the two fields.
    """

    name: str
    holds: Callable[[str, str], bool]
    condition: str
    forbids: bool = False


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
    return contains_words(left, right)


def has_all_words(left: str, right: str) -> bool:
    """Say whether all words of the shorter value are in the other, in any order: `acute failure of the kidneys`."""
    return overlap(left, right) == 1.0


def shares_words(left: str, right: str) -> bool:
    """Say whether half of the words of the shorter value are in the other."""
    return overlap(left, right) >= LEAST_OVERLAP


def spelt_alike(left: str, right: str) -> bool:
    """Say whether two values differ in few letters, by RapidFuzz's ratio."""
    return spelling_likeness(left, right) >= LEAST_LIKENESS


def has_initials_of(left: str, right: str) -> bool:
    """Say whether one value abbreviates the other by initials: `D. H.` or `DH` and `Daniel Harmon`."""
    return abbreviates(left, right)


def sounds_alike(left: str, right: str) -> bool:
    """Say whether the last words of two values have one phonetic key (Soundex): `Varick` and `Varrick`."""
    return sound(left) == sound(right) != ""


def numbers_differ(left: str, right: str) -> bool:
    """Say whether both values hold numbers, such as badges, and none in common."""
    one, other = numbers(left), numbers(right)
    return bool(one and other) and overlap(one, other) == 0.0


RULES: tuple[BlockingRule, ...] = (
    BlockingRule("contains", contains, "({left} | folded) | contains_words({right} | folded)"),
    BlockingRule("has_all_words", has_all_words, "({left} | words) | overlap({right} | words) == 1"),
    BlockingRule("shares_words", shares_words, f"({{left}} | words) | overlap({{right}} | words) >= {LEAST_OVERLAP:g}"),
    BlockingRule(
        "spelt_alike", spelt_alike, f"({{left}} | folded) | likeness({{right}} | folded) >= {LEAST_LIKENESS:g}"
    ),
    BlockingRule("has_initials_of", has_initials_of, "({left} | folded) | abbreviates({right} | folded)"),
    BlockingRule("sounds_alike", sounds_alike, "({left} | sound) == ({right} | sound)"),
    BlockingRule(
        "numbers_differ",
        numbers_differ,
        "({left} | numbers) and ({right} | numbers) and ({left} | numbers) | overlap({right} | numbers) == 0",
        forbids=True,
    ),
)


def conditions(rules: Sequence[BlockingRule], left: str, right: str) -> tuple[str, ...]:
    """Write rules for `blocking_conditions` over two fields, one for each rule that proposes; the others guard all."""
    fields = {"left": field_expression(left, "left"), "right": field_expression(right, "right")}
    guards = [f" and not ({rule.condition.format(**fields)})" for rule in rules if rule.forbids]
    return tuple(rule.condition.format(**fields) + "".join(guards) for rule in rules if not rule.forbids)


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

    A rule that forbids is taken where it costs no pair that is the same, and spares others.
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
    for rule in (rule for rule in rules if rule.forbids):
        before, after = score(chosen, pairs), score([*chosen, rule], pairs)
        if after.recall >= recall and after.others < before.others:
            chosen.append(rule)
    return tuple(chosen)
