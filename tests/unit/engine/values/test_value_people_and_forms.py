"""People, addresses, accounts and tables; IBANs are the examples of the SWIFT registry."""

from __future__ import annotations

from typing import Any

import pytest

from engine.values.registry import value_type

PARTS = ("rank", "first", "middle", "last", "suffix", "badge")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sgt. Daniel R. Alvarez Jr. #4417", ("Sgt.", "Daniel", "R.", "Alvarez", "Jr.", "4417")),
        ("ALVAREZ, DANIEL", (None, "DANIEL", None, "ALVAREZ", None, None)),
        ("HARMON, DANIEL J., JR.", (None, "DANIEL", "J.", "HARMON", "JR.", None)),
        ("Officer Alvarez", ("Officer", None, None, "Alvarez", None, None)),
        ("Det. Maria de la Cruz (Badge No. 221)", ("Det.", "Maria", None, "de la Cruz", None, "221")),
        ("Ludwig van Beethoven", (None, "Ludwig", None, "van Beethoven", None, None)),
        ("Mr. John Q. Public, Esq.", ("Mr.", "John", "Q.", "Public", "Esq.", None)),
        ("Chief of Police Ann Smith", ("Chief of Police", "Ann", None, "Smith", None, None)),
        ("Ibrahim al-Rashid", (None, "Ibrahim", None, "al-Rashid", None, None)),
        ("Anne-Marie d’Arc", (None, "Anne-Marie", None, "d'Arc", None, None)),
        ("Nguyen Thi My", (None, "Nguyen", "Thi", "My", None, None)),
        ("Prof. Dr. Anna Weiß", ("Prof. Dr.", "Anna", None, "Weiß", None, None)),
        ("Herr Müller", ("Herr", None, None, "Müller", None, None)),
        ("John Herr", (None, "John", None, "Herr", None, None)),
        ("Rev. Al Green", ("Rev.", "Al", None, "Green", None, None)),
        ("State Trooper Bob Hall", ("State Trooper", "Bob", None, "Hall", None, None)),
        ("Sgt. John Harmon¹²", ("Sgt.", "John", None, "Harmon", None, None)),
    ],
)
def test_a_name_is_told_apart(text: str, expected: tuple[str | None, ...]) -> None:
    cell = value_type("person").cell(text)
    assert tuple(cell[part] for part in PARTS) == expected
    assert (cell["original"], cell["problem"]) == (text, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Officers Diaz and Li", "several people"),
        ("An Offer", "does not look like the name of a person"),
        ("pre-Trial Order", "does not look like the name of a person"),
        ("Acme Corporation, a Delaware corporation", "does not look like the name of a person"),
        ("Officer #1234", "no name is written"),
    ],
)
def test_what_is_no_one_person_says_so(text: str, problem: str) -> None:
    cell = value_type("person").cell(text)
    assert cell["last"] is None
    assert problem in cell["problem"]


def test_a_badge_without_a_name_is_kept() -> None:
    assert value_type("person").cell("Officer #1234")["badge"] == "1234"


def test_an_address_has_only_parts_that_stand_in_it() -> None:
    written = {
        **{"original": "350 Fifth Avenue, New York, 10118, USA", "street": "350 Fifth Avenue"},
        **{"postal_code": "10118", "city": "New York", "region": "NY", "country": "USA"},
    }
    assert value_type("address").cell(written) == {
        **{"street": "350 Fifth Avenue", "postal_code": "10118", "city": "New York", "region": None},
        **{"country": "USA", "original": written["original"], "problem": "not in the address: region 'NY'"},
    }


@pytest.mark.parametrize(
    "iban", ["DE89 3704 0044 0532 0130 00", "GB29 NWBK 6016 1331 9268 19", "FR14 2004 1010 0505 0001 3M02 606"]
)
def test_an_iban_of_the_registry_is_one(iban: str) -> None:
    cell = value_type("iban").cell(f"IBAN: {iban}")
    assert cell == {
        **{"iban": iban.replace(" ", ""), "country": iban[:2], "original": f"IBAN: {iban}", "problem": None}
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("DE89 3704 0044 0532 0130 01", "check digits"),
        ("DE89 3704 0044 0532 0130", "22 characters"),
        ("XX89 3704 0044", "no country"),
        ("4417", "form of an IBAN"),
    ],
)
def test_an_iban_with_a_slip_is_none(text: str, problem: str) -> None:
    cell = value_type("iban").cell(text)
    assert cell["iban"] is None
    assert problem in cell["problem"]


def test_a_table_keeps_rows_that_do_not_fit_its_headers_and_says_so() -> None:
    written: Any = {"headers": ["Year", "Premium"], "rows": [["2019", "USD 5"], ["2020"]]}
    cell = value_type("table").cell(written)
    assert (cell["headers"], cell["rows"]) == (written["headers"], written["rows"])
    assert cell["problem"] == "there are 2 headers, but row 2 has 1 cells"
