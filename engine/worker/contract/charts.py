"""What charts of results show."""

from __future__ import annotations

from dataclasses import dataclass

from engine.results.shown import Bars, Matrix, OverTime
from engine.worker.contract.query import Query

__all__ = ["Bars", "OverTime"]


@dataclass(frozen=True, slots=True)
class NamedMatrix:
    """A matrix with the names of its documents."""

    matrix: Matrix
    files: tuple[str, ...]


MATRIX = Query[NamedMatrix]("charts.matrix")
TIME = Query[OverTime]("charts.time")
VALUES = Query[Bars]("charts.values")
