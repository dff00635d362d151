"""The keys that say what a row which fails does to the run, of all operators that ask a model or run code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.operators.accounting import require
from engine.plan.node import Node

OnError = Literal["record", "fail_run"]


@dataclass(frozen=True, kw_only=True)
class OnErrorNode(Node):
    """Record a row that fails and go on, or end the run there; `skip_on_error` is DocETL's name for it."""

    on_error: OnError = "record"
    skip_on_error: bool | None = None

    def __post_init__(self) -> None:
        require(
            self,
            not (self.skip_on_error and self.on_error == "fail_run"),
            "skip_on_error: true and on_error: fail_run contradict each other",
            "Keep one of them.",
        )

    @property
    def fails_run(self) -> bool:
        """Say whether a row that fails ends the run; `skip_on_error: false`, where it is written, says so too."""
        return self.on_error == "fail_run" or self.skip_on_error is False
