"""Counts over time: every row is in a bar or among those that are told beside the chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.results.charts import MOST_PERIODS, count_over_time, count_values
from engine.results.shown import Bar, OverTime, Period
from engine.results.table import ResultView, Selection
from storage.result_rows import DeliveredRow
from storage.reviewed import ReviewBook


def over_time(values: Sequence[Any], period: Period) -> OverTime:
    rows = [DeliveredRow(n, f"r{n}", {"date": value}, ("a",), frozenset()) for n, value in enumerate(values)]
    return count_over_time(ResultView(("date",), rows, ReviewBook(())), Selection(), "date", period)


def test_rows_without_a_month_are_told_where_months_are_counted() -> None:
    values = ["2019-03-04", "2019-05-01", "2019", "2019", "", ["2019", "2019-05"]]
    by_month = over_time(values, "month")
    assert by_month.bars == (Bar("2019-03", 1), Bar("2019-04", 0), Bar("2019-05", 2))
    assert by_month.undated == 3
    by_year = over_time(values, "year")
    assert (by_year.bars, by_year.undated, by_year.earlier) == ((Bar("2019", 5),), 1, 0)


@pytest.mark.parametrize("period", ["year", "month"])
def test_years_that_would_make_the_axis_endless_are_told(period: Period) -> None:
    series = over_time(["1019-03-04", ["1019-03-04", "2019-03-04"], "2019-05-01", ""], period)
    assert (series.period, len(series.bars)) == ("year", MOST_PERIODS)
    assert series.bars[-1] == Bar("2019", 2)
    assert (series.undated, series.earlier) == (1, 1)


@given(st.lists(st.sampled_from(["", "1019", "1790-02", "2018", "2019-03", "2019-03-04", "2020-01"]), max_size=9))
def test_every_row_is_counted_once(values: list[str]) -> None:
    for period in ("year", "month"):
        series = over_time(values, period)  # type: ignore[arg-type]
        assert sum(bar.count for bar in series.bars) + series.undated + series.earlier == len(values)


def test_rows_that_come_from_no_document_are_counted_themselves() -> None:
    rows = [DeliveredRow(n, f"r{n}", {"name": "Ruiz"}, (), frozenset()) for n in range(2)]
    bars = count_values(ResultView(("name",), rows, ReviewBook(())), Selection(), "name", "documents", 9)
    assert (bars.unit, bars.bars) == ("rows", (Bar("Ruiz", 2),))
