"""Decide which mentions are the same: by the user, by rules, then by the model with the transitivity shortcut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field

from engine.operators.accounting import Failure, label
from engine.operators.average_linkage import average_linkage
from engine.operators.base import Decision
from engine.operators.blocking import PairAsking
from engine.operators.mentions import Mention
from engine.operators.name_rules import RuleVerdict
from engine.operators.pairs import Proposal
from engine.operators.union_find import UnionFind
from engine.text.blocks import collapse
from models.matrices import Matrix
from models.protocol import canonical_json
from storage.folding import folded

FEWEST_ASKED = 10
"""Of fewer pairs nothing is concluded from what the model said."""

SAME_SHARE = 0.9
"""A model that calls such a part of the pairs the same hardly tells them apart."""

OVERRULED_SHARE = 1 / 3
"""Of the answers about pairs of one cluster, such a part that says "different" makes the cluster doubtful."""

LONGEST_NAME = 200
"""Characters of a value by which the ledger names it."""


@dataclass
class Comparison:
    """The clusters so far, and every verdict that led to them; `reason` tells of a pair that the model answered."""

    subject: str
    mentions: Sequence[Mention]
    reason: Callable[[Proposal], str] = lambda pair: pair.reason
    clusters: UnionFind = field(init=False)
    decisions: list[Decision] = field(default_factory=list)
    answers: dict[tuple[int, int], bool] = field(default_factory=dict)
    """What the model said of pairs, overruled or not."""
    warnings: list[str] = field(default_factory=list)

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
        names = _named_briefly(self.mentions[left]), _named_briefly(self.mentions[right])
        self.decisions.append(Decision(self.subject, *names, verdict, by, detail))

    def apply_user(self, same: Iterable[Sequence[str]], apart: Iterable[Sequence[str]]) -> None:
        """Follow the user's pairs of values; one that occurs nowhere is recorded as undecided."""
        named: dict[str, list[int]] = {}
        for i, mention in enumerate(self.mentions):
            named.setdefault(collapse(folded(mention.text)), []).append(i)
        for pairs, act in ((apart, self.keep_apart), (same, self.join)):
            for left_text, right_text in pairs:
                left, right = (named.get(collapse(folded(text)), []) for text in (left_text, right_text))
                if not left or not right:
                    detail = f"{right_text if left else left_text!r} does not occur"
                    self.decisions.append(Decision(self.subject, left_text, right_text, "undecided", "user", detail))
                for i in left:
                    for j in right:
                        act(min(i, j), max(i, j), "user")

    def join_equal(self) -> None:
        """Join mentions whose values differ in nothing but case, white space and how an accent is stored."""
        first: dict[str, int] = {}
        for i, mention in enumerate(self.mentions):
            text = collapse(folded(canonical_json(list(mention.values))))
            if (j := first.setdefault(text, i)) != i:
                self.join(j, i, "identical")

    def apply_rules(self, same: Iterable[RuleVerdict], different: Iterable[RuleVerdict]) -> None:
        """Follow code rules; what they keep apart comes first, so that no join can bring it together."""
        for verdict in different:
            if self.clusters.relation(verdict.left, verdict.right) != "joined":
                self.keep_apart(verdict.left, verdict.right, verdict.by, verdict.detail)
        for verdict in same:
            self.join(verdict.left, verdict.right, verdict.by, verdict.detail)

    def join_similar(self, vectors: Matrix, threshold: float) -> str:
        """Join mentions, given by unit vectors, whose clusters are on average so alike (average linkage).

        Returns what is doubtful about it, "" where nothing is: more than half of many mentions became one.
        """
        for joined in list(average_linkage(vectors, self.clusters, threshold)):
            self.join(joined.left, joined.right, "similarity", f"similarity {joined.cosine:.2f} on average")
        count, largest = len(self.mentions), max(map(len, self.clusters.clusters()), default=0)
        if count < FEWEST_ASKED or 2 * largest <= count:
            return ""
        return f"{largest} of {count} different values were joined into one, for they are on average so similar"

    def settle_without_model(self, pair: Proposal, reason: str = "", *, by: str = "limit") -> None:
        """Record a pair that need not, or may not, be asked about: `by` says who leaves an open one undecided."""
        match self.clusters.relation(pair.left, pair.right):
            case "joined":
                self.record(pair.left, pair.right, "same", "transitivity")
            case "forbidden":
                self.record(pair.left, pair.right, "different", "constraint", "each is joined to names kept apart")
            case _:
                self.record(pair.left, pair.right, "undecided", by, reason)

    def apply_answer(self, pair: Proposal, answer: bool | Failure) -> None:
        """Follow what the model said about a pair."""
        if isinstance(answer, Failure):
            self.record(pair.left, pair.right, "undecided", "error", answer.error)
            return
        self.answers[pair.left, pair.right] = answer
        if answer:
            self.join(pair.left, pair.right, "model", self.reason(pair))
        else:
            self.record(pair.left, pair.right, "different", "model", self.reason(pair))

    def doubt(self) -> str:
        """Say why the largest cluster is doubtful; an empty text where it is not.

        Either the model called nearly every pair the same, and so joined most mentions; or a chain of its answers
        joined mentions of which it called many others different, and those answers were overruled.
        """
        largest = set(max(self.clusters.clusters(), key=len, default=()))
        joined = f"{len(largest)} of {len(self.mentions)} different values were joined into one"
        same = sum(self.answers.values())
        asked = len(self.answers)
        if asked >= FEWEST_ASKED and same >= SAME_SHARE * asked and 2 * len(largest) > len(self.mentions):
            return f"{joined}, because the model called {same} of {asked} pairs the same"
        inside = [said for pair, said in self.answers.items() if largest.issuperset(pair)]
        different = inside.count(False)
        if len(inside) >= FEWEST_ASKED and different >= OVERRULED_SHARE * len(inside):
            return f"{joined}, though of {len(inside)} pairs of them the model called {different} different"
        return ""


