"""Reviews: a journal that is undone and done again, and that finds its rows in another run."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_csv import csv_text

from storage.case import Case
from storage.errors import BadRecord, NotInCase
from storage.evidence import EvidenceRecord
from storage.export.assemble import result_table
from storage.export.long_form import long_form
from storage.export.reviews import ReviewOptions
from storage.reviewed import NO_REVIEW, ReviewBook, RowReview, edited_rows
from storage.reviews import ReviewEdit, RowIdentity, value_digest
from storage.rows import RowRecord

COLUMNS = ("name", "days")
ROWS: tuple[dict[str, Any], ...] = ({"name": "Harmon", "days": 3}, {"name": "Ruiz", "days": 5})


def make_run(case: Case, letter: str, prefix: str = "r", rows: tuple[dict[str, Any], ...] = ROWS) -> str:
    run = case.runs.start(pipeline_yaml="operations: []", pipeline_digest="p", model_name="m")
    records = [RowRecord(f"{prefix}{n}", values, (), letter) for n, values in enumerate(rows)]
    case.rows.save(run, "find", records)
    case.evidence.save(run, [EvidenceRecord(f"{prefix}0", "name", "", letter, 1, 2, 2, "exact", 1.0)])
    case.evidence.save(run, [EvidenceRecord.not_located(f"{prefix}0", "days")])
    case.runs.save_results(run, COLUMNS, [record.id for record in records])
    return run


def identity(case: Case, run: str, number: int) -> RowIdentity:
    (row,) = case.result_rows.read(run, numbers=[number])
    return row.identity(COLUMNS)


def review(case: Case, run: str, number: int) -> RowReview:
    (row,) = case.result_rows.read(run, numbers=[number])
    book = ReviewBook(case.reviews.edits())
    return book.review(row.identity(COLUMNS), row.values, edited_rows(case.result_rows, run, book))


def correct(case: Case, run: str, number: int, name: str) -> int:
    original = ROWS[number]["name"]
    edit = ReviewEdit(identity(case, run, number), "name", "correct", original=original, value=name)
    return case.reviews.save(run, [edit], who="ann")


def test_a_correction_lies_beside_what_the_model_said(case: Case, letter: str) -> None:
    run = make_run(case, letter)
    correct(case, run, 0, "Daniel Harmon")
    found = review(case, run, 0)
    assert (found.verdict, found.cells["name"].who) == ("corrected", "ann")
    assert found.values(ROWS[0]) == {"name": "Daniel Harmon", "days": 3}
    assert case.rows.get(run, "r0").values == ROWS[0]
    assert review(case, run, 1) is NO_REVIEW


def test_steps_are_undone_and_done_again_in_order(case: Case, letter: str) -> None:
    run = make_run(case, letter)
    correct(case, run, 0, "Daniel Harmon")
    case.reviews.save(run, [ReviewEdit(identity(case, run, n), "", "reject") for n in (0, 1)], who="ann")
    assert [review(case, run, n).verdict for n in (0, 1)] == ["rejected", "rejected"]
    undone = case.reviews.undo()
    assert undone is not None
    assert (undone.kind, undone.cells) == ("reject", (("r0", ""), ("r1", "")))
    assert [review(case, run, n).verdict for n in (0, 1)] == ["corrected", ""]
    case.reviews.undo()
    assert case.reviews.undo() is None
    assert review(case, run, 0) is NO_REVIEW
    redone = case.reviews.redo()
    assert redone is not None
    assert redone.kind == "correct"
    assert review(case, run, 0).cells["name"].value == "Daniel Harmon"
    case.reviews.save(run, [ReviewEdit(identity(case, run, 1), "", "accept")], who="ann")
    assert case.reviews.redo() is None


def test_another_edit_in_place_of_one_that_was_undone_is_seen(case: Case, letter: str) -> None:
    run = make_run(case, letter)
    case.reviews.save(run, [ReviewEdit(identity(case, run, 0), "", "accept")], who="ann")
    first = case.reviews.stamp()
    case.reviews.undo()
    time.sleep(0.002)  # times of edits are kept to the millisecond
    case.reviews.save(run, [ReviewEdit(identity(case, run, 0), "", "reject")], who="ann")
    assert case.reviews.stamp() != first


def test_notes_and_verdicts_do_not_replace_each_other(case: Case, letter: str) -> None:
    run = make_run(case, letter)
    at = identity(case, run, 1)
    case.reviews.save(run, [ReviewEdit(at, "", "note", note="see page 3")], who="ann")
    case.reviews.save(run, [ReviewEdit(at, "", "accept")], who="bob")
    assert (review(case, run, 1).verdict, review(case, run, 1).note) == ("accepted", "see page 3")
    case.reviews.save(run, [ReviewEdit(at, "", "clear")], who="bob")
    assert (review(case, run, 1).verdict, review(case, run, 1).note) == ("", "see page 3")
    case.reviews.save(run, [ReviewEdit(at, "", "note")], who="bob")
    assert review(case, run, 1).note == ""


def test_a_rename_is_no_verdict(case: Case, letter: str) -> None:
    run = make_run(case, letter)
    edit = ReviewEdit(identity(case, run, 0), "name", "rename", original="Harmon", value="D. Harmon")
    case.reviews.save(run, [edit], who="ann")
    assert review(case, run, 0).values(ROWS[0])["name"] == "D. Harmon"
    assert not review(case, run, 0).is_reviewed


def test_reviews_are_found_again_in_a_run_that_made_the_rows_otherwise(case: Case, letter: str) -> None:
    """The ids differ, as after another operator was put in; documents and values are the same."""
    correct(case, make_run(case, letter), 0, "Daniel Harmon")
    again = make_run(case, letter, prefix="other")
    assert review(case, again, 0).cells["name"].value == "Daniel Harmon"


def test_an_edit_of_a_row_that_is_here_is_not_one_of_its_twin(case: Case, letter: str) -> None:
    twins = (ROWS[0], ROWS[0])
    run = make_run(case, letter, rows=twins)
    case.evidence.save(run, [EvidenceRecord("r1", "name", "", letter, 1, 2, 2, "exact", 1.0)])
    first, second = (identity(case, run, number) for number in (0, 1))
    assert first.digest == second.digest
    case.reviews.save(run, [ReviewEdit(first, "", "reject")], who="ann")
    book = ReviewBook(case.reviews.edits())
    assert book.review(first, ROWS[0], {first, second}).verdict == "rejected"
    assert book.review(second, ROWS[0], {first, second}) is NO_REVIEW
    assert [review(case, run, number).verdict for number in (0, 1)] == ["rejected", ""]
    table = result_table(case, run, reviews=ReviewOptions("none", drop_rejected=True))
    assert ([row.id for row in table.rows], table.notes) == (["r1"], ("1 rejected row was left out.",))


def test_an_edit_of_an_earlier_run_is_one_of_all_rows_that_are_alike(case: Case, letter: str) -> None:
    run = make_run(case, letter, rows=(ROWS[0],))
    case.reviews.save(run, [ReviewEdit(identity(case, run, 0), "", "reject")], who="ann")
    again = make_run(case, letter, prefix="other", rows=(ROWS[0], ROWS[0]))
    case.evidence.save(again, [EvidenceRecord("other1", "name", "", letter, 1, 2, 2, "exact", 1.0)])
    here = [identity(case, again, number) for number in (0, 1)]
    book = ReviewBook(case.reviews.edits())
    assert [book.review(row, ROWS[0], here).verdict for row in here] == ["rejected", "rejected"]


def test_an_edit_of_an_earlier_run_follows_a_row_to_another_place(case: Case, letter: str) -> None:
    """The rows have changed places, so that the id is another row's now."""
    run = make_run(case, letter)
    case.reviews.save(run, [ReviewEdit(identity(case, run, 0), "", "reject")], who="ann")
    again = make_run(case, letter, rows=(ROWS[1], ROWS[0]))
    case.evidence.save(again, [EvidenceRecord("r1", "name", "", letter, 1, 2, 2, "exact", 1.0)])
    here = [identity(case, again, number) for number in (0, 1)]
    book = ReviewBook(case.reviews.edits())
    assert book.review(here[0], ROWS[1], here) is NO_REVIEW
    assert book.review(here[1], ROWS[0], here).verdict == "rejected"


