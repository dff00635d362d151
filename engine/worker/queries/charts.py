"""What charts of results show: rows that a reviewer rejected are not counted."""

from __future__ import annotations

from dataclasses import replace

from engine.results.charts import count_by_document, count_over_time, count_values
from engine.results.shown import Bars, OverTime, Period, Unit
from engine.results.table import ALL_ROWS, Selection, result_view
from engine.worker.contract import charts as contract
from engine.worker.contract.charts import NamedMatrix
from engine.worker.queries.registry import query
from storage.case import Case
from storage.export.assemble import file_names

MOST_VALUES = 30
MOST_DOCUMENTS = 40


def counted(only: Selection) -> Selection:
    """Return the rows of a selection that count here, on the timeline and in the network, in the order of the run."""
    return replace(only, without_rejected=True, sort="", descending=False, least_agreed_first=False)


@query(contract.VALUES)
def values(case: Case, *, run: str, column: str, unit: Unit = "documents", only: Selection = ALL_ROWS) -> Bars:
    """Count rows, or their documents, by what a column names."""
    return count_values(result_view(case, run), counted(only), column, unit, MOST_VALUES)


@query(contract.TIME)
def time(case: Case, *, run: str, column: str, period: Period = "year", only: Selection = ALL_ROWS) -> OverTime:
    """Count the dates of a column by year or month."""
    return count_over_time(result_view(case, run), counted(only), column, period)


@query(contract.MATRIX)
def matrix(case: Case, *, run: str, column: str, only: Selection = ALL_ROWS) -> NamedMatrix:
    """Count rows by document and by what a column names."""
    counts = count_by_document(result_view(case, run), counted(only), column, MOST_VALUES, MOST_DOCUMENTS)
    files = file_names(case.documents)
    return NamedMatrix(counts, tuple(files[document] for document in counts.documents))
