"""The sample case."""

from __future__ import annotations

from engine.worker.contract.query import Query

COPY = Query[str]("sample.copy")
