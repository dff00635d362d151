"""Tables sorted, filtered, grouped and counted; expected rows are those of invented_results."""

from __future__ import annotations

import pytest
from invented_results import COLUMNS, PIPELINE

from engine.errors import UsageError
from engine.results.charts import count_by_document, count_over_time, count_values
from engine.results.gold import gold_rows
from engine.results.shown import Bar
from engine.results.table import ColumnFilter, ResultView, Selection, result_view
from storage.case import Case
from storage.result_rows import DeliveredRow
from storage.reviewed import ReviewBook
from storage.reviews import ReviewEdit, RowIdentity, StoredEdit
from storage.rows import RowRecord


def test_sorting_puts_empty_cells_last_either_way(case: Case, run: str) -> None:
    view = result_view(case, run)
    assert view.select(Selection(sort="days")) == [1, 5, 4, 0, 2, 3]
    assert view.select(Selection(sort="days", descending=True)) == [2, 0, 4, 1, 5, 3]
    assert view.select(Selection()) == [0, 1, 2, 3, 4, 5]


def test_filters_come_together(case: Case, run: str) -> None:
    view = result_view(case, run)
    harmon = ColumnFilter("officer", "harmon")
    assert view.select(Selection(filters=(harmon,))) == [0, 1, 4]
    assert view.select(Selection(filters=(harmon, ColumnFilter("date", "<2020")))) == [0, 1]
    assert view.select(Selection(filters=(ColumnFilter("acts", "="),))) == [3]
    assert view.select(Selection(only_not_located=True)) == [4]
    assert view.select(Selection(document=view.rows[2].documents[0])) == [2]
    with pytest.raises(UsageError, match="no column 'ofice'"):
        view.select(Selection(filters=(ColumnFilter("ofice", "x"),)))


def test_groups_count_each_item_and_leave_their_own_filter_out(case: Case, run: str) -> None:
    view = result_view(case, run)
    only = Selection(filters=(ColumnFilter("officer", "=Ana Ruiz"), ColumnFilter("force", "=yes")))
    assert view.group("officer", only) == {"Ana Ruiz": 1, "Daniel Harmon": 1, "Michael Harmon": 1}
    assert view.group("acts", Selection()) == {"struck a man": 5, "": 1}


def test_reviews_change_what_is_selected(case: Case, run: str) -> None:
    view = result_view(case, run)
    at = view.rows[4].identity(view.columns)
    correction = ReviewEdit(at, "officer", "correct", original="Michael Harmon", value="Mo Harmon")
    case.reviews.save(run, [correction], who="ann")
    after = result_view(case, run)
    assert after is not view
    assert after.select(Selection(only_unreviewed=True)) == [0, 1, 2, 3, 5]
    assert after.group("officer", Selection())["Mo Harmon"] == 1
    assert (after.reviewed, after.unplaced) == (1, 0)
    assert result_view(case, run) is after


def test_rejecting_a_row_leaves_its_twin_alone() -> None:
    """Also where an edit of an earlier run is about a row that is not here."""
    rows = [DeliveredRow(number, f"r{number}", {"name": "Harmon"}, ("a",), frozenset()) for number in range(2)]
    first, gone = rows[0].identity(("name",)), RowIdentity("gone", b"gone")
    edits = [
        StoredEdit(number, number, "1", ReviewEdit(at, "", "reject"), b"", "ann", "2024-03-04")
        for number, at in enumerate((gone, first), 1)
    ]
    view = ResultView(("name",), rows, ReviewBook(edits))
    assert [view.review(number).verdict for number in range(2)] == ["rejected", ""]
    assert view.select(Selection(without_rejected=True)) == [1]


def test_a_verdict_follows_a_row_whose_id_moved() -> None:
    """Another row has the id that the rejected one had in an earlier run."""
    before = DeliveredRow(0, "r0", {"name": "Harmon"}, ("a",), frozenset()).identity(("name",))
    book = ReviewBook([StoredEdit(1, 1, "1", ReviewEdit(before, "", "reject"), b"", "ann", "2024-03-04")])
    names = ("Novak", "Harmon", "Diaz")
    rows = [DeliveredRow(n, f"r{n}", {"name": name}, ("a",), frozenset()) for n, name in enumerate(names)]
    empty = ResultView(("name",), rows, ReviewBook(()))
    for view in (ResultView(("name",), rows, book), empty.with_reviews(book)):
        assert [view.review(number).verdict for number in range(3)] == ["", "rejected", ""]
        assert view.select(Selection(only_unreviewed=True)) == [0, 2]
        assert (view.reviewed, view.unplaced) == (1, 0)


