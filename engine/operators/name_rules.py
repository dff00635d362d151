"""The rule `person_name` of resolve: which names code may join, must keep apart, or leaves to the model.

A name without a whole first name (`Harmon`, `D. Harmon`) means someone only where it stands, so such mentions are kept
per document and settled there first: if one fuller name in that document fits, they are the same.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from engine.operators.pairs import MOST_PAIRS, Proposal, too_many
from engine.text.normalise import misreading
from engine.text.person_names import MOST_SLIPS, Likeness, PersonName, compare_names, parse_name, slips_allowed

SURNAMES = 256
"""Surnames compared at once with all others that are hardly longer."""

MOST_MISREAD = 3
"""Edits between surnames that look alike: a misread `rn` for `m` is two."""

SAME_DOCUMENT = "only_bearer_in_document"
SEVERAL = "several_bearers_in_document"

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """What code says about a pair, left < right, by which rule and why."""

    left: int
    right: int
    by: str
    detail: str


@dataclass
class RuleVerdicts:
    """`same` in the order to join, `different` to keep apart for good, `candidates` for the model."""

    same: list[RuleVerdict] = field(default_factory=list)
    different: list[RuleVerdict] = field(default_factory=list)
    candidates: list[Proposal] = field(default_factory=list)


def is_partial_name(text: str) -> bool:
    """Say whether a name means someone only where it stands."""
    name = parse_name(text)
    return name is not None and name.is_partial


def judge_names(texts: Sequence[str], documents: Sequence[Set[str]]) -> RuleVerdicts:
    """Judge mentions of persons, `documents[i]` being where mention i occurs (empty when unknown).

    Pairs whose surnames differ beyond a misread letter appear nowhere in the result: they are not worth comparing.
    """
    return _Judge([parse_name(text) for text in texts], documents).verdicts()


class _Judge:
    def __init__(self, names: Sequence[PersonName | None], documents: Sequence[Set[str]]) -> None:
        self.names = {i: name for i, name in enumerate(names) if name}
        self.documents = documents
        self.likeness: dict[Pair, tuple[Likeness, str]] = {}
        self.alike: dict[int, list[int]] = {}
        self.clashes: dict[int, set[int]] = {}
        for i, j in sorted(_comparable(self.names)):
            comparison = compare_names(self.names[i], self.names[j])
            if comparison[0] != "unlike":
                self.likeness[i, j] = comparison
                for mention, other in ((i, j), (j, i)):
                    self.alike.setdefault(mention, []).append(other)
                    if comparison[0] == "clash":
                        self.clashes.setdefault(mention, set()).add(other)
        self._several_namesakes = cache(lambda i: self._clash_among(self._namesakes(i)))

    def verdicts(self) -> RuleVerdicts:
        settled = {i: self._bearers(i) for i in self.names}
        result = RuleVerdicts()
        decided: set[Pair] = set()
        for (i, j), (kind, detail) in self.likeness.items():
            if kind == "clash":
                result.different.append(RuleVerdict(i, j, "rule", detail))
            elif kind != "open" and self._is_safe(i, j, kind):
                result.same.append(RuleVerdict(i, j, "badge" if detail.startswith("badge") else kind, detail))
            else:
                continue
            decided.add((i, j))
        for i, bearers in settled.items():
            decided |= self._settle(i, bearers, result, decided)
        result.candidates = [
            Proposal(i, j, self._score(i, j), detail)
            for (i, j), (_, detail) in self.likeness.items()
            if (i, j) not in decided and not settled[i] and not settled[j]
        ]
        return result

    def _settle(self, i: int, bearers: list[int], result: RuleVerdicts, decided: Set[Pair]) -> set[Pair]:
        """Join a mention to the one bearer of its name in its document, or keep it apart from several."""
        if not bearers:
            return set()
        others = [b for b in bearers if _pair(i, b) not in decided]
        if self._clash_among(bearers):
            detail = f"{len(bearers)} persons of this surname in the document"
            result.different += [RuleVerdict(*_pair(i, b), SEVERAL, detail) for b in others]
            return {_pair(i, b) for b in others}
        best = max(bearers, key=lambda b: (_level(self.names[b]), -b))
        if best in others:
            result.same.append(RuleVerdict(*_pair(i, best), SAME_DOCUMENT, "no one else of this surname there"))
        return {_pair(i, best)}

    def _bearers(self, i: int) -> list[int]:
        """Find fuller names in the same documents that mention i may stand for; those of its rank before others."""
        name = self.names[i]
        there = [j for j in self.alike.get(i, []) if self._share_document(i, j)]
        candidates = [j for j in there if self.names[j].surname == name.surname]
        fuller = [j for j in candidates if _level(self.names[j]) > _level(name) and self._kind(i, j) != "clash"]
        of_rank = [j for j in fuller if name.rank and self.names[j].rank == name.rank]
        if of_rank or name.has_first_name:
            return [] if name.has_first_name else of_rank
        if any(self._is_rival(name, self.names[j]) for j in candidates):
            return []
        return [j for j in fuller if not _ranks_differ(name, self.names[j])]

    def _share_document(self, i: int, j: int) -> bool:
        return bool(self.documents[i] & self.documents[j])

    @staticmethod
    def _is_rival(name: PersonName, other: PersonName) -> bool:
        """Say whether `Officer Reyes` and `Sgt. Reyes` of one document may be two persons: only the model can tell."""
        return not name.given and not other.given and _ranks_differ(name, other)

    def _is_safe(self, i: int, j: int, kind: Likeness) -> bool:
        """Say whether names that agree may be joined without asking."""
        left, right = self.names[i], self.names[j]
        if left.badge and left.badge == right.badge:
            return True
        if not left.given:
            return self._share_document(i, j) or not (self.documents[i] or self.documents[j])
        if kind == "identical" and left.has_first_name:
            return True
        return not self._several_namesakes(i) and not self._several_namesakes(j)

    def _namesakes(self, i: int) -> list[int]:
        """Find everyone whom mention i might be, going by first name or initial."""
        name = self.names[i]
        return [
            j
            for j in self.alike.get(i, [])
            if self.names[j].given and self.names[j].given[0][0] == name.given[0][0] and self._kind(i, j) != "clash"
        ]

    def _clash_among(self, mentions: Sequence[int]) -> bool:
        group = set(mentions)
        return any(not group.isdisjoint(self.clashes.get(mention, ())) for mention in group)

    def _kind(self, i: int, j: int) -> Likeness:
        return self.likeness.get(_pair(i, j), ("unlike", ""))[0]

    def _score(self, i: int, j: int) -> float:
        """Rank pairs for the model: the more is known of both names the earlier, surnames alone last."""
        left, right = self.names[i], self.names[j]
        return 1.0 + _level(left) + _level(right) + (0.5 if left.surname == right.surname else 0.0)


def _level(name: PersonName) -> int:
    return 2 if name.has_first_name else min(len(name.given), 1)


def _ranks_differ(left: PersonName, right: PersonName) -> bool:
    return bool(left.rank and right.rank) and left.rank != right.rank


def _pair(i: int, j: int) -> Pair:
    return (i, j) if i < j else (j, i)


def _comparable(names: dict[int, PersonName]) -> set[Pair]:
    """Find the pairs whose surnames are alike or whose badges are equal, without comparing all with all names.

    Raises PipelineError where these are more than anybody could compare.
    """
    by_surname: dict[str, list[int]] = {}
    by_badge: dict[str, list[int]] = {}
    for i, name in names.items():
        by_surname.setdefault(name.surname, []).append(i)
        if name.badge:
            by_badge.setdefault(name.badge, []).append(i)
    comparable: set[Pair] = set()

    def add(pairs: Iterable[Pair]) -> None:
        for pair in pairs:
            comparable.add(pair)
            if len(comparable) > MOST_PAIRS:
                raise too_many("rules: the rule person_name finds surnames or badges alike")

    for group in (*by_surname.values(), *by_badge.values()):
        add(itertools.combinations(group, 2))
    for left, right in alike_surnames(list(by_surname)):
        add(_pair(i, j) for i in by_surname[left] for j in by_surname[right])
    return comparable


def alike_surnames(surnames: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give the pairs of different surnames that differ by no more than misread letters (surnames_alike).

    Distances are computed in blocks, so that no table of all pairs is ever there.
    """
    names = sorted(surnames, key=lambda name: (len(name), name))
    lengths = [len(name) for name in names]
    allowed = np.array([slips_allowed(length) for length in lengths], np.uint8)
    for start in range(0, len(names), SURNAMES):
        block = names[start : start + SURNAMES]
        stop = bisect.bisect_right(lengths, len(block[-1]) + MOST_SLIPS)
        distances = cdist(
            block, names[start:stop], scorer=OSA.distance, score_cutoff=MOST_SLIPS, dtype=np.uint8, workers=-1
        )
        # The shorter name decides, and it comes first.
        near = np.triu(distances <= allowed[start : start + len(block), np.newaxis], k=1)
        yield from ((block[i], names[start + j]) for i, j in zip(*np.nonzero(near), strict=True))
    yield from _alike_shapes(names)


def _alike_shapes(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give the pairs that only look alike (`rn` for `m`) and are more slips apart than their length allows."""
    by_shape: dict[str, list[str]] = {}
    for name in names:
        by_shape.setdefault(misreading(name), []).append(name)
    for group in by_shape.values():
        for left, right in itertools.combinations(group, 2):
            if slips_allowed(len(left)) < OSA.distance(left, right) <= MOST_MISREAD:
                yield left, right
