"""Rows by date; what can be read in two ways is listed, never guessed."""

from __future__ import annotations

import datetime

import pytest

from engine.errors import UsageError
from engine.results.table import result_view
from engine.results.timeline import choose_dates, date_columns, gap_in_words, make_timeline, timeline_table
from engine.values.registry import value_type
from storage.case import Case
from storage.export.assemble import result_table
from storage.export.reviews import ReviewOptions
from storage.export.table import ResultRow, ResultTable
from storage.reviews import ReviewEdit


def test_dates_are_in_order_as_precisely_as_they_are_written() -> None:
    rows = [("a", "December 2021"), ("b", "2019"), ("c", "3. März 2020"), ("d", "2019-03-04T10:30")]
    entries = make_timeline(rows, "date").entries
    assert [(e.row, e.date) for e in entries] == [
        ("b", "2019"),
        ("d", "2019-03-04"),
        ("c", "2020-03-03"),
        ("a", "2021-12"),
    ]
    by_row = {e.row: (e.first, e.last) for e in entries}
    assert by_row["b"] == (datetime.date(2019, 1, 1), datetime.date(2019, 12, 31))
    assert by_row["a"] == (datetime.date(2021, 12, 1), datetime.date(2021, 12, 31))


def test_what_is_no_sure_date_is_listed_with_the_reason() -> None:
    rows = [("a", "03/04/2024"), ("b", "13/04/2024"), ("c", "March 3"), ("d", ""), ("e", None), ("f", "in spring")]
    timeline = make_timeline(rows, "date")
    assert [(e.row, e.date) for e in timeline.entries] == [("b", "2024-04-13")]
    reasons = {u.row: u.reason for u in timeline.undated}
    assert "2024-04-03" in reasons["a"] and "2024-03-04" in reasons["a"]
    assert reasons["c"] == "no year is written"
    assert reasons["d"] == reasons["e"] == "the cell is empty"
    assert reasons["f"] == "it names no date"


def test_no_row_is_left_out() -> None:
    values = ["2019-03-04", "", ["2019-01-01", "03/04/2024"], [], {"when": "2020-02-02", "who": "Ruiz"}, 12, "x" * 99]
    timeline = make_timeline([(str(n), value) for n, value in enumerate(values)], "date")
    assert {e.row for e in timeline.entries} | {u.row for u in timeline.undated} == set(map(str, range(len(values))))
    assert [(e.row, e.path) for e in timeline.entries] == [("2", "date[0]"), ("0", "date"), ("4", "date.when")]
    assert [u.path for u in timeline.undated if u.row == "2"] == ["date[1]"]


def test_a_range_is_one_entry_and_a_typed_date_keeps_its_reason() -> None:
    span = {"start": "2024-03-01", "end": "2024-03-10", "original": "1 to 10 March 2024", "problem": None}
    doubtful = {"date": None, "original": "3/4/24", "problem": "3/4/24 may be either"}
    timeline = make_timeline([("a", span), ("b", doubtful)], "date")
    (entry,) = timeline.entries
    assert (entry.first.day, entry.last.day, entry.date) == (1, 10, "2024-03-01 to 2024-03-10")
    assert timeline.undated[0].reason == "3/4/24 may be either"


def test_a_typed_date_of_two_readings_is_listed_as_any_other() -> None:
    cells = [value_type("date").cell(text) for text in ("03/04/2024", "05/06/2024", "15 March 2024")]
    assert date_columns(["day"], [{"day": cell} for cell in cells]) == ("day",)
    timeline = make_timeline([("a", {"start": cells[0], "end": cells[2]})], "span")
    assert [entry.date for entry in timeline.entries] == ["2024-03-15"]
    assert [item.reason for item in timeline.undated] == [
        "it may be 2024-04-03 or 2024-03-04: no order of day and month is declared"
    ]


def test_badges_and_sums_are_no_years() -> None:
    officer, fine = value_type("person").cell("Ann Ruiz #1987"), value_type("amount", currency="USD").cell("$2,000")
    act = {"who": officer, "fine": fine, "when": value_type("date").cell("15 March 2024")}
    assert [entry.date for entry in make_timeline([("a", [act])], "acts").entries] == ["2024-03-15"]
    rows = [{"who": officer, "fine": fine}] * 3
    assert date_columns(["who", "fine"], rows) == ()


def test_gaps_are_days_without_an_entry_and_long_ones_are_named() -> None:
    rows = [("a", "2019-01-01"), ("b", "2019-01-02"), ("c", "2019-01-05"), ("d", "2019-06-05")]
    entries = make_timeline(rows, "date").entries
    # from 5 January to 5 June 2019 are 151 days: 150 lie between
    assert [(e.row, e.gap_days, e.gap) for e in entries] == [
        ("a", 0, ""),
        ("b", 0, ""),
        ("c", 2, ""),
        ("d", 150, "5 months without an entry"),
    ]
    with_year = make_timeline([*rows, ("e", "2019")], "date").entries  # a whole year leaves no day without an entry
    assert [e.gap_days for e in with_year][2:] == [0, 0, 0]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ((2019, 3, 4), (2019, 6, 3), "2 months"),
        ((2019, 3, 4), (2019, 3, 20), "2 weeks"),
        ((2019, 3, 4), (2019, 3, 13), "8 days"),
        ((2019, 3, 4), (2021, 3, 3), "23 months"),
        ((2019, 3, 4), (2021, 3, 4), "2 years"),
    ],
)
def test_gaps_in_words(before: tuple[int, int, int], after: tuple[int, int, int], words: str) -> None:
    assert gap_in_words(datetime.date(*before), datetime.date(*after)) == f"{words} without an entry"


def test_columns_that_hold_dates(case: Case, run: str) -> None:
    view = result_view(case, run)
    assert date_columns(view.columns, view.values) == ("date",)
    assert choose_dates("", view.columns, view.values) == "date"
    with pytest.raises(UsageError, match="no column 'dat'"):
        choose_dates("dat", view.columns, view.values)
    with pytest.raises(UsageError, match="no column of the results holds dates"):
        choose_dates("", ("officer",), view.values)
    years = [{"year": 2019, "count": 2019}, {"year": 2021, "count": 3}]
    assert date_columns(("year", "count"), years) == ("year",)


def test_the_table_by_date_keeps_citations_and_every_row(case: Case, run: str) -> None:
    view = result_view(case, run)
    case.reviews.save(run, [ReviewEdit(view.rows[0].identity(view.columns), "", "reject")], who="ann")
    table = timeline_table(result_table(case, run, reviews=ReviewOptions("none", True)), "date")
    assert table.columns[:3] == ("timeline_date", "days_without_entry", "no_sure_date")
    # DATES of invented_results in order, the first rejected, the fourth empty
    assert [row.id for row in table.rows] == ["row1", "row2", "row5", "row4", "row3"]
    assert table.rows[-1].values["no_sure_date"] == "the cell is empty"
    # from 28 March 2019 to 15 January 2020 are 293 days
    assert table.rows[1].values["days_without_entry"] == 292
    assert table.rows[0].citations["date"][0].page == 2


def test_added_columns_do_not_take_the_name_of_another() -> None:
    table = ResultTable(("timeline_date",), (ResultRow("a", {"timeline_date": "2019"}),))
    assert timeline_table(table, "timeline_date").columns[0] == "timeline_date_"
