"""Score text spans of several types against gold (paper, section 5.1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from engine.text.normalise import plain, words
from evaluation.agreement import Agreement

JACCARD = 0.15
"""A span is found where the Jaccard similarity with it is greater than this (paper, section 5.1)."""

Span = tuple[str, str]
"""(type, text)"""


def jaccard(left: str, right: str) -> float:
    """Return the distinct words that two texts share over all distinct words of both; 0 where both have none."""
    first, second = set(words(plain(left))), set(words(plain(right)))
    either = first | second
    return len(first & second) / len(either) if either else 0.0


def match_spans(predicted: Iterable[Span], gold: Iterable[Span], *, threshold: float = JACCARD) -> Agreement:
    """Match spans of one document one to one, as many as can be, each with one of its type that is alike enough.

    Types are compared without case. Spans of one type with the same words are one, in gold too: saying a thing twice
    is neither better nor worse than saying it once.
    """
    found, wanted = _by_type(_distinct(predicted)), _by_type(_distinct(gold))
    right = sum(_most_pairs(found[kind], texts, threshold) for kind, texts in wanted.items() if kind in found)
    return Agreement(right, sum(map(len, found.values())), sum(map(len, wanted.values())))


def _distinct(spans: Iterable[Span]) -> Iterable[Span]:
    return {(kind.casefold(), tuple(words(plain(text)))): (kind, text) for kind, text in spans}.values()


def _by_type(spans: Iterable[Span]) -> Mapping[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for kind, text in spans:
        groups[" ".join(kind.casefold().split())].append(text)
    return groups


def _most_pairs(predicted: Sequence[str], gold: Sequence[str], threshold: float) -> int:
    """Return the size of a maximum matching, by augmenting paths."""
    alike = [[g for g, text in enumerate(gold) if jaccard(span, text) > threshold] for span in predicted]
    taken_by: dict[int, int] = {}

    def place(span: int, seen: set[int]) -> bool:
        for g in alike[span]:
            if g not in seen:
                seen.add(g)
                if g not in taken_by or place(taken_by[g], seen):
                    taken_by[g] = span
                    return True
        return False

    return sum(place(span, set()) for span in range(len(predicted)))


def names_found(names: Iterable[str], texts: Iterable[str]) -> Agreement:
    """Count the names all of whose words stand in one of the texts, in any order."""
    wanted = [set(words(plain(name))) for name in names]
    shown = [set(words(plain(text))) for text in texts]
    right = sum(any(name <= text for text in shown) for name in wanted if name)
    return Agreement(right, len(shown), len([name for name in wanted if name]))
