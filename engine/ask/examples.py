"""Questions with the tables that answer them: those most like a question are shown to the model that drafts its table.

By their words they also tell whether a question wants a row per document: naive Bayes over words and pairs and
triples of neighbouring words. English. New phrasings are learned by adding a line to `examples.jsonl`.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_SMOOTHING: Final = 0.5
_LEAST_EXAMPLES: Final = 2
"""Words that fewer examples have say nothing."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question and its table as a model writes it: `row` is "document" or a noun, a column is `name: kind`."""

    question: str
    row: str
    columns: tuple[str, ...]

    @property
    def is_per_document(self) -> bool:
        """Tell whether each document gets exactly one row."""
        return self.row == "document"

    @property
    def reply(self) -> str:
        """Return the table in the layout of a reply."""
        return json.dumps({"row": self.row, "columns": list(self.columns)}, indent=2, ensure_ascii=False)


@cache
def all_examples() -> Examples:
    """Return the examples that Redwell comes with."""
    return Examples(read_examples())


def read_examples() -> list[Example]:
    """Read the examples that Redwell comes with, in the order of the file."""
    lines = Path(__file__).with_name("examples.jsonl").read_text(encoding="utf-8").splitlines()
    values = map(json.loads, lines)
    return [Example(v["question"], v["row"], tuple(v["columns"])) for v in values]


class Examples:
    """Finds the examples nearest to a question, and how likely the question is to want a row per document."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self._examples = examples
        self._phrases = [phrases(each.question) for each in examples]
        counts = Counter(phrase for every in self._phrases for phrase in every)
        self._rarity = {phrase: math.log(len(examples) / count) for phrase, count in counts.items()}
        self._lengths = [self._length(every) for every in self._phrases]
        self._weights = self._weighed()
        self._border = self._best_border()

    def nearest(self, question: str, count: int) -> list[Example]:
        """Return the `count` examples most like a question, the most like last (cosine of TF-IDF vectors)."""
        asked = phrases(question)
        length = self._length(asked) or 1.0
        likeness = [
            (sum(self._rarity[phrase] ** 2 for phrase in asked & every) / (length * (own or 1.0)), -place)
            for place, (every, own) in enumerate(zip(self._phrases, self._lengths, strict=True))
        ]
        return [self._examples[-place] for _, place in sorted(likeness)[-count:]]

    def per_document(self, question: str) -> float:
        """Return how much the words of a question speak for a row per document: above 0 for, below 0 against.

        0 where most of its words are in no example, as in another language.
        """
        asked = phrases(question)
        words = [phrase for phrase in asked if phrase.isalpha()]
        if sum(word in self._rarity for word in words) * 2 < len(words):
            return 0.0
        return self._weigh(asked) - self._border

    def _length(self, asked: Iterable[str]) -> float:
        return math.sqrt(sum(self._rarity.get(phrase, 0.0) ** 2 for phrase in asked))

    def _weighed(self) -> dict[str, float]:
        """Weigh each phrase: the logarithm of how much likelier it is where each document gets one row."""
        with_row = {True: Counter[str](), False: Counter[str]()}
        total = Counter(each.is_per_document for each in self._examples)
        for each, every in zip(self._examples, self._phrases, strict=True):
            with_row[each.is_per_document].update(every)
        shares = {
            is_one: {
                phrase: math.log((counts[phrase] + _SMOOTHING) / (total[is_one] + 2 * _SMOOTHING))
                for phrase in self._rarity
                if with_row[True][phrase] + with_row[False][phrase] >= _LEAST_EXAMPLES
            }
            for is_one, counts in with_row.items()
        }
        return {phrase: share - shares[False][phrase] for phrase, share in shares[True].items()}

    def _weigh(self, asked: frozenset[str]) -> float:
        return sum(self._weights.get(phrase, 0.0) for phrase in asked) / math.sqrt(len(asked) or 1)

    def _best_border(self) -> float:
        """Return the weight above which most examples are a row per document and below which most are not."""
        weighed = sorted(
            (self._weigh(every), each.is_per_document)
            for each, every in zip(self._examples, self._phrases, strict=True)
        )
        right = best = sum(is_one for _, is_one in weighed)
        border = -math.inf
        for weight, is_one in weighed:
            right += -1 if is_one else 1
            if right > best:
                best, border = right, weight
        return border


def phrases(question: str) -> frozenset[str]:
    """Return the words and signs of a question, and each two and three that follow each other; any number is 0."""
    words = ["^", *re.findall(r"\w+|[^\w\s]", re.sub(r"\d+", "0", question.lower())), "$"]
    return frozenset(" ".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words) - n + 1))