def test_a_cell_keeps_its_correction_when_another_cell_of_the_row_changes(case: Case, letter: str) -> None:
    run = make_run(case, letter)
    correct(case, run, 0, "Daniel Harmon")
    case.reviews.save(run, [ReviewEdit(identity(case, run, 0), "", "accept")], who="ann")
    again = make_run(case, letter, rows=({"name": "Harmon", "days": 4}, ROWS[1]))
    assert review(case, again, 0).cells["name"].value == "Daniel Harmon"
    assert review(case, again, 0).whole.verdict == ""


def test_a_value_that_changed_is_not_taken_for_the_one_reviewed(case: Case, letter: str) -> None:
    run = make_run(case, letter)
    correct(case, run, 0, "Daniel Harmon")
    again = make_run(case, letter, rows=({"name": "Harper", "days": 3}, ROWS[1]))
    assert review(case, again, 0) is NO_REVIEW


def test_only_known_edits_of_known_runs_are_kept(case: Case, letter: str) -> None:
    run = make_run(case, letter)
    with pytest.raises(BadRecord, match="accept, correct"):
        ReviewEdit(identity(case, run, 0), "", "praise")  # type: ignore[arg-type]
    with pytest.raises(BadRecord, match="of one field"):
        ReviewEdit(identity(case, run, 0), "", "correct", value="x")
    with pytest.raises(NotInCase):
        case.reviews.save("99", [ReviewEdit(identity(case, run, 0), "", "accept")], who="ann")
    with pytest.raises(NotInCase, match="is no result"):
        case.result_rows.numbers(run, ["nobody"])


