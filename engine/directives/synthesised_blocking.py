"""Let code propose the pairs of a join that a model is asked about (paper section 4.2.1; the join of section 5.4)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from engine.directives.base import Directive, Facts, Params, Site
from engine.directives.splicing import spliced
from engine.language.conditions import condition
from engine.language.template_text import field_expression
from engine.operators.equijoin import Equijoin
from engine.plan.plan import Plan
from engine.text.likeness import abbreviates, contains_words, numbers, overlap, sound, spelling_likeness

MOST_RULES = 3
"""Rules that propose or forbid pairs, at most."""

TARGET_RECALL = 0.95
"""Of the pairs that are the same, the part that the rules must propose."""

FEWEST_MATCHES = 5
"""From fewer matched pairs nothing is learned."""

MOST_MATCHES = 300
"""Matched pairs that rules are learned from."""

CROSSED = 3
"""So many other right rows stand beside each matched left row, as pairs that are not the same."""

MUCH_LONGER = 5
"""From so many times the length on, one side holds the words of the other among many more."""

WITHIN = ("has_all_words",)
ALIKE = ("has_all_words", "spelt_alike", "has_initials_of")


@dataclass(frozen=True, kw_only=True)
class BlockingParams(Params):
    """The field of either side that is looked at, and the rules (RULES) by their names."""

    left_field: str
    right_field: str
    rules: tuple[str, ...]


class SynthesisedBlocking(Directive[BlockingParams]):
    """Equijoin => Equijoin: a model is only asked about pairs that a rule proposes, such as all words of a term.

    Without it pairs are proposed by embeddings of whole rows; a term of two words is hardly like the article that holds
    it. Rules are learned where the join has matched rows of the sample: those that together let 95 % of them through,
    and the fewest others.

    before: report: fits
    after:  report: fits
    """

    name: ClassVar[str] = "synthesised_blocking"
    purpose: ClassVar[str] = "asks only about pairs whose words have to do with each other"
    needs: ClassVar[frozenset[str]] = frozenset({"equijoin"})
    prior: ClassVar[float] = 0.9
    is_settled: ClassVar[bool] = True
    compares_variants: ClassVar[bool] = True

    def _blocked(self, site: Site) -> str:
        node = site.node(Equijoin)
        if node.blocking_conditions or node.blocking_threshold is not None:
            return f"{node.name} says itself which pairs are compared"
        if node.comparison_prompt.reads_unknown:
            return f"the prompt of {node.name} shows whole rows, not fields by name"
        if not (_fields(node, "left", site.facts) and _fields(node, "right", site.facts)):
            return f"the prompt of {node.name} reads no field of one side"
        return ""

    def default_params(self, site: Site) -> BlockingParams:
        """Learn the rules from what was matched; where too little was, go by how long the fields are."""
        return self.variants(site)[0]

    def variants(self, site: Site) -> Sequence[BlockingParams]:
        """Try what was learned, the usual (all words of the shorter; of short ones spelling, initials), and both."""
        node = site.node(Equijoin)
        left, right = _fields(node, "left", site.facts), _fields(node, "right", site.facts)
        tokens = [site.facts.field_tokens.get(names[0], 0) for names in (left, right)]
        # Of the longer side the longest field, of the other the shortest: a term rather than what is told of it.
        pair = (left[0], right[-1]) if tokens[0] >= tokens[1] else (left[-1], right[0])
        long, short = max(tokens), min(site.facts.field_tokens.get(name, 0) for name in pair)
        usual = WITHIN if long >= MUCH_LONGER * max(1, short) else ALIKE
        choices = [BlockingParams(left_field=pair[0], right_field=pair[1], rules=usual)]
        if learned := _learned(site.facts.matches, left, right):
            choices = [learned, *choices]
            if learned.rules != usual and (learned.left_field, learned.right_field) == pair:
                both = tuple(dict.fromkeys([*usual, *learned.rules]))[:MOST_RULES]
                choices.append(replace(learned, rules=both))
        return tuple(dict.fromkeys(choices))

    def apply(self, site: Site, params: BlockingParams) -> Plan:
        """Return the plan whose join asks about pairs that rules propose."""
        rules = [BY_NAME[name] for name in dict.fromkeys(params.rules)]
        new = conditions(rules, params.left_field, params.right_field)
        return spliced(site, [replace(site.node(Equijoin), blocking_conditions=tuple(map(condition, new)))])


def _fields(node: Equijoin, side: str, facts: Facts) -> list[str]:
    """Return the fields of a side that the comparison reads, the longest first as far as it is known."""
    names = node.comparison_prompt.mentions(side)
    return sorted(names, key=lambda name: (-facts.field_tokens.get(name, 0), name))


def _learned(
    matches: Sequence[Mapping[str, Any]], lefts: Sequence[str], rights: Sequence[str]
) -> BlockingParams | None:
    """Choose the fields and rules that let nearly all matched pairs through, and the fewest others; None for none."""
    best: tuple[float, BlockingParams] | None = None
    for left, right in itertools.product(lefts, rights):
        pairs = judged_pairs(matches, left, right)
        rules = chosen_rules(pairs)[:MOST_RULES] if sum(pair.same for pair in pairs) >= FEWEST_MATCHES else ()
        if not rules or all(rule.forbids for rule in rules):
            continue
        others = score(rules, pairs).others
        if best is None or others < best[0]:
            names = tuple(rule.name for rule in cast("Sequence[BlockingRule]", rules))
            best = others, BlockingParams(left_field=left, right_field=right, rules=names)
    return best[1] if best else None


def judged_pairs(matches: Sequence[Mapping[str, Any]], left: str, right: str) -> list[JudgedPair]:
    """Return the pairs of two fields that were matched, and of each left value some pairs that were not.

    `matches` are values of merged rows; a field that both sides have is called `x_left` and `x_right` there.
    """
    merged = [
        (row.get(left, row.get(f"{left}_left")), row.get(right, row.get(f"{right}_right")))
        for row in matches[:MOST_MATCHES]
    ]
    known = ((str(one), str(other)) for one, other in merged if one is not None and other is not None)
    same = dict.fromkeys(pair for pair in known if all(pair))
    values = list(dict.fromkeys(value for _, value in same))
    pairs = [JudgedPair(*pair, True) for pair in same]
    for number, left_value in enumerate(dict.fromkeys(pair[0] for pair in same)):
        crossed = (values[(number * CROSSED + step) % len(values)] for step in range(len(values)))
        others = itertools.islice((value for value in crossed if (left_value, value) not in same), CROSSED)
        pairs += [JudgedPair(left_value, other, False) for other in others]
    return pairs


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


def has_all_words(left: str, right: str) -> bool:
    """Say whether all words of the shorter value are in the other, in any order: `acute failure of the kidneys`."""
    return overlap(left, right) == 1.0


def shares_words(left: str, right: str) -> bool:
    """Say whether half of the words of the shorter value are in the other."""
    return overlap(left, right) >= LEAST_OVERLAP


def spelt_alike(left: str, right: str) -> bool:
    """Say whether two values differ in few letters, by RapidFuzz's ratio."""
    return spelling_likeness(left, right) >= LEAST_LIKENESS


