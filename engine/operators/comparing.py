"""Decide which mentions are the same: by the user, by rules, then by the model with the transitivity shortcut."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from engine.operators.accounting import Failure, attempt_all
from engine.operators.base import Decision
from engine.operators.mentions import Mention
from engine.operators.name_rules import RuleVerdict
from engine.operators.pairs import Proposal
from engine.operators.union_find import UnionFind

Compare = Callable[[Proposal], Awaitable[bool]]


@dataclass
class Comparison:
    """The clusters so far, and every verdict that led to them."""

    subject: str
    mentions: Sequence[Mention]
    clusters: UnionFind = field(init=False)
    decisions: list[Decision] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clusters = UnionFind(len(self.mentions))

    def keep_apart(self, left: int, right: int, by: str, detail: str = "") -> None:
        """Forbid two mentions to be joined, now or through others."""
        if self.clusters.keep_apart(left, right):
            self.record(left, right, "different", by, detail)
        else:
            self.record(left, right, "undecided", "constraint", f"joined already, though {by} says different: {detail}")

    def join(self, left: int, right: int, by: str, detail: str = "") -> None:
        """Join two mentions unless that brings together what must stay apart."""
        if self.clusters.relation(left, right) == "forbidden":
            self.record(left, right, "different", "constraint", f"kept apart, though {by} says same: {detail}")
            return
        self.clusters.join(left, right)
        self.record(left, right, "same", by, detail)

    def record(self, left: int, right: int, verdict: str, by: str, detail: str = "") -> None:
        """Put a verdict into the ledger."""
        names = self.mentions[left].text, self.mentions[right].text
        self.decisions.append(Decision(self.subject, *names, verdict, by, detail))

    def apply_user(self, same: Iterable[Sequence[str]], apart: Iterable[Sequence[str]]) -> None:
        """Follow the user's pairs of values; one that occurs nowhere is recorded as undecided."""
        for pairs, act in ((apart, self.keep_apart), (same, self.join)):
            for left_text, right_text in pairs:
                left, right = self._named(left_text), self._named(right_text)
                if not left or not right:
                    detail = f"{right_text if left else left_text!r} does not occur"
                    self.decisions.append(Decision(self.subject, left_text, right_text, "undecided", "user", detail))
                for i in left:
                    for j in right:
                        act(min(i, j), max(i, j), "user")

    def apply_rules(self, same: Iterable[RuleVerdict], different: Iterable[RuleVerdict]) -> None:
        """Follow code rules; what they keep apart comes first, so that no join can bring it together."""
        for verdict in different:
            if self.clusters.relation(verdict.left, verdict.right) != "joined":
                self.keep_apart(verdict.left, verdict.right, verdict.by, verdict.detail)
        for verdict in same:
            self.join(verdict.left, verdict.right, verdict.by, verdict.detail)

    async def apply_model(
        self,
        proposals: Sequence[Proposal],
        compare: Compare,
        progress: Callable[[int, int], None],
        limit: int | None = None,
    ) -> None:
        """Ask about proposed pairs, best first, until none is left open or `limit` were asked.

        Each round asks at once only about pairs whose answers cannot make each other superfluous: those that, were all
        answered "same", would each join two clusters. The other pairs wait for the next round.
        """
        waiting, asked = list(proposals), 0
        while waiting:
            room = len(waiting) if limit is None else limit - asked
            if room <= 0:
                for pair in waiting:
                    self._settle_without_model(pair, f"limit_comparisons {limit} was reached")
                return
            chosen, waiting = self._round(waiting, room)
            done, total = asked, asked + len(chosen) + len(waiting)

            def report(now: int, _: int, done: int = done, total: int = total) -> None:
                progress(done + now, total)

            answers = await attempt_all(chosen, compare, report)
            asked += len(chosen)
            for pair, answer in zip(chosen, answers, strict=True):
                self._apply_answer(pair, answer)

    def _round(self, pairs: Sequence[Proposal], room: int) -> tuple[list[Proposal], list[Proposal]]:
        trial = self.clusters.copy()
        chosen: list[Proposal] = []
        later: list[Proposal] = []
        for pair in pairs:
            if self.clusters.relation(pair.left, pair.right) != "open":
                self._settle_without_model(pair)
            elif len(chosen) < room and trial.join(pair.left, pair.right):
                chosen.append(pair)
            else:
                later.append(pair)
        return chosen, later

    def _settle_without_model(self, pair: Proposal, reason: str = "") -> None:
        match self.clusters.relation(pair.left, pair.right):
            case "joined":
                self.record(pair.left, pair.right, "same", "transitivity")
            case "forbidden":
                self.record(pair.left, pair.right, "different", "constraint", "each is joined to names kept apart")
            case _:
                self.record(pair.left, pair.right, "undecided", "limit", reason)

    def _apply_answer(self, pair: Proposal, answer: bool | Failure) -> None:
        if isinstance(answer, Failure):
            self.record(pair.left, pair.right, "undecided", "error", answer.error)
        elif answer:
            self.join(pair.left, pair.right, "model", pair.reason)
        else:
            self.record(pair.left, pair.right, "different", "model", pair.reason)

    def _named(self, text: str) -> list[int]:
        wanted = " ".join(text.casefold().split())
        return [i for i, m in enumerate(self.mentions) if " ".join(m.text.casefold().split()) == wanted]
