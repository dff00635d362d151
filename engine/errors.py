"""Every error a user can meet, as one tree.

RedwellError                  exit code 2
├── UsageError                2   a command was called wrongly
├── PipelineError             2   the pipeline file is wrong; knows file, line, column
│   └── OutsideBorders        2   it reads or writes where the user has not let it; knows the path
├── EnvironmentMissing        3   a model, a library or disk space is missing
├── CaseError                 2   the case file cannot be used
├── DocumentError             1   one file could not be read (the others go on)
├── RunStopped                1   a row failed in an operator whose failures end the run (on_error: fail_run)
└── ItemError                 1   one row failed in one operator (the others go on)

The rooms below have trees of their own (models.errors.ModelError, storage.errors.StorageError);
the executor turns them into one of these.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, TypedDict, Unpack

Need = Literal["read", "write", "overwrite"]
"""What a user has to allow: reading a path, writing there, or writing over a file that is not Redwell's."""


class RedwellError(Exception):
    """Base: a message that says what failed and where, and advice that says what to do."""

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


class UsageError(RedwellError):
    """A command or function was called with arguments that make no sense."""


class PipelinePlace(TypedDict, total=False):
    """Where in a pipeline something is wrong, as PipelineError takes it."""

    file: str
    line: int | None
    column: int | None
    operator: str


class PipelineError(RedwellError):
    """The pipeline is wrong. `line` and `column` are 1-based positions in the YAML, None when unknown.

    `others` are what else is wrong, where that was found in the same reading; `read` is what could be read
    (engine.loader.Read), None where nothing could.
    """

    def __init__(
        self,
        message: str,
        *,
        advice: str = "",
        file: str = "",
        line: int | None = None,
        column: int | None = None,
        operator: str = "",
    ) -> None:
        super().__init__(message, advice=advice)
        self.file = file
        self.line = line
        self.column = column
        self.operator = operator
        self.others: tuple[PipelineError, ...] = ()
        self.read: Any = None

    def each(self) -> tuple[PipelineError, ...]:
        """Return this error and the others."""
        return (self, *(more for other in self.others for more in other.each()))

    def __str__(self) -> str:
        place = self.file
        if self.line is not None:
            place += f":{self.line}" + (f":{self.column}" if self.column is not None else "")
        parts = [p for p in (place, f"operator {self.operator!r}" if self.operator else "") if p]
        return ": ".join([*parts, super().__str__()])


class OutsideBorders(PipelineError):
    """The user has not let this `path` be read, written or overwritten, as `need` says."""

    def __init__(
        self, message: str, *, path: Path, need: Need, advice: str = "", **place: Unpack[PipelinePlace]
    ) -> None:
        super().__init__(message, advice=advice, **place)
        self.path = path
        self.need = need


class EnvironmentMissing(RedwellError):
    """Something this machine lacks: a model, a library, disk space."""

    exit_code = 3


class CaseError(RedwellError):
    """The case file cannot be opened or written."""


class DocumentError(RedwellError):
    """One file could not be read. `reason` is a short stable word: encrypted, corrupt, empty, ..."""

    exit_code = 1

    def __init__(self, message: str, *, reason: str, advice: str = "") -> None:
        super().__init__(message, advice=advice)
        self.reason = reason


class RunStopped(RedwellError):
    """A row failed in an operator of which the pipeline says that a failure ends the run."""

    exit_code = 1


class ItemError(RedwellError):
    """One row failed in one operator; `raw_reply` is what the model said, if it said anything."""

    exit_code = 1

    def __init__(self, message: str, *, advice: str = "", raw_reply: str | None = None) -> None:
        super().__init__(message, advice=advice)
        self.raw_reply = raw_reply
