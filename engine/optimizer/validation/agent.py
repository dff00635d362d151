"""The validation agent (a Judge): writes criteria, rates outputs, compares two (paper section 4.2.2, algorithm 3).

What it says is joined with signals that need no judge, and outranked by gold: docs/decisions/0020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.operators.accounting import Failure as NoAnswer
from engine.operators.accounting import attempt_all
from engine.optimizer.agent import Agent, AgentModel, agent_prompt
from engine.optimizer.gold import Gold, GoldScore
from engine.optimizer.judging import Aim, Comparison, Criteria, Failure, Progress, Rating
from engine.optimizer.outputs import OutputCell, PlanOutput
from engine.optimizer.pooling import pooled
from engine.optimizer.signals import COMPLETED, POOLED, WEIGHED, completed, joined_signals, lost_inputs, signals
from engine.optimizer.validation.comparing import compare_row
from engine.optimizer.validation.criteria import written_criteria
from engine.optimizer.validation.documents import RECORD_TOKENS
from engine.optimizer.validation.rating import Verdict, rate_row
from engine.optimizer.validation.weighing import item_odds
from engine.optimizer.weighing import weighed
from engine.plan.plan import Plan
from engine.rows import RowId

JUDGE_WEIGHT = 0.25
"""Of the judge, where there are signals too; they have the rest (docs/decisions/0026)."""

POOLED_WEIGHT = 0.5
"""Of the agreement with other readings among what code can see, where there is one."""

MOST_JUDGED = 4
"""Rows of an output that a model is asked about; the signals are those of all rows."""

SATISFIED = 3.85
"""Score from 1 to 4 from which on nothing is worth improving, where no row was lost."""

SATISFIED_GOLD = 0.95
"""The same of the F1 against gold."""

SPREAD = 0.15
"""A difference of the joined signals, 0 to 1, that decides a comparison as far as signals can."""

TIE = 0.02
"""A share of the win so near to a half is a tie."""

GOLD_TIE = 0.005
"""Two plans whose F1 against gold differs by no more are equal."""


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

    def screen(self, output: PlanOutput, others: Sequence[PlanOutput] = ()) -> Rating:
        """Rate an output by gold, else by its signals and by how far it agrees with other readings."""
        if (score := self.gold.score(output)) is not None:
            return _gold_rating(score, output)
        return _rating(output, [id for id in output.inputs if id not in lost_inputs(output)], {}, (), others)

    async def weigh(self, outputs: Sequence[PlanOutput]) -> Sequence[PlanOutput]:
        """Ask of each item that the outputs list whether it belongs there; where gold tells, nobody is asked."""
        if any(self.gold.score(output) is not None for output in outputs):
            return outputs
        found = await item_odds(self._agent, outputs, self.progress)
        return [replace(output, odds=found) for output in outputs]

    async def rate(self, output: PlanOutput, criteria: Criteria, others: Sequence[PlanOutput] = ()) -> Rating:
        """Rate an output: against gold where enough is known, else by signals of all rows and the judge of a few.

        A row that the judge gives no whole answer about has its signals alone. Raises models.errors.ModelError only for
        what is wrong with the machine.
        """
        if (score := self.gold.score(output)) is not None:
            return _gold_rating(score, output)
        lost = lost_inputs(output)
        kept = [id for id in output.inputs if id not in lost]
        judged = kept[:MOST_JUDGED]

        async def rate(id: RowId) -> Verdict:
            return await rate_row(self._agent, output, id, criteria, self.record_tokens)

        answers = await attempt_all(judged, rate, self.progress)
        verdicts = {id: a for id, a in zip(judged, answers, strict=True) if not isinstance(a, NoAnswer)}
        return _rating(output, kept, verdicts, judged, others)

    async def compare(
        self, left: PlanOutput, right: PlanOutput, criteria: Criteria, others: Sequence[PlanOutput] = ()
    ) -> Comparison:
        """Compare two outputs on the sample rows that both have: by gold, else by signals and, of a few, the judge.

        Of rows in which both say lists whose items were weighed the judge is not asked: where one lists more, it likes
        that one better, be it right or wrong.
        """
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

        weights = weighed([left, right, *others])[:2]
        asked = [id for id in open_rows if not _odds_decide((left, right), id, weights)][:MOST_JUDGED]
        answers = await attempt_all(asked, compare, self.progress)
        told = {id: a for id, a in zip(asked, answers, strict=True) if not isinstance(a, NoAnswer)}
        agreed = _agreement([left, right, *others])[:2]
        seen = {id: _grounded_share(left, right, id, agreed) for id in open_rows}
        return _comparison(common, settled, told, seen)

    @property
    def _agent(self) -> Agent:
        return Agent(self.model, "validation agent", self.seed)


def _rating(
    output: PlanOutput,
    kept: Sequence[RowId],
    verdicts: Mapping[RowId, Verdict],
    judged: Sequence[RowId],
    others: Sequence[PlanOutput],
) -> Rating:
    """Join what is known of the rows that came to an end: the mean of what code sees in all, and of the judge."""
    agreed = _agreement([output, *others])[0]
    seen = [quality for id in kept if (quality := _grounded(output, id, agreed)) is not None]
    share = completed(output)
    judge = _mean([verdict.goodness for verdict in verdicts.values()])
    score = 1 + 3 * share * _joined(judge, _mean(seen))
    best = score if verdicts else 1 + 3 * share * _joined(1.0, _mean(seen))
    failures = [failure for verdict in verdicts.values() for failure in verdict.failures]
    text = agent_prompt("failure_lost")
    failures += [Failure(source=id, aim=Aim.RECALL, quote="", text=text) for id in lost_inputs(output)]
    return Rating(
        score=score,
        failures=tuple(failures),
        satisfied=bool(verdicts) and best >= SATISFIED and share == 1.0,
        could_satisfy=best >= SATISFIED and share == 1.0,
        grounds=tuple(_grounds(output, verdicts, judged, agreed, WEIGHED if weighed([output, *others])[0] else POOLED)),
    )


def _agreement(outputs: Sequence[PlanOutput]) -> list[dict[RowId, float]]:
    """Return how good each output is by what all say, by row: by the odds of its items, or the agreement of readings.

    Where the odds are known they tell more: readings of one model list the same wrong things.
    """
    both = zip(pooled(outputs), weighed(outputs), strict=True)
    return [{**votes, **odds} for votes, odds in both]


def _grounds(
    output: PlanOutput,
    verdicts: Mapping[RowId, Verdict],
    judged: Sequence[RowId],
    agreed: Mapping[RowId, float],
    agreement: str,
) -> Iterator[tuple[str, float]]:
    if verdicts:
        yield "judge", sum(verdict.goodness for verdict in verdicts.values()) / len(verdicts)
    if len(verdicts) < len(judged):
        yield "rows the judge could rate", len(verdicts) / len(judged)
    if agreed:
        yield agreement, sum(agreed.values()) / len(agreed)
    yield from signals(output.rows, output.counts).items()
    yield COMPLETED, completed(output)


def _grounded(output: PlanOutput, source: RowId, agreed: Mapping[RowId, float]) -> float | None:
    """Join what code sees of one sample row, 0 to 1; None where it sees nothing."""
    both = agreed.get(source)
    rows = output.rows_of(source)
    if both is not None and output.odds.get(source):  # they say of an empty list, too, how good it is
        rows = tuple(replace(row, cells=tuple(c for c in row.cells if not _is_empty_list(output, c))) for row in rows)
    own = joined_signals(signals(rows, output.counts))
    if own is None or both is None:
        return own if both is None else both
    return POOLED_WEIGHT * both + (1 - POOLED_WEIGHT) * own


def _is_empty_list(output: PlanOutput, cell: OutputCell) -> bool:
    return cell.field in output.listing and isinstance(cell.value, list | tuple) and not cell.value


def _odds_decide(sides: tuple[PlanOutput, PlanOutput], source: RowId, weights: Sequence[Mapping[RowId, float]]) -> bool:
    """Say whether two outputs say nothing of a sample row but items that were weighed."""
    return all(
        source in told and all(cell.field in side.listing for row in side.rows_of(source) for cell in row.cells)
        for side, told in zip(sides, weights, strict=True)
    )


def _joined(judge: float | None, seen: float | None) -> float:
    """Join the judge and what code sees, 0 to 1 each; 0 where there are neither."""
    if judge is None or seen is None:
        return judge if judge is not None else seen if seen is not None else 0.0
    return JUDGE_WEIGHT * judge + (1 - JUDGE_WEIGHT) * seen


def _grounded_share(
    left: PlanOutput, right: PlanOutput, source: RowId, agreed: Sequence[Mapping[RowId, float]]
) -> float | None:
    """Return the share of the win on one sample row by what code sees; None where it sees nothing of one."""
    mine, theirs = (_grounded(side, source, found) for side, found in zip((left, right), agreed, strict=True))
    if mine is None or theirs is None:
        return None
    return min(1.0, max(0.0, 0.5 + (mine - theirs) / (2 * SPREAD)))


def _comparison(
    common: Sequence[RowId],
    settled: Mapping[RowId, float],
    told: Mapping[RowId, float],
    seen: Mapping[RowId, float | None],
) -> Comparison:
    """Join the judge's share of the win and that of the signals, and count lost rows by themselves."""
    if not common:
        return Comparison(left=0.5, reason="the two have no sample row in common")
    both = (_mean(list(told.values())), _mean([one for one in seen.values() if one is not None]))
    joined = 0.5 if both == (None, None) else _joined(*both)
    shares = [settled.get(id, joined) for id in common]
    share = sum(shares) / len(shares)
    judge = f"the judge gives {both[0]:.0%} to the first" if both[0] is not None else "without the judge"
    lost = f"; {len(settled)} rows were lost by one or both" if settled else ""
    reason = f"{len(shares)} rows, in both orders: {judge}; with the signals {share:.0%}{lost}"
    return Comparison(left=0.5 if abs(share - 0.5) < TIE else share, reason=reason)


def _mean(shares: Sequence[float]) -> float | None:
    return sum(shares) / len(shares) if shares else None


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
