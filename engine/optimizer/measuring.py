"""A user's own measure of a pipeline's results: a Python function of theirs, called with what plans wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.code.program import Program, problem_of
from engine.errors import PipelineError, UsageError
from engine.plan.frozen import thaw

FUNCTION = "evaluate"
"""What the function is called in the file."""

TIMEOUT_SECONDS = 60.0
MEMORY_BYTES = 2**30

_CALL = f"""


def transform(given):
    return {{"value": {FUNCTION}(given["rows"], given["results"])}}
"""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Python that defines `evaluate(rows, results)`, and which of the numbers that it returns counts.

    `rows` are the sample rows of the datasets, `results` the rows at the end of the pipeline with all of their fields.
    It returns a number, or a mapping of which `metric_key` names one ("": there is only one). Higher is better, 0 to 1.
    Raises UsageError for code that cannot be right.
    """

    source: str
    metric_key: str = ""

    def __post_init__(self) -> None:
        if problem := problem_of(self.source.rstrip() + _CALL):
            raise UsageError(f"the evaluation: {problem}", advice=f"Define `def {FUNCTION}(rows, results):` in Python.")
        if f"def {FUNCTION}(" not in self.source:
            raise UsageError(
                f"the evaluation defines no function {FUNCTION}", advice=f"Define `def {FUNCTION}(rows, results):`."
            )

    @classmethod
    def read(cls, path: Path, metric_key: str = "") -> Measure:
        """Read a Python file; raises UsageError for one that cannot be read or be right."""
        try:
            return cls(source=path.read_text(encoding="utf-8-sig"), metric_key=metric_key)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the evaluation {path} cannot be read: {error}", advice="Name a Python file.") from error

    def program(self, seed: int) -> Program:
        """Return what is called in a process that can only compute."""
        return Program(
            operator="the evaluation",
            source=self.source.rstrip() + _CALL,
            wants="mapping",
            timeout_seconds=TIMEOUT_SECONDS,
            memory_bytes=MEMORY_BYTES,
            workers=1,
            seed=seed,
        )

    def value_of(self, returned: Any) -> float:
        """Return the number that counts, 0 to 1; raises PipelineError for anything else."""
        value = returned.get("value") if isinstance(returned, Mapping) else returned
        if isinstance(value, Mapping):
            numbers = sorted(map(str, value))
            if not self.metric_key and len(value) == 1:
                (value,) = value.values()
            elif self.metric_key in value:
                value = value[self.metric_key]
            else:
                raise PipelineError(
                    f"the evaluation returned no {self.metric_key or 'single number'!r}",
                    advice=f"It returned {', '.join(numbers) or 'nothing'}; name one of these as the metric key.",
                )
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise PipelineError(
                f"the evaluation returned {value!r}",
                advice="Return a number from 0 (useless) to 1 (nothing to improve).",
            )
        return float(value)


def given_to(rows: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the argument of a program of `Measure.program`."""
    return {"rows": [thaw(row) for row in rows], "results": [thaw(row) for row in results]}
