"""Opening a case, or the sample, and what is in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.worker.contract.query import Query


@dataclass(frozen=True, slots=True)
class CaseSummary:
    """What is in a case."""

    path: str
    name: str
    documents: int
    pages: int
    failures: int
    runs: int
    is_encrypted: bool = False


@dataclass(frozen=True, slots=True)
class OpenedCase:
    """A case that can be asked. `read_only`: why it cannot be changed, empty when it can.

    `locked`: why there is no summary: a passphrase is "needed", or the one that was given is "wrong".
    """

    summary: CaseSummary | None
    read_only: str
    locked: Literal["", "needed", "wrong"] = ""


COMPLETE_FACTS = Query[int]("case.complete_facts")
COPY_SAMPLE = Query[str]("sample.copy")
OPEN = Query[OpenedCase]("case.open")
SUMMARY = Query[CaseSummary]("case.summary")
