"""What a person decides about names: one, not one; kept in the pipeline, and laid over the table as reviews."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engine.custody.recording import save_review
from engine.errors import UsageError
from engine.results.decisions import pipeline_of, write_pairs
from engine.results.names import forms_in, forms_of, operator_of, renamed
from engine.results.shown import NamePair, NamesChanged, PairKind
from engine.results.table import ResultView, result_view
from engine.results.values import items
from storage.case import Case
from storage.reviews import ReviewEdit


def merge_names(case: Case, run_id: str, column: str, names: Sequence[str], into: str) -> NamesChanged:
    """Join names into one; all rows show `into`. Raises UsageError, PipelineError or ExportError."""
    others = [name for name in dict.fromkeys(names) if name != into]
    if not others or not into.strip():
        raise UsageError("two different names are needed to make one of them", advice="Choose another name too.")
    pairs = [(name, into) for name in others]
    file = _keep(case, run_id, column, "same_as", pairs)
    view = result_view(case, run_id)
    rows = _rename(case, run_id, view, column, range(len(view.rows)), dict.fromkeys(others, into))
    return NamesChanged(file, rows, 0)


def split_name(case: Case, run_id: str, column: str, name: str, form: str) -> NamesChanged:
    """Say that one form is not the same as the other forms of a name; its rows show the form again.

    Raises UsageError, PipelineError or ExportError.
    """
    operator = operator_of(case, run_id, column)
    forms = forms_of(case, run_id, operator, column)
    others = [other for other, canonical in forms.canonical.items() if canonical == name and other != form]
    if form not in forms.sources or not others:
        raise UsageError(f"{form!r} is not one of several forms of {name!r}", advice="Choose one of its forms.")
    return _part(case, run_id, column, name, form, others)


def keep_apart(case: Case, run_id: str, column: str, left: str, right: str) -> NamesChanged:
    """Say that two names are not the same, now and in later runs. Raises UsageError, PipelineError or ExportError."""
    if left == right:
        raise UsageError(f"{left!r} cannot be kept apart from itself", advice="Choose two names.")
    forms = forms_of(case, run_id, operator_of(case, run_id, column), column)
    if left in forms.canonical and forms.canonical.get(left) == forms.canonical.get(right):
        name = forms.canonical[left]
        return _part(case, run_id, column, name, right if left == name else left, [left if left == name else right])
    file = _keep(case, run_id, column, "keep_apart", [(left, right)])
    return NamesChanged(file, 0, 0)


def _part(case: Case, run_id: str, column: str, name: str, form: str, others: Iterable[str]) -> NamesChanged:
    pairs = [(other, form) for other in others]
    file = _keep(case, run_id, column, "keep_apart", pairs)
    forms = forms_of(case, run_id, operator_of(case, run_id, column), column)
    view = result_view(case, run_id)
    named = [row.number for row in view.rows if name in items(view.cell(row.number, column))]
    inside = {number: forms_in(case.rows, run_id, view.rows[number].id, forms) for number in named}
    pure = [number for number in named if inside[number] == {form}]
    mixed = sum(form in inside[number] for number in named) - len(pure)
    rows = _rename(case, run_id, view, column, pure, {name: form})
    return NamesChanged(file, rows, mixed)


def _keep(case: Case, run_id: str, column: str, kind: PairKind, pairs: Sequence[NamePair]) -> str:
    file = pipeline_of(case, run_id)
    write_pairs(file, operator_of(case, run_id, column), kind, pairs)
    return str(file)


def _rename(
    case: Case, run_id: str, view: ResultView, column: str, numbers: Iterable[int], names: Mapping[str, str]
) -> int:
    edits = []
    for number in numbers:
        row, value = view.rows[number], view.cell(number, column)
        other = renamed(value, names)
        if other != value:
            original = row.values.get(column)
            edits.append(ReviewEdit(row.identity(view.columns), column, "rename", original=original, value=other))
    if edits:
        save_review(case, run_id, edits)
    return len(edits)
