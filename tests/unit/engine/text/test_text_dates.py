from __future__ import annotations

import pytest

from engine.text.dates import DateMention, PartialDate, date_mentions, dates_in, parse_date


@pytest.mark.parametrize(
    "text",
    [
        *("2019-03-04", "2019/03/04", "3/4/2019", "03-04-19", "03.04.2019", "March 4, 2019", "Mar. 4th, 2019"),
        *("MAR 04 2019", "4 March 2019", "04MAR2019", "4th day of March, 2019", "Mar-4-19", "2019-03-04T23:30:00Z"),
        *("2019-03-04 11:30", "20190304", "4. März 2019", "4 de marzo de 2019", "fourth of March 2019", "4 march 2019"),
        *("March 4th, '19", "3/4/2019T10:30", "March 4, 2019¹²"),
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
        ("3 de marzo del 2024", PartialDate(2024, 3, 3)),
        ("marzo del 2024", PartialDate(2024, 3, None)),
        ("1º marzo 2024", PartialDate(2024, 3, 1)),
        ("1o de março de 2024", PartialDate(2024, 3, 1)),
        ("5th day of May, A.D. 2019", PartialDate(2019, 5, 5)),
    ],
)
def test_order_and_parts(text: str, date: PartialDate) -> None:
    assert parse_date(text) == date


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("03/04/05", PartialDate(2003, 4, 5)),
        ("14/02/03", PartialDate(2014, 2, 3)),
        ("31/12/99", PartialDate(1999, 12, 31)),
        ("3/4/2019", None),
    ],
)
def test_years_of_two_digits_stand_first_where_the_order_says_so(text: str, date: PartialDate | None) -> None:
    [mention] = date_mentions(text, "YMD")
    assert mention.date == date


@pytest.mark.parametrize(
    "text", ["13/13/2019", "1200", "Officer May", "99", "may 5", "2019-00417", "ten days", "5.03", "2019-02-30"]
)
def test_what_is_no_date(text: str) -> None:
    assert parse_date(text) is None


def test_mentions_know_their_characters() -> None:
    text = "On March 3, 2019 and 4/5/19, Große 5. Mai 2020"
    assert [(date, text[a:b]) for date, a, b in dates_in(text)] == [
        (PartialDate(2019, 3, 3), "March 3, 2019"),
        (PartialDate(2019, 4, 5), "4/5/19"),
        (PartialDate(2020, 5, 5), "5. Mai 2020"),
    ]


def test_words_that_are_months_elsewhere_are_no_months_without_a_year() -> None:
    assert [
        text for text in ("5 out of 10", "set 5", "he may 5", "march 3 miles", "PO 3") if list(dates_in(text))
    ] == []
    assert [date for date, _, _ in dates_in("May 5, 3 out 2019, 5. Januar")] == [
        PartialDate(None, 5, 5),
        PartialDate(2019, 10, 3),
        PartialDate(None, 1, 5),
    ]


def test_of_two_dates_that_overlap_the_one_that_says_more_counts() -> None:
    assert [date for date, _, _ in dates_in("section 12 March 3, 2019")] == [PartialDate(2019, 3, 3)]


def test_a_year_alone_is_a_mention_and_no_date_to_look_for() -> None:
    assert date_mentions("in 2019") == [DateMention(PartialDate(2019, None, None), 3, 7, "only a year is written")]
    assert list(dates_in("in 2019")) == []


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("the twenty first day of March, 2019", ["2019-03-21"]),
        ("3/14/2019-3/15/2019", ["2019-03-14", "2019-03-15"]),
        ("01/13/2019–12/31/2019", ["2019-01-13", "2019-12-31"]),
        ("12/25/20l9", []),  # OCR took a digit for a letter
        ("l2/25/2019", []),
    ],
)
def test_days_of_a_text(text: str, days: list[str]) -> None:
    assert [mention.iso for mention in date_mentions(text) if mention.is_whole] == days


@pytest.mark.parametrize("text", ["March 3, 1930 hours", "6 May 2015 hrs"])
def test_the_time_behind_a_day_is_no_year(text: str) -> None:
    assert parse_date(text.replace(" hours", "").replace(" hrs", "")) is not None
    assert [mention.iso for mention in date_mentions(text) if mention.iso and len(mention.iso) == 10] == []
