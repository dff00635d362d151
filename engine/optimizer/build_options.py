"""What a caller may choose for a build."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.errors import UsageError
from engine.executor.settings import RunSettings
from engine.language.trust import TRUST_ADVICE
from engine.optimizer.frontier import Policy
from engine.optimizer.measuring import Measure
from engine.optimizer.sampling import LEAST_ROWS, USUAL_ROWS
from engine.optimizer.search import DEPTH

MINUTES = 20.0
"""Of a build where none were asked for."""


@dataclass(frozen=True)
class BuildOptions:
    """How a build is done. `minutes` bound the whole build, reading included; `rows` is the size of the sample.

    `agent_model` proposes ("": the pipeline's own). `other_models` may be tried in place of the pipeline's, the best
    first. `measure` is the user's own, in place of the ratings of whole pipelines; it runs with `trust_code` only.
    """

    settings: RunSettings = field(default=RunSettings())
    minutes: float = MINUTES
    rows: int = USUAL_ROWS
    seed: int = 0
    policy: Policy = field(default=Policy())
    agent_model: str = ""
    other_models: tuple[str, ...] = ()
    depth: int = DEPTH
    measure: Measure | None = None

    def __post_init__(self) -> None:
        check_minutes(self.minutes)
        if self.rows < 1:
            raise UsageError(f"--sample {self.rows}: a sample has rows", advice=f"Give {LEAST_ROWS} or more.")
        if self.measure is not None and not self.settings.trust_code:
            raise UsageError("the evaluation is Python, which has not been trusted", advice=TRUST_ADVICE)


def check_minutes(minutes: float) -> None:
    """Raise UsageError where a build would have no time; `nan` is no time either."""
    if not minutes > 0:
        raise UsageError(f"--minutes {minutes:g}: a build needs time", advice="Give more than 0 minutes.")
