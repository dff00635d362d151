"""The validation agent (a Judge): writes criteria, rates outputs, compares two (paper section 4.2.2, algorithm 3).

What it says is joined with signals that need no judge, and outranked by gold: docs/decisions/0020.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.operators.accounting import Failure as NoAnswer
from engine.operators.accounting import attempt_all
from engine.optimizer.agent import Agent, AgentModel, agent_prompt
from engine.optimizer.gold import Gold, GoldScore
from engine.optimizer.judging import Aim, Comparison, Criteria, Failure, Rating
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.signals import COMPLETED, completed, joined_signals, lost_inputs, signals
from engine.optimizer.validation.comparing import compare_row
from engine.optimizer.validation.criteria import written_criteria
from engine.optimizer.validation.documents import RECORD_TOKENS
from engine.optimizer.validation.rating import Verdict, rate_row
from engine.plan.plan import Plan
from engine.rows import RowId

JUDGE_WEIGHT = 0.5
"""Of the judge, where there are signals too; they have the rest."""

SATISFIED = 3.7
"""Score from 1 to 4 from which on nothing is worth improving, where no row was lost."""

SATISFIED_GOLD = 0.95
"""The same of the F1 against gold."""

SPREAD = 0.25
"""A difference of the joined signals, 0 to 1, that decides a comparison as far as signals can."""

TIE = 0.02
"""A share of the win so near to a half is a tie."""

GOLD_TIE = 0.005
"""Two plans whose F1 against gold differs by no more are equal."""

Progress = Callable[[int, int], None]


def _tell_nobody(done: int, total: int) -> None:
    """Keep silent."""


@dataclass(frozen=True)
class ValidationAgent:
    """Judges the outputs of plans by a model, by signals, and by gold where enough is known.

    At most `record_tokens` of a sample row are shown to the model; `progress` is told of rows.
    """

    model: AgentModel
    gold: Gold = field(default_factory=lambda: Gold({}))
    seed: int = 0
    progress: Progress = _tell_nobody
    record_tokens: int = RECORD_TOKENS

    async def criteria(self, plan: Plan, operators: Sequence[str], sample: PlanOutput | None) -> Criteria:
        """Write tests for what the named operators of a plan do, shown one sample row and its output."""
        return await written_criteria(self._agent, plan, operators, sample)

    async def rate(self, output: PlanOutput, criteria: Criteria) -> Rating:
        """Rate an output: against gold where enough is known, else row by row by the judge and the signals.

        A row that the judge gives no whole answer about has its signals alone. Raises models.errors.ModelError only for
        what is wrong with the machine.
        """
        if (score := self.gold.score(output)) is not None:
            return _gold_rating(score, output)
        lost = lost_inputs(output)
        judged = [id for id in output.inputs if id not in lost]

        async def rate(id: RowId) -> Verdict:
            return await rate_row(self._agent, output, id, criteria, self.record_tokens)

        answers = await attempt_all(judged, rate, self.progress)
        verdicts = {id: a for id, a in zip(judged, answers, strict=True) if not isinstance(a, NoAnswer)}
        return _rating(output, judged, verdicts, lost)

    async def compare(self, left: PlanOutput, right: PlanOutput, criteria: Criteria) -> Comparison:
        """Compare two outputs on the sample rows that both have: by gold, else by the judge, both ways, and signals."""
        gold_left, gold_right = self.gold.score(left), self.gold.score(right)
        if gold_left is not None and gold_right is not None:
            return _gold_comparison(gold_left, gold_right)
        common = [id for id in left.inputs if id in right.inputs]
        lost_left, lost_right = set(lost_inputs(left)), set(lost_inputs(right))
        settled = {id: (1.0 if id in lost_right else 0.0) for id in common if (id in lost_left) != (id in lost_right)}
        settled |= {id: 0.5 for id in common if id in lost_left and id in lost_right}
        open_rows = [id for id in common if id not in settled]

        async def compare(id: RowId) -> float:
            return await compare_row(self._agent, left, right, id, criteria, self.record_tokens)

        answers = await attempt_all(open_rows, compare, self.progress)
        told = {id: a for id, a in zip(open_rows, answers, strict=True) if not isinstance(a, NoAnswer)}
        shares = [settled[id] if id in settled else _joined_share(left, right, id, told.get(id)) for id in common]
        return _comparison(shares, settled, told)

    @property
    def _agent(self) -> Agent:
        return Agent(self.model, "validation agent", self.seed)


def _rating(
    output: PlanOutput, judged: Sequence[RowId], verdicts: Mapping[RowId, Verdict], lost: Sequence[RowId]
) -> Rating:
    qualities = [quality for id in judged if (quality := _quality(output, id, verdicts.get(id))) is not None]
    share = completed(output)
    goodness = share * sum(qualities) / len(qualities) if qualities else 0.0
    score = 1 + 3 * goodness
    failures = [failure for verdict in verdicts.values() for failure in verdict.failures]
    text = agent_prompt("failure_lost")
    failures += [Failure(source=id, aim=Aim.RECALL, quote="", text=text) for id in lost]
    grounds: list[tuple[str, float]] = []
    if verdicts:
        grounds.append(("judge", sum(verdict.goodness for verdict in verdicts.values()) / len(verdicts)))
    if len(verdicts) < len(judged):
        grounds.append(("rows the judge could rate", len(verdicts) / len(judged)))
    grounds += signals(output.rows).items()
    grounds.append((COMPLETED, share))
    return Rating(
        score=score,
        failures=tuple(failures),
        satisfied=score >= SATISFIED and share == 1.0,
        grounds=tuple(grounds),
    )


def _quality(output: PlanOutput, source: RowId, verdict: Verdict | None) -> float | None:
    """Join judge and signals of one sample row, 0 to 1; None where there are neither."""
    grounded = joined_signals(signals(output.rows_of(source)))
    if verdict is None or grounded is None:
        return verdict.goodness if verdict else grounded
    return JUDGE_WEIGHT * verdict.goodness + (1 - JUDGE_WEIGHT) * grounded


def _joined_share(left: PlanOutput, right: PlanOutput, source: RowId, judged: float | None) -> float:
    """Join the judge's share of the win on one sample row with that of the signals."""
    mine, theirs = (joined_signals(signals(side.rows_of(source))) for side in (left, right))
    grounded = None
    if mine is not None and theirs is not None:
        grounded = min(1.0, max(0.0, 0.5 + (mine - theirs) / (2 * SPREAD)))
    if judged is None or grounded is None:
        return judged if judged is not None else grounded if grounded is not None else 0.5
    return JUDGE_WEIGHT * judged + (1 - JUDGE_WEIGHT) * grounded


