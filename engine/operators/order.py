"""order: rank under its older name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.operators.base import Operator
from engine.operators.rank import Rank, run


@dataclass(frozen=True, kw_only=True)
class Order(Rank):
    """Do what `rank` does; DocETL has called it so, and pipelines still do."""

    kind: ClassVar[str] = "order"


OPERATOR = Operator(Order, run)
