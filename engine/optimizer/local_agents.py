"""The agents of a build that ask a model of this machine, and what they look at."""

from __future__ import annotations

from engine.optimizer.agent_client import CountingModel
from engine.optimizer.build import Agents
from engine.optimizer.gold import Gold
from engine.optimizer.instantiate import GenerationAgent
from engine.optimizer.observe import plan_output
from engine.optimizer.rating import Rater


def agents_over(model: CountingModel, gold: Gold) -> Agents:
    """Return a generation agent and a rater that ask one model; where gold tells, the rater asks nothing."""
    return Agents(GenerationAgent(model), Rater(model, gold), plan_output)
