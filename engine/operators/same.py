"""Ask a model whether the two of a pair are the same, and tell the ledger what became of the pair."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from engine.language.layout import lay_out, shows_document
from engine.language.schema import Schema
from engine.language.templates import Template
from engine.operators.accounting import Failure, attempt
from engine.operators.anchors import Anchors, find_border
from engine.operators.asking import Question, ask_reply, texts_of
from engine.operators.base import Decision, Tools
from engine.operators.bias import Bias, Verdict, log_odds_of
from engine.operators.blocking import ComparingNode
from engine.operators.content_free import Values
from engine.operators.deciding import fit_to_reviewed, read_all, told_bias
from engine.operators.matching import Verdict as PairVerdict
from engine.operators.pairs import Order, Proposal, by_left, by_right
from models.protocol import Reply

VERDICT = Schema.parse({"same": "boolean"})


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
        said, log_odds = await self._ask(self.node, question)
        if log_odds is None:
            return said
        bias = await self._found_bias()
        verdict = Verdict.of(log_odds, bias)
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

    async def _ask(self, node: ComparingNode, question: Question) -> tuple[bool, float | None]:
        """Return the answer and its log-odds; None where a model that may leave it open does not say."""
        reply = await self._reply(node, question)
        is_known = bool(reply.alternatives or reply.probabilities) or node.correct_lean == "reviewed"
        return bool(reply.value["same"]), log_odds_of(reply, "same") if is_known else None

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


def asking_order(
    node: ComparingNode, prompt: Template, lefts: Iterable[Mapping[str, Any]], rights: Iterable[Mapping[str, Any]]
) -> Order:
    """Order pairs so that prompts which begin with the same side follow each other: what they share is read once.

    `lefts` and `rights` are the values of the prompt's variables, for each item of either side. The right side leads
    where the prompt shows it first, or where it alone has documents that are put first.
    """
    lefts, rights = list(lefts), list(rights)
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


def told(subject: str, left: str, right: str, reason: str, verdict: PairVerdict) -> Decision:
    """Write a verdict for the ledger; `reason` is why the pair was proposed."""
    match verdict:
        case Failure():
            return Decision(subject, left, right, "undecided", "error", verdict.error)
        case str():
            return Decision(subject, left, right, "undecided", "limit", verdict)
    return Decision(subject, left, right, "same" if verdict else "different", "model", reason)
