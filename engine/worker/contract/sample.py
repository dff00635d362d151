"""The sample case."""

from __future__ import annotations

from dataclasses import dataclass

from engine.worker.contract.query import Query


@dataclass(frozen=True, slots=True)
class SampleCase:
    """Where the sample lies now: the case, with finished results, and the folder of its records."""

    case: str
    records: str


COPY = Query[SampleCase]("sample.copy")
