"""Sums of money as contracts, invoices and police records write them."""

from __future__ import annotations

import pytest

from engine.errors import UsageError
from engine.values.registry import value_type


@pytest.mark.parametrize(
    ("text", "value", "currency", "unit"),
    [
        ("€120¹", 120, "EUR", None),
        ("€ 12 per m²", 12, "EUR", "per m2"),
        ("USD 1,200 per claim", 1200, "USD", "per claim"),
        ("€ 1.200,50", 1200.5, "EUR", None),
        ("1 200,00 EUR", 1200, "EUR", None),
        ("1.234.567,89 €", 1234567.89, "EUR", None),
        ("£2.5 million", 2_500_000, "GBP", None),
        ("US$ 3.4bn", 3_400_000_000, "USD", None),
        ("100,000,000 JPY", 100_000_000, "JPY", None),
        ("CHF 1'200.–", 1200, "CHF", None),
        ("500,000 US Dollars (five hundred thousand)", 500_000, "USD", None),
        ("One Million Dollars (US$1,000,000)", 1_000_000, "USD", None),
        ("a monthly fee of EUR 10,000", 10_000, "EUR", None),
        ("US$ 25,000 per month", 25_000, "USD", "per month"),
        ("INR 2 crore", 20_000_000, "INR", None),
        ("INR 5,00,000", 500_000, "INR", None),
        ("-500 EUR", -500, "EUR", None),
        ("loss: -€500", -500, "EUR", None),
        ("Bail—€5,000", 5000, "EUR", None),
        ("Fine-€250", 250, "EUR", None),
        ("two hundred fifty thousand euros", 250_000, "EUR", None),
        ("EUR .01 per share", 0.01, "EUR", "per share"),
        ("EUR 5,000 within thirty (30) days", 5000, "EUR", None),
        ("GBP 500 under Section 4.2 on 12 March 2024", 500, "GBP", None),
        ("AUD$5,000", 5000, "AUD", None),
        ("USD1,000", 1000, "USD", None),
        ("GBP20.00", 20, "GBP", None),
        ("half a million euros", 500_000, "EUR", None),
        ("one and a half million euros", 1_500_000, "EUR", None),
        ("three-quarters of a million euros", 750_000, "EUR", None),
        ("a quarter of a million euros", 250_000, "EUR", None),
        ("a million euros", 1_000_000, "EUR", None),
        ("€1½ million", 1_500_000, "EUR", None),
        ("EUR 2 1/2 million", 2_500_000, "EUR", None),
        ("twenty-five US dollars and fifty cents", 25.5, "USD", None),
        ("25 euros 50 cents per day", 25.5, "EUR", "per day"),
        ("one hundred twenty and 50/100 euros", 120.5, "EUR", None),
        ("One hundred twenty and 50/100 euros (€120.50)", 120.5, "EUR", None),
        ("EUR 120 and no/100", 120, "EUR", None),
        ("€0.50 (fifty cents)", 0.5, "EUR", None),
        ("€25 for half a day", 25, "EUR", "a day"),
        ("minus €50", -50, "EUR", None),
        ("negative fifty euros", -50, "EUR", None),
    ],
)
def test_a_sum_is_read_with_its_currency_and_unit(text: str, value: float, currency: str, unit: str | None) -> None:
    expected = {"value": value, "currency": currency, "unit": unit, "original": text, "problem": None}
    assert value_type("amount").cell(text) == expected


def test_a_sign_of_several_currencies_needs_a_declared_one() -> None:
    open_ = value_type("amount").cell("$15.00/hour")
    assert (open_["value"], open_["currency"], open_["unit"]) == (15, None, "/hour")
    assert "$ may be USD, CAD" in open_["problem"]
    assert value_type("amount", currency="USD").cell("$15.00/hour")["currency"] == "USD"
    other = value_type("amount", currency="USD").cell("Rs. 5,00,000")
    assert other["currency"] is None
    assert "INR" in other["problem"]
    assert value_type("amount", currency="USD").cell("EUR 5")["currency"] == "EUR"
    assert [value_type("amount", currency="INR").cell(text)["value"] for text in ("Rs.500", "Rs 500")] == [500, 500]
    assert value_type("amount", currency="SEK").cell("kr500")["value"] == 500


def test_a_declared_currency_is_that_of_a_bare_number_and_of_nothing_else() -> None:
    kind = value_type("amount", currency="USD")
    assert kind.cell("1,500.00")["currency"] == "USD"
    assert kind.cell("ten (10) days")["currency"] is None
    assert kind.cell("1,200 square feet")["problem"] == "no currency is written"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("about a grand", "no number"),
        ("12%", "no number"),
        ("between EUR 5 and EUR 10", "it names 2 amounts: EUR 5, EUR 10"),
        ("EUR 5 to 10", "it names 2 amounts: EUR 5, 10"),
        ("two hundred dollars ($300)", "it names 2 amounts"),
        ("EUR 1.200", "may be 1200 or 1 and a fraction"),
        ("- 500 EUR", "may be a minus"),
        ("€5,000-", "may be a minus"),
        ("€10-20", "it is a range"),
        ("10-20 euros", "it is a range"),
        ("several million euros", "several million is no number in particular"),
        ("a million and a half euros", "a part that is not read: and a half"),
    ],
)
def test_what_cannot_be_told_is_null_with_its_reason(text: str, problem: str) -> None:
    cell = value_type("amount").cell(text)
    assert (cell["value"], cell["original"]) == (None, text)
    assert problem in cell["problem"]


def test_a_declared_decimal_mark_reads_1_200() -> None:
    assert value_type("amount", decimal="comma").cell("EUR 1.200")["value"] == 1200
    assert value_type("amount", decimal="point").cell("EUR 1.200")["value"] == 1.2
    assert value_type("amount", decimal="comma").cell("EUR 1,200")["value"] == 1.2


def test_currencies_that_contradict_are_a_problem() -> None:
    cell = value_type("amount").cell("500 euros (USD 500)")
    assert cell["currency"] is None
    assert "several currencies" in cell["problem"]


def test_options_are_checked() -> None:
    with pytest.raises(UsageError, match="'usd' is no currency"):
        value_type("amount", currency="usd")
    with pytest.raises(UsageError, match="no option 'order'"):
        value_type("amount", order="DMY")


def test_sums_of_a_text_are_found_by_their_currency():
    text = "All 5 of the top 2 pay $1,200 a month, or EUR 300 million, on 3 May 2024 (section 4); cup 3, TRY 40."
    assert [text[begin:end] for begin, end in value_type("amount").mentions(text)] == [
        "$1,200",
        "EUR 300 million",
        "TRY 40",
    ]
    assert value_type("amount").cell("the top 2")["currency"] is None


@pytest.mark.parametrize(("decimal", "text"), [("comma", "€1,200.50"), ("point", "1.200,50 EUR")])
def test_a_sum_against_the_declared_decimal_mark_has_a_problem(decimal: str, text: str) -> None:
    cell = value_type("amount", decimal=decimal).cell(text)
    assert (cell["value"], cell["original"]) == (None, text)
    assert "is no number in any usual form" in cell["problem"]
