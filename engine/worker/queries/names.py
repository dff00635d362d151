"""Names that an operator resolved: how each came about, and decisions of a person that join or part them."""

from __future__ import annotations

from engine.results.name_edits import keep_apart, merge_names, split_name
from engine.results.names import name_history
from engine.results.shown import NameHistory, NamesChanged
from engine.worker.contract import names as contract
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query


@query(contract.HISTORY, lane="slow")
def history(desk: Desk, *, case: str, run: str, column: str, name: str) -> NameHistory:
    """Tell which forms were joined under a name, which were kept apart and by whom, each with where it stands."""
    return name_history(desk.reading(case), run, column, name)


@query(contract.MERGE, lane="edit")
def merge(desk: Desk, *, case: str, run: str, column: str, names: tuple[str, ...], into: str) -> NamesChanged:
    """Say that names are one: in the pipeline, and in the table at once."""
    with desk.writing(case) as opened:
        return merge_names(opened, run, column, names, into)


@query(contract.SPLIT, lane="edit")
def split(desk: Desk, *, case: str, run: str, column: str, name: str, form: str) -> NamesChanged:
    """Say that one form is another person or thing than the rest of a name."""
    with desk.writing(case) as opened:
        return split_name(opened, run, column, name, form)


@query(contract.KEEP_APART, lane="edit")
def apart(desk: Desk, *, case: str, run: str, column: str, left: str, right: str) -> NamesChanged:
    """Say that two names are not one, now and in later runs."""
    with desk.writing(case) as opened:
        return keep_apart(opened, run, column, left, right)
