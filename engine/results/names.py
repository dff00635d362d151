"""How a resolved name came about: what was joined under it, what was kept apart, by whom, and where each stands."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from engine.errors import UsageError
from engine.evidence.locate import locate
from engine.evidence.text_index import TextIndex
from engine.executor.case_documents import load_document
from engine.loader import parse_pipeline
from engine.operators.mentions import shown
from engine.operators.resolve import Resolve
from engine.results.shown import NameForm, NameHistory, NamePlace
from engine.results.values import items
from engine.rows import DocumentId, Span
from storage.case import Case
from storage.rows import RowRecord, Rows

MOST_PLACES = 3
"""Documents in which a form of a name is shown."""

KEPT_INDEXES = 4


@dataclass(frozen=True)
class Forms:
    """What an operator was given and what it made of it: by its output row, the form, and the row it came from."""

    original: Mapping[str, str]
    canonical: Mapping[str, str]
    """By form: the name it was given last."""
    sources: Mapping[str, Sequence[RowRecord]]
    """By form: the rows that had it."""


def resolved_columns(case: Case, run_id: str) -> dict[str, str]:
    """Map the columns of the results that an operator resolved to the last operator that did."""
    plan = parse_pipeline(case.runs.get(run_id).pipeline_yaml).plan
    nodes = [node for step in plan.steps for node in plan.nodes(step) if isinstance(node, Resolve)]
    last = {field: node.name for node in nodes for field in node.fields}
    return {column: last[column] for column in case.result_rows.columns(run_id) if column in last}


def name_history(case: Case, run_id: str, column: str, name: str) -> NameHistory:
    """Tell how a name of a column came about; raises UsageError for a column that nothing resolved."""
    operator = operator_of(case, run_id, column)
    forms = forms_of(case, run_id, operator, column)
    wanted = _on_one_line(name)  # as a table shows it
    mine = [f for f, canonical in forms.canonical.items() if wanted in (_on_one_line(canonical), _on_one_line(f))]
    known = {wanted, *map(_on_one_line, mine)}
    decisions = [
        stored.record
        for stored in case.ledger.decisions(run_id, operator)
        if not known.isdisjoint(map(_on_one_line, (stored.record.left, stored.record.right)))
    ]
    named = {side: None for record in decisions for side in (record.left, record.right)}
    others = [form for form in named if form not in mine and form in forms.sources]
    places = _Places(case)
    return NameHistory(
        name=name,
        operator=operator,
        column=column,
        forms=tuple(_form(forms, form, places) for form in mine),
        others=tuple(_form(forms, form, places) for form in others),
        decisions=tuple(decisions),
    )


def _on_one_line(name: str) -> str:
    return " ".join(name.split())


def operator_of(case: Case, run_id: str, column: str) -> str:
    """Return the operator that resolved a column; raises UsageError when none did."""
    operators = resolved_columns(case, run_id)
    if column not in operators:
        known = ", ".join(operators) or "none: the pipeline has no operator resolve"
        raise UsageError(f"no operator resolved the column {column!r}", advice=f"Resolved columns: {known}.")
    return operators[column]


def forms_in(rows: Rows, run_id: str, row_id: str, forms: Forms) -> set[str]:
    """Return the forms that went into a result row."""
    ids = [row_id, *(relative.id for relative in rows.ancestors(run_id, row_id))]
    return {forms.original[id] for id in ids if id in forms.original}


_kept: OrderedDict[tuple[str, ...], Forms] = OrderedDict()
_guard = Lock()


def forms_of(case: Case, run_id: str, operator: str, column: str) -> Forms:
    """Read what an operator was given in a column and what it made of it; kept for the next question."""
    run = case.runs.get(run_id)
    # At the same path there may be another case by now, whose runs have the same ids.
    which = str(case.path), str(case.path.stat().st_ino), run.started_at, run.finished_at or ""
    key = (*which, run_id, operator, column)
    with _guard:
        if key not in _kept:
            _kept[key] = _read_forms(case.rows, run_id, operator, column)
        _kept.move_to_end(key)
        while len(_kept) > KEPT_INDEXES:
            _kept.popitem(last=False)
        return _kept[key]


def _read_forms(rows: Rows, run_id: str, operator: str, column: str) -> Forms:
    original: dict[str, str] = {}
    canonical: dict[str, str] = {}
    sources: dict[str, list[RowRecord]] = {}
    for row in rows.of_operator(run_id, operator):
        source = rows.get(run_id, row.parents[0]) if row.parents else row
        form = shown(source.values.get(column))
        original[row.id], canonical[form] = form, shown(row.values.get(column))
        sources.setdefault(form, []).append(source)
    return Forms(original, canonical, sources)


def _form(forms: Forms, form: str, places: _Places) -> NameForm:
    rows = forms.sources.get(form, ())
    return NameForm(form, forms.canonical.get(form, form), len(rows), places.of(form, rows))


class _Places:
    """Finds forms of names in documents, each of which is read once."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._indexes: dict[str, tuple[str, TextIndex]] = {}

    def of(self, form: str, rows: Sequence[RowRecord]) -> tuple[NamePlace, ...]:
        spans: dict[str, list[Span]] = {}
        for row in rows:
            if row.document_id is not None:
                near = spans.setdefault(row.document_id, [])
                if row.first_line is not None and row.last_line is not None:
                    near.append(Span(row.first_line, row.last_line))
        places = (self._place(document, form, near) for document, near in list(spans.items())[:MOST_PLACES])
        return tuple(place for place in places if place is not None)

    def _place(self, document: str, form: str, near: Sequence[Span]) -> NamePlace | None:
        filename, index = self._index(document)
        at = locate(index, form, near=near)
        if at is None:
            return None
        quote = " ".join(line.text for line in self._case.documents.lines(document, at.first_line, at.last_line))
        return NamePlace(document, filename, at.page, at.first_line, at.last_line, quote)

    def _index(self, document: str) -> tuple[str, TextIndex]:
        if document not in self._indexes:
            loaded = load_document(self._case, DocumentId(document))
            self._indexes[document] = loaded.filename, TextIndex(DocumentId(document), loaded.lines)
        return self._indexes[document]


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return a cell with other names in place of those given; the same object when it has none of them.

    >>> renamed(["D. Harmon", "Daniel Harmon"], {"D. Harmon": "Daniel Harmon"})
    ['Daniel Harmon']
    """
    if isinstance(value, list | tuple):
        if not any(item in names for item in items(value)):
            return value
        return list(dict.fromkeys(names.get(item, item) if isinstance(item, str) else item for item in value))
    return names.get(value, value) if isinstance(value, str) else value
