"""The result of a run: which columns a person wants to see, and the evidence of each cell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from engine.errors import UsageError
from engine.evidence.cells import CellEvidence, locate_row
from engine.evidence.text_index import TextIndex
from engine.language.checks import SourceFields, field_flow
from engine.operators.asking import EMPTINESS
from engine.operators.base import Retrieved
from engine.plan.node import LEFT, RIGHT, Node
from engine.plan.plan import Plan, Step
from engine.plan.sources import DOCUMENT_FIELDS, kind_of_source
from engine.rows import DocumentId, Row, RowId

SCAFFOLDING_KINDS = frozenset({"split", "gather"})
"""Operators whose fields serve later operators and are not results; nor are fields that begin with `_` (reduce)."""

INDEXES_KEPT = 64
"""Documents whose lines stay indexed at once: an index is some ten times its text."""


def result_columns(
    plan: Plan,
    rows: Sequence[Row],
    chosen: Sequence[str] = (),
    *,
    source_fields: Sequence[str] = (),
    directory: Path = Path(),
) -> list[str]:
    """Choose the columns of the results table, in order.

    `chosen` if given (raises UsageError for a field that no row has). Else the file name where rows have it, then
    the fields that operators wrote, in the order in which rows hold them; a document's own text is left out, and so
    is each other field of documents that no operator has written anew. Fields of data files are shown.
    Without any row the operators tell which fields there would be, given `source_fields` of the datasets.
    Relative paths of datasets start at `directory`.
    """
    nodes = _nodes(plan, plan.steps[-1])
    fields = list(dict.fromkeys(key for row in rows for key in row.values)) or _planned(nodes, source_fields)
    if chosen:
        if rows:
            refuse_unknown(chosen, fields)
        return list(chosen)
    hidden = _hidden(plan, nodes, directory)
    shown = [key for key in fields if key not in hidden] or fields
    return sorted(shown, key=lambda key: key != "filename")


def _hidden(plan: Plan, nodes: Sequence[Node], directory: Path) -> set[str]:
    """Return the fields that are no results; after a join, some have its suffix."""
    written = {name for node in nodes for name in node.traits().writes}
    of_documents = _of_documents(plan, plan.steps[-1], directory) - _suffixed({"filename"}) - _suffixed(written)
    serving = _scaffolding(nodes) | {EMPTINESS}
    joins = any(node.traits().inputs == 2 for node in nodes)
    return of_documents | serving | (_suffixed(serving) - written if joins else set())


def _suffixed(names: Collection[str]) -> set[str]:
    """Return names, and what a join makes of them where both of its sides have them."""
    return {name + suffix for name in names for suffix in ("", LEFT, RIGHT)}


def refuse_columns(plan: Plan, columns: Sequence[str], *, source_fields: SourceFields | None = None) -> None:
    """Raise UsageError for a column that is named twice, or that no row can have, where the plan tells that."""
    if twice := next((column for column in columns if columns.count(column) > 1), ""):
        raise UsageError(f"the column {twice!r} is named twice", advice="Name each column once.")
    fields = field_flow(plan, source_fields=source_fields).get(plan.steps[-1].name) if columns else None
    if fields is not None:
        refuse_unknown(columns, sorted(fields))


def refuse_unknown(columns: Sequence[str], known: Sequence[str]) -> None:
    """Raise UsageError for the first column that is not among those that are known."""
    if unknown := [column for column in columns if column not in known]:
        raise UsageError(f"no result has the column {unknown[0]!r}", advice=f"Columns: {', '.join(known)}.")


def _planned(nodes: Iterable[Node], source_fields: Sequence[str]) -> list[str]:
    """List the fields that rows would have after the operators, as far as their traits tell."""
    fields = list(source_fields)
    for node in nodes:
        traits = node.traits()
        kept = [f for f in fields if (traits.keeps_others or f in traits.writes) and f not in traits.removes]
        fields = list(dict.fromkeys([*kept, *node.written_fields()]))
    return fields


def _nodes(plan: Plan, step: Step) -> list[Node]:
    """Return the operators of a step and of the steps it reads from."""
    earlier = [n for s in plan.steps if s.name in step.inputs for n in _nodes(plan, s)]
    return [*earlier, *plan.nodes(step)]


def _of_documents(plan: Plan, step: Step, directory: Path) -> set[str]:
    """Return the fields in which documents themselves leave a step; data files may have fields of the same names."""
    inputs = [_of_input(plan, name, directory) for name in step.inputs]
    fields = set[str]().union(*inputs)
    if any(node.traits().inputs == 2 for node in plan.nodes(step)):
        for names, suffix in zip(inputs, (LEFT, RIGHT), strict=True):
            fields |= {name + suffix for name in names}
    return fields


def _of_input(plan: Plan, name: str, directory: Path) -> set[str]:
    """Return these fields of one input of a step: a dataset, or an earlier step."""
    step = next((step for step in plan.steps if step.name == name), None)
    if step is not None:
        return _of_documents(plan, step, directory)
    dataset = plan.dataset(name)
    if kind_of_source(dataset, directory) in ("folder", "case"):
        return set(DOCUMENT_FIELDS)
    return {parsing.target_field for parsing in dataset.parsing if parsing.reads_documents} & set(DOCUMENT_FIELDS)


def _scaffolding(nodes: Iterable[Node]) -> set[str]:
    fields: set[str] = set()
    for node in nodes:
        traits = node.traits()
        serving = {name for name in traits.writes if node.kind in SCAFFOLDING_KINDS or name.startswith("_")}
        fields = (fields - traits.writes) | serving
    return fields


def ancestors_of(row: Row, rows: Mapping[RowId, Row]) -> list[Row]:
    """List the rows that `row` was made from at any distance, nearest first, each once; `rows` are all by id."""
    ancestors: dict[RowId, Row] = {}
    level = list(row.parents)
    while level:
        found = [rows[row_id] for row_id in dict.fromkeys(level) if row_id not in ancestors]
        ancestors.update((r.id, r) for r in found)
        level = [parent for r in found for parent in r.parents]
    return list(ancestors.values())


class EvidenceFinder:
    """Finds the evidence of output rows. The indexes of the documents used last are kept, not those of all."""

    def __init__(
        self,
        rows: Mapping[RowId, Row],
        read: Callable[[DocumentId], TextIndex],
        passages: Mapping[str, Sequence[Retrieved]] = MappingProxyType({}),
    ) -> None:
        """`rows` are all rows of the run by id; `read` indexes the lines of a document.

        `passages` are what retrievers found, by the id of the row that was asked about.
        """
        self._rows = rows
        self._passages = passages
        self._index = lru_cache(INDEXES_KEPT)(read)

    def evidence(self, row: Row, columns: Sequence[str]) -> list[CellEvidence]:
        """Locate every value of the row's columns."""
        ancestors = ancestors_of(row, self._rows)
        passages = (passage for ancestor in ancestors for passage in self._passages.get(ancestor.id, ()))
        shown = [(p.document_id, p.span) for p in passages if p.document_id is not None]
        return locate_row(row, ancestors, self._index, columns, shown)