def _named_briefly(mention: Mention) -> str:
    """Name a value in the ledger, which would else hold a long text once for every pair it is in."""
    if len(mention.text) <= LONGEST_NAME:
        return mention.text
    return f"{mention.text[:LONGEST_NAME]}… ({label(mention.row)})"


@dataclass(kw_only=True)
class ModelRounds(PairAsking):
    """Ask the model about proposed pairs, best first, in rounds."""

    comparison: Comparison

    async def run(self, proposals: Sequence[Proposal]) -> None:
        """Ask until no pair is open: contested mentions first, then in rounds with the transitivity shortcut.

        Each round asks at once only about pairs whose answers cannot make each other superfluous: those that, were all
        answered "same", would each join two clusters. The other pairs wait for the next round.
        """
        proposals = self._one_per_cluster_pair(proposals)
        contested = self._contested(proposals)
        waiting = [p for p in proposals if not {p.left, p.right} & contested]
        await self._ask_contested([p for p in proposals if {p.left, p.right} & contested], contested, len(waiting))
        while waiting:
            chosen, waiting = self._round(waiting)
            if not chosen and waiting:
                self._stop(waiting)
                return
            for pair, answer in zip(chosen, await self.ask(chosen, len(waiting)), strict=True):
                self.comparison.apply_answer(pair, answer)

    def _one_per_cluster_pair(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Keep the best pair of any two clusters: what the user or a rule has joined is asked about as one."""
        find = self.comparison.clusters.find
        best: dict[frozenset[int], Proposal] = {}
        for pair in proposals:
            best.setdefault(frozenset((find(pair.left), find(pair.right))), pair)
        return list(best.values())

    def _contested(self, proposals: Sequence[Proposal]) -> set[int]:
        """Find mentions that may be either of two which are kept apart (`Harmon`: Daniel's or Michael's?)."""
        partners: dict[int, list[int]] = {}
        for pair in proposals:
            partners.setdefault(pair.left, []).append(pair.right)
            partners.setdefault(pair.right, []).append(pair.left)
        return {mention for mention, others in partners.items() if self.comparison.clusters.any_apart(others)}

    async def _ask_contested(self, pairs: Sequence[Proposal], contested: Set[int], waiting: int) -> None:
        """Ask about all partners of a contested mention; "same" to two that are kept apart joins it to neither.

        Joining at the first "same" would make the order of questions decide whose deeds are whose.
        """
        limit = self.node.limit_comparisons
        room = len(pairs) if limit is None else min(len(pairs), limit - self.asked)
        answers = list(zip(pairs, await self.ask(pairs[:room], len(pairs) - room + waiting), strict=False))
        claims: dict[int, list[int]] = {}
        for pair, answer in answers:
            if answer is True:
                claims.setdefault(pair.left, []).append(pair.right)
                claims.setdefault(pair.right, []).append(pair.left)
        torn = {mention for mention in contested if self.comparison.clusters.any_apart(claims.get(mention, []))}
        for pair, answer in answers:
            if answer is True and {pair.left, pair.right} & torn:
                detail = "the model says same of several that are kept apart"
                self.comparison.record(pair.left, pair.right, "undecided", "constraint", detail)
            else:
                self.comparison.apply_answer(pair, answer)
        self._stop(pairs[room:])

    def _round(self, pairs: Sequence[Proposal]) -> tuple[list[Proposal], list[Proposal]]:
        room = self.room(len(pairs))
        trial = self.comparison.clusters.copy()
        chosen: list[Proposal] = []
        later: list[Proposal] = []
        for pair in pairs:
            if self.comparison.clusters.relation(pair.left, pair.right) != "open":
                self._settle(pair)
            elif len(chosen) < room and trial.join(pair.left, pair.right):
                chosen.append(pair)
            else:
                later.append(pair)
        return chosen, later

    def _settle(self, pair: Proposal) -> None:
        self.comparison.settle_without_model(pair)
        said = self.known.get((pair.left, pair.right))
        if said is False and self.comparison.clusters.relation(pair.left, pair.right) == "joined":
            detail = f"{self.comparison.reason(pair)}; overruled, for both are the same as others"
            self.comparison.answers[pair.left, pair.right] = False
            self.comparison.record(pair.left, pair.right, "different", "model", detail)

    def _stop(self, pairs: Sequence[Proposal]) -> None:
        for pair in pairs:
            self.comparison.settle_without_model(pair, f"limit_comparisons {self.node.limit_comparisons} was reached")
