"""Rate what a plan made of one sample row: quote what is wrong, check the tests, and only then give a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.directives.proposals import a_flag, a_list, an_object, one_of
from engine.evidence.normalise import fold, plain
from engine.optimizer.agent import Agent, AgentQuestion, agent_prompt
from engine.optimizer.judging import Aim, Criteria, Failure
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.validation.documents import RECORD_TOKENS, Judged, answer_text, judged, spoken_values
from engine.rows import RowId
from models.protocol import Reply

SCORES = ("1", "2", "3", "4")
"""From 1 (very bad) to 4 (no identified improvements), as in algorithm 3 of the paper."""

MOST_QUOTES = 3
"""Of each kind. A small model that may go on copying does."""

MOST_TESTS = 6
REPLY_TOKENS = 600


@dataclass(frozen=True)
class Verdict:
    """What a judge said of one sample row: `goodness` 0 to 1, and what it named."""

    goodness: float
    failures: tuple[Failure, ...]


async def rate_row(
    agent: Agent, output: PlanOutput, source: RowId, criteria: Criteria, record_tokens: int = RECORD_TOKENS
) -> Verdict:
    """Ask the judge about one sample row, of which at most `record_tokens` are shown.

    Raises models.errors.ModelError, ItemError as Agent.ask.
    """
    row = judged(agent, output, source, REPLY_TOKENS, record_tokens)
    rows = output.rows_of(source)
    said = spoken_values(rows)
    tests = {f"test_{number}": test for number, test in enumerate(criteria.tests[:MOST_TESTS], 1)}
    told = agent_prompt(
        "rate",
        task=criteria.task,
        rejected=output.rejected.get(source, ""),
        answer=answer_text(agent, [one.values for one in rows]),
        may_miss=bool(row.sentences),
        may_invent=bool(said),
        tests=[(name, test.text) for name, test in tests.items()],
    )
    asked = AgentQuestion(
        head=row.head,
        told=told,
        schema=_schema(row, said, list(tests)),
        task="rating",
        row_id=source,
        most_tokens=REPLY_TOKENS,
        probabilities=True,
    )
    reply = await agent.ask(asked)
    failed = [test for name, test in tests.items() if not reply.value["tests"][name]]
    failures = [
        *_missing(source, reply.value, said),
        *_invented(source, reply.value, said),
        *(Failure(source=source, aim=test.aim, quote="", text=test.text) for test in failed),
    ]
    return Verdict(_goodness(reply, list(tests)), tuple(failures))


def _schema(row: Judged, said: Mapping[str, float | None], tests: list[str]) -> dict[str, Any]:
    """Hold the judge to quotes: of the record for what is missing, of the answer for what is invented."""
    quotes: dict[str, Any] = {}
    if row.sentences:
        quotes["missing"] = a_list(one_of(row.sentences), 0, MOST_QUOTES)
    if said:
        quotes["invented"] = a_list(one_of(said), 0, MOST_QUOTES)
    return an_object(**quotes, tests=an_object(**{name: a_flag() for name in tests}), score=one_of(SCORES))


def _missing(source: RowId, value: Mapping[str, Any], said: Mapping[str, float | None]) -> list[Failure]:
    """Take the sentences that the judge misses, but for those that hold a value of the answer already."""
    values = [_folded(text) for text in said if len(text) > 3]
    text = agent_prompt("failure_missing")
    return [
        Failure(source=source, aim=Aim.RECALL, quote=quote, text=text)
        for quote in dict.fromkeys(value.get("missing", ()))
        if not any(one in _folded(quote) for one in values)
    ]


def _invented(source: RowId, value: Mapping[str, Any], said: Mapping[str, float | None]) -> list[Failure]:
    """Take the values that the judge calls invented, but for those that code found in the record."""
    text = agent_prompt("failure_invented")
    return [
        Failure(source=source, aim=Aim.PRECISION, quote=quote, text=text)
        for quote in dict.fromkeys(value.get("invented", ()))
        if said.get(quote) != 1.0
    ]


def _goodness(reply: Reply, tests: list[str]) -> float:
    """Return how good the judge finds an answer, 0 to 1: half by its score, half by the tests, each by its odds.

    The expected score says more than the likeliest one: a small model says 3 of nearly everything.
    """
    odds = reply.alternatives.get("/score") or {reply.value["score"]: 1.0}
    expected = sum(SCORES.index(score) * share for score, share in odds.items()) / (len(SCORES) - 1)
    passed = [_passed(reply, name) for name in tests]
    return (expected + sum(passed) / len(passed)) / 2 if passed else expected


def _passed(reply: Reply, name: str) -> float:
    odds = reply.alternatives.get(f"/tests/{name}")
    return odds["true"] if odds else float(reply.value["tests"][name])


def _folded(text: str) -> str:
    return fold(plain(text))
