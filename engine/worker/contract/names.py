"""Names that an operator resolved: how each came about, and decisions of a person."""

from __future__ import annotations

from engine.results.shown import NameForm, NameHistory, NamePlace, NamesChanged
from engine.worker.contract.query import Query
from storage.ledger import DecisionRecord

__all__ = ["DecisionRecord", "NameForm", "NameHistory", "NamePlace", "NamesChanged"]

HISTORY = Query[NameHistory]("names.history")
KEEP_APART = Query[NamesChanged]("names.keep_apart")
MERGE = Query[NamesChanged]("names.merge")
SPLIT = Query[NamesChanged]("names.split")
