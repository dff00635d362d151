"""The agents of a build that ask a model of this machine, and what they look at."""

from __future__ import annotations

from collections.abc import Sequence

from engine.evidence.locate import SourceText
from engine.executor.results import EvidenceFinder
from engine.optimizer.agent_client import CountingModel
from engine.optimizer.build import Agents
from engine.optimizer.gold import Gold
from engine.optimizer.instantiate import GenerationAgent
from engine.optimizer.observe import Observed, plan_output
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.rating import Rater
from engine.optimizer.sample_runs import SampledRun
from engine.plan.plan import Plan
from engine.rows import DocumentId, Row


def agents_over(model: CountingModel, gold: Gold) -> Agents:
    """Return a generation agent and a rater that ask one model; where gold tells, the rater asks nothing."""
    return Agents(GenerationAgent(model), Rater(model, gold), observed)


def observed(
    run: SampledRun, inputs: Sequence[Row], *, seconds: float, columns: Sequence[str], task: Plan
) -> PlanOutput:
    """Make what is rated (engine.optimizer.evaluating.Observe) of a run on the sample."""
    rejected = {row.id: run.rejected[row.id] for row in inputs if row.id in run.rejected}
    finder = EvidenceFinder(run.every, _no_lines)
    ended = Observed(
        inputs=inputs,
        rows=run.rows,
        ancestors=finder.ancestors,
        failed=run.failed,
        rejected=rejected,
        seconds=seconds,
        tokens=run.tokens,
    )
    return plan_output(run.plan, ended, columns=columns, task=task)


def _no_lines(document: DocumentId) -> SourceText:
    """Ancestors are all that is asked of the finder; values are looked up in the sample rows themselves."""
    raise TypeError(f"the lines of {document} were asked for, of which only ancestors are known here")
