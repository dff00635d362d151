"""Typed values in the results table: shown, sorted, filtered, corrected; and where they stand in the documents."""

from __future__ import annotations

import json

import pytest

from engine.errors import UsageError
from engine.evidence.items import leaves
from engine.results.table import matcher
from engine.results.values import items, shown, sort_key, typed
from engine.values.cells import is_typed
from engine.values.registry import value_type
from storage.export import flat

FEE = value_type("amount").cell("EUR 1,200 per claim")
DAY = value_type("date").cell("15 March 2024")
OPEN = value_type("date").cell("03/04/2024")


def test_a_cell_shows_what_was_read_and_the_text() -> None:
    assert shown(FEE) == "1200 EUR per claim (EUR 1,200 per claim)"
    assert shown(DAY) == "2024-03-15 (15 March 2024)"
    assert shown(OPEN) == "? (03/04/2024)"
    assert shown(value_type("date").cell("2024-03-15")) == "2024-03-15"
    assert shown([DAY, OPEN]) == "2024-03-15 (15 March 2024); ? (03/04/2024)"
    person = value_type("person").cell("ALVAREZ, DANIEL #4417")
    assert shown(person) == "DANIEL ALVAREZ 4417 (ALVAREZ, DANIEL #4417)"
    assert shown(value_type("table").cell({"headers": ["a", "b"], "rows": [["1", "2"]]})) == "1 row: a, b"


def test_sorting_and_groups_go_by_what_was_read() -> None:
    texts = ["EUR 900", "EUR 1,000,000", "EUR 1,200", "as agreed"]
    cells = [value_type("amount").cell(text) for text in texts]
    ordered = sorted(cells, key=sort_key)
    assert [cell["original"] for cell in ordered] == ["EUR 900", "EUR 1,200", "EUR 1,000,000", "as agreed"]
    days = [value_type("date").cell(text) for text in ("April 1, 2024", "15 March 2024", "1 May 2023")]
    assert [cell["iso"] for cell in sorted(days, key=sort_key)] == ["2023-05-01", "2024-03-15", "2024-04-01"]
    assert list(items(value_type("date").cell("March 15, 2024"))) == list(items(DAY)) == ["2024-03-15"]


def test_filters_see_the_value_the_parts_and_the_text() -> None:
    assert matcher(">1000")(FEE)
    assert not matcher(">1200")(FEE)
    assert matcher("=EUR")(FEE)
    assert matcher("=1200")(FEE)
    assert matcher("per claim")(FEE)
    assert matcher(">=2024-03")(DAY)
    assert not matcher(">2024-03-15")(DAY)
    assert not matcher(">2020")(OPEN)
    assert matcher("=03/04/2024")(OPEN)


def test_a_correction_is_typed_as_text() -> None:
    assert typed("2024-04-03", OPEN) == value_type("date").cell("2024-04-03")
    assert typed("USD 7", FEE)["value"] == 7
    assert typed("", FEE) is None
    with pytest.raises(UsageError, match="cannot be read"):
        typed("04/05/2024", OPEN)


@pytest.mark.parametrize(
    ("original", "edit", "read"),
    [
        ("ALVAREZ, DANIEL #4417", ("ALVAREZ 4417", "ALVARES 4417"), "DANIEL ALVARES 4417"),
        ("ALVAREZ, DANIEL #4417", ("(ALVAREZ, DANIEL", "(ALVARES, DANIEL"), "ALVARES, DANIEL #4417"),
        ("Sgt. Daniel Alvarez #4417", ("Alvarez 4417", "Alvares 4417"), "Sgt. Daniel Alvares 4417"),
    ],
)
def test_a_name_is_corrected_where_it_is_shown(original: str, edit: tuple[str, str], read: str) -> None:
    cell = value_type("person").cell(original)
    assert typed(shown(cell).replace(*edit), cell) == value_type("person").cell(read)
    assert typed(shown([DAY, cell]).replace(*edit), [DAY, cell]) == [DAY, value_type("person").cell(read)]


def test_a_date_is_corrected_where_it_is_shown() -> None:
    doubtful = value_type("date").cell("3/3/19")
    assert shown(doubtful) == "? 2019-03-03 (3/3/19)"
    assert typed("2019-03-03 (3/3/19)", doubtful) == value_type("date").cell("2019-03-03")


def test_people_are_sorted_by_last_name() -> None:
    texts = ["Sgt. Daniel Alvarez", "Ann Zimmer", "Capt. Bea Moreno #3", "Harmon"]
    cells = [value_type("person").cell(text) for text in texts]
    assert [cell["last"] for cell in sorted(cells, key=sort_key)] == ["Alvarez", "Harmon", "Moreno", "Zimmer"]


def test_items_of_a_list_are_kept_or_typed_as_text() -> None:
    assert typed(f"{shown(DAY)}; 2024-04-03", [DAY, OPEN]) == [DAY, value_type("date").cell("2024-04-03")]
    assert typed(json.dumps([DAY]), [DAY, OPEN]) == [DAY]
    with pytest.raises(UsageError, match="cannot be read"):
        typed(f"{shown(DAY)}; 04/05/2024", [DAY, OPEN])


def test_evidence_is_that_of_the_text() -> None:
    item = {"fee": FEE, "said": "You pay EUR 1,200 per claim."}
    (leaf,) = leaves("fee", FEE, item)
    assert (leaf.path, leaf.key, leaf.value) == ("fee.original", "fee", "EUR 1,200 per claim")
    assert leaf.item is item
    table = value_type("table").cell({"headers": ["Year"], "rows": [["2019"]]})
    assert [leaf.path for leaf in leaves("grid", table, {})] == ["grid.headers[0]", "grid.rows[0][0]"]


def test_an_object_with_an_original_alone_is_no_typed_value() -> None:
    assert is_typed(FEE)
    assert not is_typed({"original": "x", "value": 1})


def test_exports_tell_typed_values_by_the_same_keys() -> None:
    assert set(flat.MARKS) <= FEE.keys()