def _comparison(shares: Sequence[float], settled: Mapping[RowId, float], told: Mapping[RowId, float]) -> Comparison:
    if not shares:
        return Comparison(left=0.5, reason="the two have no sample row in common")
    share = sum(shares) / len(shares)
    judge = f"the judge gives {sum(told.values()) / len(told):.0%} to the first" if told else "the judge said nothing"
    lost = f"; {len(settled)} rows were lost by one or both" if settled else ""
    reason = f"{len(shares)} rows, in both orders: {judge}; with the signals {share:.0%}{lost}"
    return Comparison(left=0.5 if abs(share - 0.5) < TIE else share, reason=reason)


def _gold_rating(score: GoldScore, output: PlanOutput) -> Rating:
    grounds = ((f"gold of {score.rows} rows", score.f1), ("precision", score.precision), ("recall", score.recall))
    return Rating(
        score=1 + 3 * score.f1,
        failures=(),
        satisfied=score.f1 >= SATISFIED_GOLD and completed(output) == 1.0,
        grounds=grounds,
    )


def _gold_comparison(left: GoldScore, right: GoldScore) -> Comparison:
    difference = left.f1 - right.f1
    share = 0.5 if abs(difference) <= GOLD_TIE else float(difference > 0)
    reason = f"gold of {min(left.rows, right.rows)} rows: F1 {left.f1:.2f} and {right.f1:.2f}"
    return Comparison(left=share, reason=reason)
