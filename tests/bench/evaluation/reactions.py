"""Score terms of a code book that were ranked for each case report (paper, section 5.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.text.normalise import plain, words
from evaluation.agreement import average
from evaluation.orders import rank_precision

DEPTHS = (5, 10, 25)

Term = frozenset[str]
"""A term by its words: `Renal failure acute` and `Acute renal failure` are one."""


def term_of(text: str) -> Term:
    """Read a term."""
    return frozenset(words(plain(text)))


@dataclass(frozen=True)
class CodeBook:
    """The terms of a code book, found by any of their words."""

    terms: Mapping[str, frozenset[Term]]

    @classmethod
    def of(cls, terms: Iterable[str]) -> CodeBook:
        """Index terms by their words."""
        index: dict[str, set[Term]] = defaultdict(set)
        for term in map(term_of, terms):
            for word in term:
                index[word].add(term)
        return cls({word: frozenset(found) for word, found in index.items()})

    def closest(self, phrase: str) -> frozenset[Term]:
        """Find the terms that a phrase of an annotator means: `severe hypertension` means `Hypertension`.

        They are the longest that are made of words of the phrase and have its last word, which says what it is about
        (`vitamin D poisoning` is no `Vitamin D`). Empty where the code book has none.
        """
        said = words(plain(phrase))
        fitting = [t for t in self.terms.get(said[-1], ()) if t <= set(said)] if said else []
        longest = max(map(len, fitting), default=0)
        return frozenset(t for t in fitting if len(t) == longest)


def score_ranked(ranked: Mapping[str, Sequence[str]], gold: Mapping[str, frozenset[Term]]) -> dict[str, float]:
    """Return rank precision at 5, 10 and 25, the mean over the cases of gold; a case without a list has 0.

    `terms`: how many terms a case has on average.
    """
    lists = {case: [term_of(text) for text in ranked.get(case, ())] for case in gold}
    scores = {f"rp@{k}": average(rank_precision(lists[case], gold[case], k) for case in gold) for k in DEPTHS}
    return {**scores, "terms": average(len(set(found)) for found in lists.values())}
