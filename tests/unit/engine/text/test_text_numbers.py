from __future__ import annotations

from decimal import Decimal

import pytest

from engine.text.normalise import plain
from engine.text.numbers import number_mentions, parse_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,200", "1200"),
        ("$1,200.00", "1200"),
        ("12%", "12"),
        ("ten", "10"),
        ("-3.5", "-3.5"),
        ("Twenty", "20"),
        (".5", "0.5"),
    ],
)
def test_whole_texts_are_read(text: str, value: str) -> None:
    assert parse_number(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", "ten days", "3/3/2019", "1,20", "P054496", "21-00417"])
def test_other_texts_are_no_number(text: str) -> None:
    assert parse_number(text) is None


def test_mentions_leave_out_parts_of_codes_times_and_larger_numbers() -> None:
    text = "ten men paid $1,200.50 in 30 days at 11:30 on 3/3/2019 for SJ3095-1, twenty-two of 2012-1225, 7."
    assert [value for value, _, _ in number_mentions(text)] == [
        Decimal(10),
        Decimal("1200.50"),
        Decimal(30),
        Decimal(7),
    ]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Suspension - 10 days", ["10"]),
        ("支払額1,200円、2024年", ["1200", "2024"]),
        ("10 - 15 days", ["10", "15"]),
        ("- 3 officers", ["3"]),
        ("-3.5 and -$3", ["-3.5", "-3"]),
        ("No one was injured.", []),
        ("five hundred dollars, two thousand more", []),
        ("twenty two officers, twenty of them", ["20"]),
        ("five officers and one third of the others", ["5"]),
    ],
)
def test_numbers_of_a_text(text: str, numbers: list[str]) -> None:
    assert [str(value) for value, _, _ in number_mentions(text)] == numbers


@pytest.mark.parametrize(
    ("text", "written", "numbers"),
    [
        ("10⁶", "10^6", []),
        ("about 10⁶ people", "about 10^6 people", []),
        ("5 × 10⁷", "5 × 10^7", ["5"]),
        ("2.5x10⁻³ m", "2.5x10^-3 m", []),
        ("$10³ and $120¹", "$10 and $120", ["10", "120"]),
        ("on May 10³, 2019", "on May 10, 2019", ["10", "2019"]),
        ("for 10² days", "for 10 days", ["10"]),
        ("110⁶", "110", ["110"]),
    ],
)
def test_a_power_of_ten_is_not_read_as_ten(text: str, written: str, numbers: list[str]) -> None:
    assert plain(text) == written
    assert [str(value) for value, _, _ in number_mentions(plain(text))] == numbers