def test_gold_rows_are_those_a_person_judged(case: Case, run: str) -> None:
    view = result_view(case, run)
    first, second = (view.rows[n].identity(view.columns) for n in (0, 1))
    case.reviews.save(run, [ReviewEdit(first, "", "reject")], who="ann")
    case.reviews.save(run, [ReviewEdit(second, "days", "correct", original=2, value=3)], who="ann")
    rejected, corrected = gold_rows(case, run)
    assert (rejected.row_id, rejected.verdict, rejected.judged) == ("row0", "rejected", view.columns)
    assert (corrected.verdict, corrected.judged, corrected.values["days"]) == ("corrected", ("days",), 3)
    assert corrected.documents == view.rows[1].documents


def test_a_cell_that_was_rejected_is_wrong_and_the_others_are_not(case: Case, run: str) -> None:
    view = result_view(case, run)
    first, second = (view.rows[n].identity(view.columns) for n in (0, 1))
    correction = ReviewEdit(first, "officer", "correct", original="Daniel Harmon", value="Dan Harmon")
    case.reviews.save(run, [correction, ReviewEdit(first, "days", "reject", original=10)], who="ann")
    rejection = ReviewEdit(second, "date", "reject", original="2019-03-28")
    case.reviews.save(run, [ReviewEdit(second, "", "accept"), rejection], who="ann")
    of_cells, accepted = gold_rows(case, run)
    assert (of_cells.judged, of_cells.rejected) == (("officer", "days"), ("days",))
    assert (accepted.judged, accepted.rejected) == (view.columns, ("date",))


def test_what_was_reviewed_of_another_question_is_not_missed(case: Case, run: str) -> None:
    for id, pipeline in (("here", PIPELINE), ("elsewhere", PIPELINE.replace("Who?", "When?"))):
        other = case.runs.start(pipeline_yaml=pipeline, pipeline_digest="q", model_name="scripted")
        case.rows.save(other, "find", [RowRecord(id, {"officer": "Novak"})])
        case.runs.save_results(other, COLUMNS, [id])
        case.runs.finish(other, "finished")
        (row,) = case.result_rows.read(other)
        case.reviews.save(other, [ReviewEdit(row.identity(COLUMNS), "", "accept")], who="ann")
    assert result_view(case, run).unplaced == 1


def test_bars_count_documents(case: Case, run: str) -> None:
    bars = count_values(result_view(case, run), Selection(), "officer", "documents", 2)
    assert (bars.bars, bars.others) == ((Bar("Ana Ruiz", 3), Bar("Daniel Harmon", 2)), 1)


def test_dates_are_counted_without_gaps(case: Case, run: str) -> None:
    view = result_view(case, run)
    by_year = count_over_time(view, Selection(), "date", "year")
    assert by_year.bars == (Bar("2019", 2), Bar("2020", 2), Bar("2021", 1))
    assert by_year.undated == 1
    by_month = count_over_time(view, Selection(filters=(ColumnFilter("date", "<2020-02"),)), "date", "month")
    assert len(by_month.bars) == 11  # March 2019 to January 2020
    assert [bar for bar in by_month.bars if bar.count] == [Bar("2019-03", 2), Bar("2020-01", 1)]


def test_the_matrix_has_documents_and_values(case: Case, run: str) -> None:
    view = result_view(case, run)
    matrix = count_by_document(view, Selection(), "officer", 2, 10)
    assert (matrix.values, matrix.other_values, matrix.other_documents) == (("Ana Ruiz", "Daniel Harmon"), 1, 0)
    assert [sum(column) for column in zip(*matrix.counts, strict=True)] == [3, 2]
    assert all(sum(counts) <= 1 for counts in matrix.counts)
