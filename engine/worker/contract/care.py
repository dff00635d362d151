"""Looking after a case file: check it, back it up, repair it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.worker.contract.query import Query
from storage.difference import Difference

__all__ = ["Difference"]


@dataclass(frozen=True, slots=True)
class CareResult:
    """What came of it. `locked`: nothing was done, for a passphrase is "needed", or the one that was given is "wrong".

    `differences` are those of the case, or of the new file at `out` (its `size_bytes`); a repair has `kept` rows and
    `lost` some, each with its part and its name. `difference_count` and `lost_count` count also what is not named.
    `not_recorded` says why the custody log of the case does not tell of it.
    """

    locked: Literal["", "needed", "wrong"] = ""
    rows: int = 0
    differences: tuple[Difference, ...] = ()
    difference_count: int = 0
    not_checked: tuple[str, ...] = ()
    out: str = ""
    size_bytes: int = 0
    kept: int = 0
    lost: tuple[tuple[str, str], ...] = ()
    lost_count: int = 0
    not_recorded: str = ""


BACKUP = Query[CareResult]("care.backup")
REPAIR = Query[CareResult]("care.repair")
VERIFY = Query[CareResult]("care.verify")
