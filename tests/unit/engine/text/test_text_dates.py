from __future__ import annotations

import pytest

from engine.text.dates import PartialDate, date_mentions, parse_date


@pytest.mark.parametrize(
    "text",
    [
        *("2019-03-04", "2019/03/04", "3/4/2019", "03-04-19", "03.04.2019", "March 4, 2019", "Mar. 4th, 2019"),
        *("MAR 04 2019", "4 March 2019", "04MAR2019", "4th day of March, 2019", "Mar-4-19", "2019-03-04T23:30:00Z"),
        "2019-03-04 11:30",
    ],
)
def test_forms_of_one_date(text: str) -> None:
    assert parse_date(text) == PartialDate(2019, 3, 4)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("13/4/2019", PartialDate(2019, 4, 13)),
        ("4/13/2019", PartialDate(2019, 4, 13)),
        ("1/2/68", PartialDate(2068, 1, 2)),
        ("1/2/69", PartialDate(1969, 1, 2)),
        ("March 2019", PartialDate(2019, 3, None)),
        ("2019-03", PartialDate(2019, 3, None)),
        ("2019", PartialDate(2019, None, None)),
        ("May 5", PartialDate(None, 5, 5)),
    ],
)
def test_order_and_parts(text: str, date: PartialDate) -> None:
    assert parse_date(text) == date


@pytest.mark.parametrize("text", ["13/13/2019", "1200", "Officer May", "99", "may 5", "2019-00417", "ten days", "5.03"])
def test_what_is_no_date(text: str) -> None:
    assert parse_date(text) is None


def test_mentions_know_their_characters() -> None:
    text = "On March 3, 2019 and 4/5/19"
    assert [(date, text[a:b]) for date, a, b in date_mentions(text)] == [
        (PartialDate(2019, 4, 5), "4/5/19"),
        (PartialDate(2019, 3, 3), "March 3, 2019"),
    ]
