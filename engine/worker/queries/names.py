"""Names that an operator resolved: how each came about, and decisions of a person that join or part them."""

from __future__ import annotations

from engine.results.name_edits import keep_apart, merge_names, split_name
from engine.results.names import name_history
from engine.results.shown import NameHistory, NamesChanged
from engine.worker.contract import names as contract
from engine.worker.queries.registry import query
from storage.case import Case


@query(contract.HISTORY, lane="slow")
def history(case: Case, *, run: str, column: str, name: str) -> NameHistory:
    """Tell which forms were joined under a name, which were kept apart and by whom, each with where it stands."""
    return name_history(case, run, column, name)


@query(contract.MERGE, lane="edit")
def merge(case: Case, *, run: str, column: str, names: tuple[str, ...], into: str) -> NamesChanged:
    """Say that names are one: in the pipeline, and in the table at once."""
    return merge_names(case, run, column, names, into)


@query(contract.SPLIT, lane="edit")
def split(case: Case, *, run: str, column: str, name: str, form: str) -> NamesChanged:
    """Say that one form is another person or thing than the rest of a name."""
    return split_name(case, run, column, name, form)


@query(contract.KEEP_APART, lane="edit")
def apart(case: Case, *, run: str, column: str, left: str, right: str) -> NamesChanged:
    """Say that two names are not one, now and in later runs."""
    return keep_apart(case, run, column, left, right)