def test_pages_and_numbers_of_results_keep_their_order(case: Case, letter: str) -> None:
    run = make_run(case, letter, rows=tuple({"name": f"n{n}", "days": n} for n in range(7)))
    assert [row.id for row in case.result_rows.read(run, offset=2, limit=3)] == ["r2", "r3", "r4"]
    assert [row.id for row in case.result_rows.read(run, numbers=[5, 0, 3])] == ["r5", "r0", "r3"]
    assert case.result_rows.numbers(run, ["r6", "r1"]) == [6, 1]
    first, *rest = case.result_rows.read(run)
    assert (first.documents, first.not_located) == ((letter,), {"days"})
    assert all(not row.not_located for row in rest)


def test_a_long_value_is_read_in_bulk_too(case: Case, letter: str) -> None:
    run = make_run(case, letter, rows=({"name": "x" * 5000, "days": 1}, ROWS[1]))
    assert [len(row.values["name"]) for row in case.result_rows.read(run)] == [5000, 4]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5), st.text())
def test_equal_values_have_equal_digests(value: Any, name: str) -> None:
    assert value_digest({name: value, name + "x": 1}) == value_digest({name + "x": 1, name: value})
    assert value_digest([value]) != value_digest([[value]])


def reviewed_table(case: Case, letter: str, options: ReviewOptions) -> list[str]:
    run = make_run(case, letter)
    correct(case, run, 0, "Daniel Harmon")
    case.reviews.save(run, [ReviewEdit(identity(case, run, 1), "", "reject")], who="ann")
    case.reviews.save(run, [ReviewEdit(identity(case, run, 1), "", "note", note="another Ruiz")], who="ann")
    return csv_text(result_table(case, run, reviews=options)).splitlines()


def test_reviews_beside_the_values(case: Case, letter: str) -> None:
    assert reviewed_table(case, letter, ReviewOptions("beside")) == [
        "name,days,reviewed,name_corrected,review_note,name_source,days_source",
        "Harmon,3,corrected,Daniel Harmon,,letter.pdf p.1 l.2,not located",
        "Ruiz,5,rejected,,another Ruiz,,",
    ]


def test_corrections_in_place_of_the_values_cite_nothing(case: Case, letter: str) -> None:
    """The lines that were cited do not say what the reviewer wrote."""
    assert reviewed_table(case, letter, ReviewOptions("applied")) == [
        "name,days,reviewed,review_note,name_source,days_source",
        "Daniel Harmon,3,corrected,,,not located",
        "Ruiz,5,rejected,another Ruiz,,",
    ]


def test_rejected_rows_are_left_out_with_a_note(case: Case, letter: str) -> None:
    run = make_run(case, letter)
    case.reviews.save(run, [ReviewEdit(identity(case, run, 1), "", "reject")], who="ann")
    table = result_table(case, run, reviews=ReviewOptions("none", drop_rejected=True))
    assert [row.id for row in table.rows] == ["r0"]
    assert table.notes == ("1 rejected row was left out.",)


def test_the_long_form_has_a_row_for_each_place(case: Case, letter: str) -> None:
    run = make_run(case, letter)
    table = long_form(result_table(case, run))
    places = [[row.values[c] for c in ("row", "column", "value", "file", "first_line", "method")] for row in table.rows]
    assert places == [
        [1, "name", "Harmon", "letter.pdf", 2, "exact"],
        [1, "days", 3, "not located", None, "not_located"],
        [2, "name", "Ruiz", None, None, ""],
        [2, "days", 5, None, None, ""],
    ]
    assert csv_text(table).splitlines()[0].endswith("quote,method,score")


def test_rows_of_a_document_and_those_of_them_that_were_reviewed_are_counted(case: Case, letter: str) -> None:
    first, second = make_run(case, letter), make_run(case, letter)  # each has one row with evidence, r0
    count = partial(case.labels.count_result_rows_of, [letter])
    assert (count(), count(reviewed=True)) == (2, 0)
    correct(case, first, 0, "Daniel Harmon")
    correct(case, first, 1, "Ruiz Soto")  # without evidence in the letter
    assert count(reviewed=True) == 1
    correct(case, second, 0, "D. Harmon")
    assert (count(), count(reviewed=True)) == (2, 2)
    case.reviews.undo()
    assert count(reviewed=True) == 1
    case.labels.remove_documents([letter])
    assert (review(case, first, 0).verdict, count(reviewed=True)) == ("corrected", 1)
