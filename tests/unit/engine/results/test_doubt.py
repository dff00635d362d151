"""Which rows a person looks at first: least agreement and most failed checks."""

from __future__ import annotations

from engine.results.doubt import doubt_of
from engine.results.table import ResultView, Selection
from engine.values.registry import value_type
from storage.result_rows import DeliveredRow
from storage.reviewed import ReviewBook

OPEN = value_type("date").cell("03/04/2024")
READ = value_type("date").cell("15 March 2024")


def agreed(**shares: float) -> dict[str, object]:
    values = [{"value": "a", "readings": 1}, {"value": "b", "readings": 1}]
    return {name: {"share": share, "values": values} for name, share in shares.items()}


def test_the_field_that_agrees_least_counts() -> None:
    found = doubt_of({"name": "a", "act": "hit", "_m_agreement": agreed(name=0.5, act=1.0)})
    assert (found.disagreement, found.failed) == (0.5, 0)
    assert found.cells == {"name": "Readings agree by 50%: a (1), b (1)"}


def test_how_likely_a_list_was_to_be_empty_counts_and_is_told_where_it_is_not_sure() -> None:
    missed = doubt_of({"acts": [], "_empty": {"acts": 0.6}})
    assert missed.disagreement == 0.4
    assert missed.cells == {"acts": "Nothing was found, but something was 40% likely"}
    listed = doubt_of({"acts": ["hit"], "_empty": {"acts": 0.25}})
    assert listed.disagreement == 0.25
    assert listed.cells == {"acts": "The model might have listed nothing here: 25% likely"}
    sure = doubt_of({"acts": "hit", "_empty": {"acts": 0.04}})  # a row of its own, of a list that was unnested
    assert (sure.disagreement, sure.cells) == (0.04, {})
    kept = doubt_of({"acts": None, "_empty": {"acts": 0.96}})  # unnest of an empty list with keep_empty
    assert (kept.disagreement, kept.cells) == (0.04, {})


def test_how_likely_a_list_was_to_be_empty_that_the_row_does_not_hold_says_nothing_of_it() -> None:
    found = doubt_of({"text_extracted_find": "", "_empty": {"line_ranges": 0.95}})
    assert (found.disagreement, found.cells) == (0, {})


def test_values_that_could_not_be_read_and_cells_not_located_are_failed_checks() -> None:
    found = doubt_of({"signed": OPEN, "paid": READ, "days": [{"on": OPEN}]}, {"name"})
    assert found.failed == 3
    assert "may be 2024-04-03 or 2024-03-04" in found.cells["signed"]
    assert "paid" not in found.cells


def test_an_answer_in_conflict_is_told_of_the_answer() -> None:
    found = doubt_of({"answer": "x", "answer_status": "conflict", "answer_items": []})
    assert (found.failed, found.cells) == (1, {"answer": "the answer is conflict"})
    assert doubt_of({"answer": "x", "answer_status": "found", "answer_items": []}).failed == 0
    assert doubt_of({"case_status": "conflict"}).failed == 0


def test_rows_are_ordered_by_their_doubt_and_keep_their_order_where_it_is_equal() -> None:
    values = [
        {"_m_agreement": agreed(name=1.0)},
        {"signed": OPEN},
        {"_m_agreement": agreed(name=0.4)},
        {"name": "not looked at twice"},
        {"name": "nowhere in the records"},
    ]
    rows = [
        DeliveredRow(number, f"r{number}", value, (), frozenset({"name"} if number == 4 else ()))
        for number, value in enumerate(values)
    ]
    view = ResultView(("name", "signed"), rows, ReviewBook(()))
    assert view.select(Selection(least_agreed_first=True)) == [1, 4, 2, 0, 3]
    assert view.select(Selection(least_agreed_first=True, sort="name")) == [3, 4, 0, 1, 2]
