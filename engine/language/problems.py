"""What is wrong with a pipeline, as data: so that all of it can be shown at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
