"""Compare what two plans made of one sample row, in both orders, so that a judge's lean to a position cancels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from engine.directives.proposals import an_object, one_of
from engine.optimizer.agent import Agent, AgentQuestion, agent_prompt
from engine.optimizer.judging import Criteria
from engine.optimizer.outputs import OutputRow, PlanOutput
from engine.optimizer.packing import shown
from engine.optimizer.validation.documents import ANSWER_TOKENS, RECORD_TOKENS, Judged, answer_text, judged
from engine.rows import RowId
from models.protocol import Reply, canonical_json

FIRST, SECOND, EQUAL = "A", "B", "equal"
REPLY_TOKENS = 30


async def compare_row(  # noqa: PLR0913 - two outputs, the row, and how it is judged
    agent: Agent,
    left: PlanOutput,
    right: PlanOutput,
    source: RowId,
    criteria: Criteria,
    record_tokens: int = RECORD_TOKENS,
) -> float:
    """Return the share of the win that goes to the left on one sample row, 0 to 1; 0.5 without asking where they agree.

    At most so many tokens of the row are shown. Raises models.errors.ModelError, ItemError as Agent.ask.
    """
    common, only_left, only_right = _sides(_told(left, source), _told(right, source))
    if only_left == only_right:
        return 0.5
    row = judged(agent, left, source, REPLY_TOKENS, record_tokens)
    texts = [answer_text(agent, side, ANSWER_TOKENS // 2) for side in (common, only_left, only_right)]
    shares = []
    for first, second, is_swapped in ((texts[1], texts[2], False), (texts[2], texts[1], True)):
        share = await _share_of_first(agent, row, criteria, (texts[0], first, second))
        shares.append(1 - share if is_swapped else share)
    return sum(shares) / 2


async def _share_of_first(agent: Agent, row: Judged, criteria: Criteria, texts: tuple[str, str, str]) -> float:
    common, first, second = texts
    told = agent_prompt("compare", task=criteria.task, tests=criteria.tests, common=common, first=first, second=second)
    reply = await agent.ask(
        AgentQuestion(
            head=row.head,
            told=told,
            schema=an_object(better=one_of((FIRST, SECOND, EQUAL))),
            task="comparison",
            row_id=row.source,
            most_tokens=REPLY_TOKENS,
            probabilities=True,
        )
    )
    return _share(reply)


def _share(reply: Reply) -> float:
    """Return the share of the first answer by the odds of each verdict; a tie is half a win for both."""
    odds = reply.alternatives.get("/better") or {reply.value["better"]: 1.0}
    return odds.get(FIRST, 0.0) + odds.get(EQUAL, 0.0) / 2


def _told(output: PlanOutput, source: RowId) -> list[dict[str, Any]]:
    """Return what a plan says of a sample row, as rows."""
    if source in output.rejected:
        return [{"turned down": output.rejected[source]}]
    return [_plain(row) for row in output.rows_of(source)] or []


def _plain(row: OutputRow) -> dict[str, Any]:
    return dict(row.values) if row.cells else {"kept": True}


def _sides(
    left: Sequence[Mapping[str, Any]], right: Sequence[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Tell apart what both say and what only one says: whole rows, or where both have one row, its fields and items."""
    if len(left) == 1 and len(right) == 1:
        return _fields_apart(left[0], right[0])
    mine, theirs = Counter(map(_key, left)), Counter(map(_key, right))
    common = [row for row in left if _key(row) in theirs]
    return common, [r for r in left if _key(r) not in theirs], [r for r in right if _key(r) not in mine]


def _fields_apart(
    left: Mapping[str, Any], right: Mapping[str, Any]
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    common: dict[str, Any] = {}
    only: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for name in dict.fromkeys([*left, *right]):
        mine, theirs = left.get(name), right.get(name)
        if shown(mine) == shown(theirs):
            common[name] = mine
        elif isinstance(mine, list | tuple) and isinstance(theirs, list | tuple):
            there, here = {_key(item) for item in theirs}, {_key(item) for item in mine}
            if both := [item for item in mine if _key(item) in there]:
                common[name] = both
            only[0][name] = [item for item in mine if _key(item) not in there]
            only[1][name] = [item for item in theirs if _key(item) not in here]
        else:
            only[0][name], only[1][name] = mine, theirs
    return [common] if common else [], [only[0]] if only[0] else [], [only[1]] if only[1] else []


def _key(value: Any) -> str:
    return canonical_json(value)
