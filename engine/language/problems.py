"""What is wrong with a pipeline, as data: so that all of it can be shown at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from engine.errors import PipelineError

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding. `line` and `column` are 1-based, None when the plan has no file. A warning does not stop a run."""

    message: str
    advice: str = ""
    operator: str = ""
    file: str = ""
    line: int | None = None
    column: int | None = None
    severity: Severity = "error"

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        name = f"operator {self.operator!r}" if self.operator else ""
        mark = "warning" if self.severity == "warning" else ""
        return ": ".join(part for part in (place, mark, name, self.message) if part)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of one operator, and its YAML path in there."""

    path: tuple[str | int, ...]
    message: str
    advice: str
    severity: Severity = "error"


class Gathered:
    """What is wrong with the parts of one thing, so that all of it is told at once."""

    def __init__(self) -> None:
        self.errors: list[PipelineError] = []

    @contextmanager
    def part(self) -> Iterator[None]:
        """Read one part; an error in it does not keep the next from being read."""
        try:
            yield
        except PipelineError as error:
            self.add(error)

    def add(self, error: PipelineError) -> None:
        """Note an error with the others that it carries."""
        self.errors += error.each()
        error.others = ()

    def raise_any(self) -> None:
        """Raise the first error, with the others, if there is one."""
        if self.errors:
            first, *others = self.errors
            first.others = tuple(others)
            raise first