def sounds_alike(left: str, right: str) -> bool:
    """Say whether the last words of two values have one phonetic key (Soundex): `Varick` and `Varrick`."""
    return sound(left) == sound(right) != ""


def numbers_differ(left: str, right: str) -> bool:
    """Say whether both values hold numbers, such as badges, and none in common."""
    left_numbers, right_numbers = numbers(left), numbers(right)
    return bool(left_numbers and right_numbers) and overlap(left_numbers, right_numbers) == 0.0


RULES: tuple[BlockingRule, ...] = (
    BlockingRule("contains", contains_words, "({left} | folded) | contains_words({right} | folded)"),
    BlockingRule("has_all_words", has_all_words, "({left} | words) | overlap({right} | words) == 1"),
    BlockingRule("shares_words", shares_words, f"({{left}} | words) | overlap({{right}} | words) >= {LEAST_OVERLAP:g}"),
    BlockingRule(
        "spelt_alike", spelt_alike, f"({{left}} | folded) | likeness({{right}} | folded) >= {LEAST_LIKENESS:g}"
    ),
    BlockingRule("has_initials_of", abbreviates, "({left} | folded) | abbreviates({right} | folded)"),
    BlockingRule("sounds_alike", sounds_alike, "({left} | sound) == ({right} | sound)"),
    BlockingRule(
        "numbers_differ",
        numbers_differ,
        "({left} | numbers) and ({right} | numbers) and ({left} | numbers) | overlap({right} | numbers) == 0",
        forbids=True,
    ),
)
BY_NAME = {rule.name: rule for rule in RULES}


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
    same = [is_proposed for is_proposed, pair in zip(proposed, pairs, strict=True) if pair.same]
    others = [is_proposed for is_proposed, pair in zip(proposed, pairs, strict=True) if not pair.same]
    return RuleScore(sum(same) / len(same) if same else 1.0, sum(others) / len(others) if others else 0.0)


def chosen_rules(pairs: Sequence[JudgedPair]) -> tuple[BlockingRule, ...]:
    """Choose rules that reach TARGET_RECALL on judged pairs, the least greedy first; () where no choice reaches it.

    A rule that forbids is taken where it costs no pair that is the same, and spares others.
    """
    if not any(pair.same for pair in pairs):
        return ()
    chosen: list[BlockingRule] = []
    left = [rule for rule in RULES if not rule.forbids]
    while score(chosen, pairs).recall < TARGET_RECALL:
        gains = [(rule, score([*chosen, rule], pairs)) for rule in left]
        useful = [(rule, result) for rule, result in gains if result.recall > score(chosen, pairs).recall]
        if not useful:
            return ()
        best, _ = max(useful, key=lambda gain: (gain[1].recall >= TARGET_RECALL, gain[1].recall - gain[1].others))
        chosen.append(best)
        left.remove(best)
    for rule in (rule for rule in RULES if rule.forbids):
        before, after = score(chosen, pairs), score([*chosen, rule], pairs)
        if after.recall >= TARGET_RECALL and after.others < before.others:
            chosen.append(rule)
    return tuple(chosen)
