"""What is written in any of several forms is read as what it was; the text is always kept; nothing is raised."""

from __future__ import annotations

import datetime
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from engine.language.schema import Schema
from engine.operators.asking.agreeing import same_reading, vote
from engine.values.amount import codes
from engine.values.base import MARKS
from engine.values.registry import value_type

DAYS = st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31))
DATE_FORMS = ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "the %d day of %B, %Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%b-%Y", "%Y%m%d")
CENTS = st.integers(0, 10**13)
CODES = st.sampled_from(["EUR", "USD", "GBP", "JPY", "CHF", "INR", "BRL"])
TYPES = st.sampled_from(["amount", "date", "date_range", "person", "iban"])
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5)


@given(DAYS, st.sampled_from(DATE_FORMS))
def test_a_day_in_any_form_is_that_day(day: datetime.date, form: str) -> None:
    text = day.strftime(form)
    cell = value_type("date", order="DMY").cell(text)
    assert cell == {"iso": day.isoformat(), "original": text, "problem": None}


@given(DAYS)
def test_a_numeric_day_without_an_order_is_right_or_null(day: datetime.date) -> None:
    iso = value_type("date").cell(day.strftime("%d/%m/%Y"))["iso"]
    assert iso == (day.isoformat() if day.day > 12 or day.day == day.month else None)


@given(DAYS, DAYS)
def test_a_range_has_its_ends_in_written_order(first: datetime.date, last: datetime.date) -> None:
    cell = value_type("date_range").cell(f"from {first:%d %B %Y} to {last:%d %B %Y}")
    assert (cell["start"], cell["end"]) == (first.isoformat(), last.isoformat())
    assert (cell["problem"] is not None) == (last < first)


@given(CENTS, CODES)
def test_a_sum_with_commas_or_points_is_that_sum(cents: int, code: str) -> None:
    number = Decimal(cents) / 100
    english, german = f"{number:,.2f}", f"{number:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")
    for text in (f"{code} {english}", f"{english} {code}", f"{german} {code}", f"{code} {german} per claim"):
        cell = value_type("amount").cell(text)
        assert Decimal(str(cell["value"])) == number
        assert (cell["currency"], cell["problem"]) == (code, None)


OPTIONS = {"amount": {"decimal": ("", "point", "comma")}, "date": {"order": ("", "DMY", "MDY", "YMD")}}
FIGURES = st.text("0123456789.,-'/ €$()", max_size=20)


@given(TYPES, st.text(max_size=60) | FIGURES, st.data())
def test_any_text_is_read_or_has_a_problem_and_is_kept(name: str, text: str, data: st.DataObject) -> None:
    options = {key: data.draw(st.sampled_from(values)) for key, values in OPTIONS.get(name, {}).items()}
    kind = value_type(name, **options)
    cell = kind.cell(text)
    assert tuple(cell) == (*kind.part_names, *MARKS)
    assert cell["original"] == text.strip()
    assert cell["problem"] is not None or any(cell[part] is not None for part in kind.part_names)


@given(
    st.sampled_from(sorted(codes())), st.sampled_from(["", "point", "comma"]), st.sampled_from(["DMY", "MDY", "YMD"])
)
def test_types_with_options_are_written_and_read_back(code: str, decimal: str, order: str) -> None:
    options = f"currency={code}" + (f", decimal={decimal}" if decimal else "")
    schema = Schema.parse({"fee": f"amount({options})?", "on": f"list[date(order={order})]"})
    assert Schema.parse(schema.to_yaml()) == schema


@given(JSON, JSON)
def test_likeness_is_symmetric_and_one_for_equals(one: object, other: object) -> None:
    assert same_reading(one, one) == 1
    assert 0 <= same_reading(one, other) <= 1


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=7))
def test_the_vote_of_plain_values_is_the_majority(readings: list[str]) -> None:
    found = vote(readings)
    most = max(map(readings.count, readings))
    assert readings.count(readings[found.winner]) == most
    assert found.share == round(most / len(readings), 4)
