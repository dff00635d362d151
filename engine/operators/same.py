"""Ask a model whether the two of a pair are the same, and which of two sides match; tell the ledger of each pair."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.language.layout import lay_out, shows_document
from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.accounting import Failure, attempt
from engine.operators.anchors import Anchors, find_anchors, find_border
from engine.operators.asking import Question, ask_reply, texts_of
from engine.operators.base import Decision, Tools
from engine.operators.bias import Bias, Verdict, log_odds_of
from engine.operators.blocking import Answer, Candidates, ComparingNode, PairAsking, Side, block
from engine.operators.content_free import Values
from engine.operators.deciding import fit_to_reviewed, read_all, told_bias
from engine.operators.pairs import Order, Proposal, by_left, by_right
from models.protocol import Reply

VERDICT = Schema.parse({"same": "boolean"})

NOT_ASKED_LIMIT = "limit_comparisons was reached"
NOT_ASKED_FULL = "one of them has its most similar matches already"

PairVerdict = Answer | str
"""What became of a pair: the model's answer, or why it was not asked."""

Verdicts = list[tuple[Proposal, PairVerdict]]


@dataclass(frozen=True, slots=True)
class Pair:
    """What a pair's question is filled in with, and the row it is about."""

    row_id: str
    values: Values


@dataclass
class Comparer:
    """Ask a prompt about pairs: `pair_of` says what it is filled in with for a proposal.

    `anchors` gives pairs whose answer is known: by them the border is found, once a first answer says how sure it is.
    """

    node: ComparingNode
    prompt: Template
    pair_of: Callable[[Proposal], Pair]
    anchors: Callable[[], Anchors]
    tools: Tools
    _verdicts: dict[tuple[int, int], Verdict] = field(default_factory=dict)
    _changed: int = 0
    _bias: Bias | Failure | None = None
    _finding: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __call__(self, proposal: Proposal) -> bool:
        """Say whether a pair is the same; raises what asking raises."""
        pair = self.pair_of(proposal)
        question = same_question(self.node, self.prompt, pair.row_id, pair.values)
        if not self.node.reads_probabilities:
            return bool((await ask_reply(self.node, question, self.tools)).value["same"])
        reply = await self._reply(self.node, question)
        said = bool(reply.value["same"])
        if not (reply.alternatives or reply.probabilities or self.node.correct_lean == "reviewed"):
            return said  # the model does not say how sure it is, and may leave it open
        log_odds = log_odds_of(reply, "same")
        verdict = Verdict.of(log_odds, await self._found_bias())
        self._verdicts[proposal.left, proposal.right] = verdict
        if not self.node.corrects_lean:
            return said
        self._changed += verdict.yes != said
        return verdict.yes

    def probability(self, proposal: Proposal) -> float | None:
        """Return how likely it is that a pair is the same; None where that was not asked."""
        verdict = self._verdicts.get((proposal.left, proposal.right))
        return verdict.probability if verdict else None

    def reason(self, proposal: Proposal) -> str:
        """Say for the ledger why a pair was proposed, and how sure the model was where that decides."""
        verdict = self._verdicts.get((proposal.left, proposal.right))
        if verdict is None or not self.node.corrects_lean:
            return proposal.reason
        return f"{proposal.reason}; {verdict.detail}" if proposal.reason else verdict.detail

    @property
    def decisions(self) -> list[Decision]:
        """Tell of the correction, if any pair was decided by it."""
        if not isinstance(self._bias, Bias) or not self._verdicts or not self.node.corrects_lean:
            return []
        return [told_bias(self.node, self._bias, self._changed, len(self._verdicts))]

    async def _found_bias(self) -> Bias:
        """Find the bias, once; raises ItemError where it cannot be found, for every pair."""
        async with self._finding:
            if self._bias is None:
                self._bias = await attempt(self._find, self.node)
        if isinstance(self._bias, Failure):
            raise self._bias.as_error()
        return self._bias

    async def _find(self, node: ComparingNode) -> Bias:
        if not node.corrects_lean:
            return Bias()
        asking = replace(node, validate=(), gleaning=None)

        async def read(values: Values, task: str) -> float:
            question = replace(same_question(node, self.prompt, "", values), task=task)
            return log_odds_of(await self._reply(asking, question), "same")

        anchors = self.anchors()
        if node.correct_lean == "anchors":
            return await find_border(anchors, read)
        about = [*anchors.same, *anchors.different]
        known = await read_all(about, read, "pair whose answer is known")
        return await fit_to_reviewed(node, known, read)

    async def _reply(self, node: ComparingNode, question: Question) -> Reply:
        return await ask_reply(node, replace(question, probabilities=True), self.tools)


