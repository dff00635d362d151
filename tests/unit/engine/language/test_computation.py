"""Expressions that make figures: arithmetic by hand, days by the calendar, rates as the table has them."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import PipelineError
from engine.language.computation import Computation
from engine.language.expressions import CannotEvaluate, Expression, MissingField
from engine.values.rates import Rate
from engine.values.registry import value_type

RATES = (
    Rate(base="USD", to="EUR", rate=0.92, date="2024-01-01", source="ECB"),
    Rate(base="USD", to="EUR", rate=0.95, date="2024-06-01", source="ECB"),
    Rate(base="mile", to="km", rate=1.609344, date="1959-07-01", source="international yard and pound agreement"),
)
AMOUNT, DATE = value_type("amount"), value_type("date")
ROW: dict[str, Any] = {
    **{"fee": AMOUNT.cell("US$ 1,200.10 per month"), "unread": AMOUNT.cell("as agreed"), "open": AMOUNT.cell("$5")},
    **{"start": DATE.cell("31 January 2024"), "end": DATE.cell("29 February 2024"), "unclear": DATE.cell("03/04/2024")},
    **{"none": None, "text": "x", "sums": [1, 2.5]},
}


def computed(text: str) -> Any:
    return Computation.parse(text).compute(ROW, ROW, RATES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("input.fee.value * 12", 14401.2),
        ("0.1 + 0.2", 0.3),
        ("sum(input.sums) * 3", 10.5),
        ("round(input.fee.value / 7, 2)", 171.44),
        ("input.fee.value > 1000", True),
        ("input.fee.currency == 'USD'", True),
        ("input.none is None", True),
        ("0 if input.none is None else 1", 0),
        ("days_between(input.start, input.end)", 29),
        ("days_between('2024-03-01', '2024-02-28')", -2),
        ("days_between('2024-03-01T10:30:00Z', ' 2024-03-02 09:00')", 1),
        ("months_between(input.start, input.end)", 1),
        ("months_between('2024-01-15', '2024-03-14')", 1),
        ("years_between('1980-05-06', '2024-05-05')", 43),
        ("add_months(input.start, 1)", "2024-02-29"),
        ("add_days('2023-12-31', 1)", "2024-01-01"),
        ("convert(10, 'mile', 'km')", 16.09344),
        ("convert(16.09344, 'km', 'mile')", 10),
        ("convert(3, 'km', 'km')", 3),
        ("10 / 4", 2.5),
        ("10 / 5", 2),
        ("abs(-1 / 4) + 0.1", 0.35),
        ("2 ** -1", 0.5),
        ("'2.5' | float", 2.5),
        ("float('0.1') + 0.2", 0.3),
        ("(['1', '0.1'] | map('float') | list)[1] + 0.2", 0.3),
        ("'abc' | likeness('abc')", 100),
        ("[['0.5' | float]]", [[0.5]]),
        ("-7.5 // 2", -4),
        ("-7.5 % 2", 0.5),
        ("7.5 // -2", -4),
        ("7.5 % -2", -0.5),
        ("-6.0 // 2", -3),
        ("-7 // 2", -4),
        ("-7 % 2", 1),
    ],
)
def test_figures_are_exact(text: str, value: Any) -> None:
    found = computed(text)
    assert found.reason is None
    assert found.value == pytest.approx(value, rel=1e-12) if "'km', 'mile'" in text else found.value == value


def test_a_conversion_keeps_the_amount_and_tells_its_rate() -> None:
    latest = computed("convert(input.fee, 'EUR')")
    assert latest.value == {**ROW["fee"], "value": 1140.095, "currency": "EUR"}
    assert [used.to_json() for used in latest.rates] == [
        {"from": "USD", "to": "EUR", "rate": 0.95, "date": "2024-06-01", "source": "ECB", "inverse": False}
    ]
    assert computed("convert(input.fee, 'EUR', on=input.end)").value["value"] == 1104.092
    inverse = computed("convert(95, 'EUR', 'USD')")
    assert inverse.value == 100
    assert inverse.rates[0].inverse


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("input.none + 1", "input.none is null"),
        ("input.unread.value > 3", "input.unread.value is null ('as agreed': no number is written in it)"),
        ("input.open.currency == 'USD'", "$ may be USD"),
        ("convert(input.unread, 'EUR')", "'as agreed' is not known"),
        ("convert(input.open, 'EUR')", "$ may be USD"),
        ("convert(input.none, 'EUR')", "input.none is null"),
        ("convert(input.fee, 'JPY')", "no rate from USD to JPY; the table has USD to EUR, mile to km"),
        ("convert(input.fee, 'EUR', on='2023-12-31')", "no rate from USD to EUR up to 2023-12-31"),
        ("days_between(input.unclear, input.end)", "may be 2024-04-03 or 2024-03-04"),
        ("days_between('2024-03', input.end)", "no whole day"),
        ("days_between('2024-03-15garbage', input.end)", "no whole day"),
    ],
)
def test_null_goes_on_with_its_reason(text: str, reason: str) -> None:
    found = computed(text)
    assert found.value is None
    assert reason in found.reason


@pytest.mark.parametrize(
    "text",
    [
        "input.text + 1",
        "1 / 0",
        "1.5 // 0",
        "1.5 % 0",
        "1e999",
        "float('nan')",
        "input.text / 2",
        "set(input.sums)",
        "convert(input.text, 'EUR')",
        "input.fee.amount",
    ],
)
def test_what_is_wrong_is_an_error_and_not_null(text: str) -> None:
    with pytest.raises(CannotEvaluate):
        computed(text)


def test_a_missing_field_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(MissingField, match="fee, unread, open"):
        computed("input.fees")


def test_convert_belongs_to_computations_alone() -> None:
    with pytest.raises(PipelineError, match="unknown function 'convert'"):
        Expression.parse("convert(input.fee, 'EUR')")
    assert Expression.parse("days_between(input.start, input.end) < 30").holds(ROW, ROW)
