"""Decide which of the proposed pairs of two sides match: best first, each row up to its limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from engine.operators.blocking import Answer, PairAsking
from engine.operators.pairs import Proposal

NOT_ASKED_LIMIT = "limit_comparisons was reached"
NOT_ASKED_FULL = "one of them has its most similar matches already"

Verdict = Answer | str
"""What became of a pair: the model's answer, or why it was not asked."""


@dataclass(kw_only=True)
class Matching(PairAsking):
    """Ask about pairs so that each row gets its most similar matches, and about no pair that cannot change that.

    `most_left` and `most_right` are the matches that one left and one right row may have; None: any number.
    """

    most_left: int | None = None
    most_right: int | None = None

    def __post_init__(self) -> None:
        self._left: Counter[int] = Counter()
        self._right: Counter[int] = Counter()
        self._verdicts: list[tuple[Proposal, Verdict]] = []

    async def run(self, proposals: Sequence[Proposal]) -> list[tuple[Proposal, Verdict]]:
        """Return each pair with its verdict, by left and right row. `proposals` come best first."""
        waiting = list(proposals)
        while waiting:
            ready, waiting = self._ready(waiting)
            if not ready:
                self._verdicts += [(pair, NOT_ASKED_LIMIT) for pair in waiting]
                break
            for pair, answer in zip(ready, await self.ask(ready, len(waiting)), strict=True):
                self._verdicts.append((pair, answer))
                if answer is True:
                    self._left[pair.left] += 1
                    self._right[pair.right] += 1
        return sorted(self._verdicts, key=lambda entry: (entry[0].left, entry[0].right))

    def _ready(self, waiting: Sequence[Proposal]) -> tuple[list[Proposal], list[Proposal]]:
        """Choose the pairs that must be asked about whatever is said of more similar ones."""
        ahead_left, ahead_right = Counter(self._left), Counter(self._right)
        room = self.room(len(waiting))
        ready: list[Proposal] = []
        later: list[Proposal] = []
        for pair in waiting:
            if _is_full(self._left[pair.left], self.most_left) or _is_full(self._right[pair.right], self.most_right):
                self._verdicts.append((pair, NOT_ASKED_FULL))
                continue
            is_certain = not _is_full(ahead_left[pair.left], self.most_left) and not _is_full(
                ahead_right[pair.right], self.most_right
            )
            is_known = (pair.left, pair.right) in self.known
            (ready if is_certain and (is_known or room > 0) else later).append(pair)
            room -= is_certain and not is_known
            ahead_left[pair.left] += 1
            ahead_right[pair.right] += 1
        return ready, later


def _is_full(count: int, most: int | None) -> bool:
    return most is not None and count >= most