def same_question(node: ComparingNode, prompt: Template, row_id: str, values: Mapping[str, Any]) -> Question:
    """Put a prompt about two values; `values` are what it is filled in with."""
    return Question(
        prompt=lay_out(prompt, node.layout, **values),
        json_schema=VERDICT.json_schema(lambda _: ()),
        form=VERDICT.describe(),
        bare="same",
        texts=[
            text
            for variable, side in values.items()
            if isinstance(side, Mapping)
            for text in texts_of(side, prompt, variable=variable)
        ],
        task="compare",
        model=node.if_other(node.comparison_model),
        row_id=row_id,
        values=values,
        template=prompt,
    )


def asking_order(node: ComparingNode, prompt: Template, lefts: Sequence[Values], rights: Sequence[Values]) -> Order:
    """Order pairs so that prompts which begin with the same side follow each other: what they share is read once.

    `lefts` and `rights` are the values of the prompt's variables, for each item of either side. The right side leads
    where the prompt shows it first, or where it alone has documents that are put first.
    """
    if not (lefts and rights):
        return by_left
    if node.layout == "document_first":
        left_leads, right_leads = (any(shows_document(prompt, item) for item in side) for side in (lefts, rights))
        if left_leads and right_leads:
            left_leads, right_leads = min(lefts[0]) < min(rights[0]), min(rights[0]) < min(lefts[0])
        if left_leads or right_leads:
            return by_right if right_leads else by_left
    first = next((path[0] for path in prompt.shows if path[0] in lefts[0] or path[0] in rights[0]), "")
    return by_right if first in rights[0] else by_left


def _told(subject: str, left: str, right: str, reason: str, verdict: PairVerdict) -> Decision:
    """Write a verdict for the ledger; `reason` is why the pair was proposed."""
    match verdict:
        case Failure():
            return Decision(subject, left, right, "undecided", "error", verdict.error)
        case str():
            return Decision(subject, left, right, "undecided", "limit", verdict)
    return Decision(subject, left, right, "same" if verdict else "different", "model", reason)


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
        self._verdicts: Verdicts = []

    async def run(self, proposals: Sequence[Proposal]) -> Verdicts:
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


@dataclass(frozen=True)
class AskedSide(Side):
    """A side that a prompt shows: `shown` is what its variables are filled in with for each item.

    `names` are what the ledger calls the items, `row_ids` the rows that questions are about (of one of the sides). Each
    item has at most `most` matches; None: any number.
    """

    shown: Sequence[Values]
    names: Sequence[str]
    row_ids: Sequence[str] = ()
    most: int | None = None


async def match_sides(
    node: ComparingNode,
    prompt: Template,
    subject: str,
    left: AskedSide,
    right: AskedSide,
    same: Callable[[], Sequence[Values]],
    tools: Tools,
) -> tuple[Comparer, Verdicts, list[Decision]]:
    """Ask which pairs of two sides match: what was said of each that was proposed, and what the ledger is told.

    `same` gives what the prompt is filled in with for pairs that are the same for certain. Raises PipelineError as
    `block` does.
    """

    def fill(i: int, j: int) -> Values:
        return {**left.shown[i], **right.shown[j]}

    def pair_of(proposal: Proposal) -> Pair:
        row_id = left.row_ids[proposal.left] if left.row_ids else right.row_ids[proposal.right]
        return Pair(row_id, fill(proposal.left, proposal.right))

    comparer = Comparer(node, prompt, pair_of, lambda: find_anchors(same(), left.texts, right.texts, fill), tools)
    order = asking_order(node, prompt, left.shown, right.shown)
    candidates = Candidates()
    if left.texts and right.texts:
        candidates = await block(node, subject, left, right, comparer, tools, order)
    matching = Matching(
        node=node,
        compare=comparer,
        progress=tools.progress,
        known=candidates.known,
        order=order,
        most_left=left.most,
        most_right=right.most,
    )
    verdicts = await matching.run(candidates.proposals)
    decisions = [
        _told(subject, left.names[pair.left], right.names[pair.right], comparer.reason(pair), verdict)
        for pair, verdict in verdicts
    ]
    return comparer, verdicts, [*candidates.decisions, *decisions, *comparer.decisions]
