"""Gold counts from five rows on, field by field and row by row."""

from __future__ import annotations

import pytest
from plan_outputs import cell, output_of

from engine.optimizer.gold import LEAST_ROWS, Gold, GoldRecord
from engine.rows import RowId

TEXTS = {id: f"text {id}" for id in "abcde"}


def gold(records: dict[str, GoldRecord]) -> Gold:
    return Gold({RowId(id): record for id, record in records.items()})


def wanted(*names: str, **more) -> GoldRecord:
    return GoldRecord(wanted=tuple({"officer": name} for name in names), **more)


FIVE = gold({id: wanted(name) for id, name in zip("abcde", ("Roe", "Diaz", "Holt", "Vega", "Kerr"), strict=True)})


def test_the_mean_of_the_f1_of_each_row():
    answers = [("a", [cell("officer", "Roe")]), ("b", [cell("officer", "Officer Diaz")])]
    answers += [
        ("c", [cell("officer", "Holt")]),
        ("c", [cell("officer", "Nobody Else")]),
        ("d", [cell("officer", "X")]),
    ]
    score = FIVE.score(output_of(TEXTS, answers))
    assert score.rows == LEAST_ROWS
    assert score.f1 == pytest.approx((1 + 1 + 2 / 3 + 0 + 0) / 5)
    assert score.recall == pytest.approx(3 / 5)
    assert score.precision == pytest.approx((1 + 1 + 1 / 2 + 0 + 1) / 5)  # who says nothing says nothing wrong


def test_four_rows_are_too_few():
    four = {id: record for id, record in FIVE.records.items() if id != "e"}
    assert Gold(four).score(output_of(TEXTS, [("a", [cell("officer", "Roe")])])) is None
    assert FIVE.score(output_of({"a": "x"}, [])) is None


def test_gold_of_other_fields_says_nothing():
    assert FIVE.score(output_of(TEXTS, [("a", [cell("summary", "Roe")])])) is None


def test_a_record_in_which_nothing_is_to_be_found():
    nothing = gold({id: wanted() for id in "abcde"})
    assert nothing.score(output_of(TEXTS, [])).f1 == 1.0
    assert gold({**{id: wanted("Roe") for id in "abcd"}, "e": wanted()}).score(
        output_of(TEXTS, [(id, [cell("officer", "Roe")]) for id in "abcde"])
    ).f1 == pytest.approx(4 / 5)


def test_where_a_reviewer_saw_a_part_the_unknown_counts_neither_way():
    part = gold({id: wanted("Roe", unwanted=({"officer": "Diaz"},), is_complete=False) for id in "abc"})
    unknown = output_of(TEXTS, [(id, [cell("officer", n)]) for id in "abc" for n in ("Roe", "Holt")])
    refused = output_of(TEXTS, [(id, [cell("officer", n)]) for id in "abc" for n in ("Roe", "Diaz")])
    assert part.score(unknown).f1 == 1.0
    assert part.score(refused).precision == 0.5
