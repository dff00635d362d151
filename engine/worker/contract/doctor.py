"""What `redwell doctor` says, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.worker.contract.query import Query

State = Literal["ok", "note", "missing"]

Mend = Literal["", "install", "measure", "settings"]


@dataclass(frozen=True, slots=True)
class CheckedThing:
    """One thing looked at; `advice` says what to do, empty when there is nothing to do.

    `mend`: what the window can do about it, with `subject`, the id of a model.
    """

    name: str
    state: State
    detail: str
    advice: str
    mend: Mend = ""
    subject: str = ""


CHECKS = Query[list[CheckedThing]]("doctor.checks")
