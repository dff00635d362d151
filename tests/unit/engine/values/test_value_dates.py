"""Dates as contracts and police records write them; expected days are what a reader would say."""

from __future__ import annotations

import pytest

from engine.errors import UsageError
from engine.values.registry import value_type


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("15 March 2024", "2024-03-15"),
        ("March 15, 2024", "2024-03-15"),
        ("Effective: 15 March 2024 (original)", "2024-03-15"),
        ("this 3rd day of March, 2019", "2019-03-03"),
        ("the fifteenth (15th) day of January, 2020", "2020-01-15"),
        ("Dated as of JANUARY 1ST, 2015", "2015-01-01"),
        ("26t h day of May, 2017", "2017-05-26"),
        ("Sept. 9, 2011", "2011-09-09"),
        ("Monday, May 5, 2014 at 14:30", "2014-05-05"),
        ("12. März 2021", "2021-03-12"),
        ("1er février 2022", "2022-02-01"),
        ("1 de mayo de 2020", "2020-05-01"),
        ("2024-03-15", "2024-03-15"),
        ("20240315", "2024-03-15"),
        ("25/03/2024", "2024-03-25"),
        ("03/03/2024", "2024-03-03"),
        ("February 29, 2020", "2020-02-29"),
        ("3/3/19 (March 3, 2019)", "2019-03-03"),
    ],
)
def test_a_day_is_read_and_its_words_are_kept(text: str, iso: str) -> None:
    cell = value_type("date").cell(text)
    assert cell == {"iso": iso, "original": text, "problem": None}


@pytest.mark.parametrize(
    ("text", "iso", "problem"),
    [
        ("03/04/2024", None, "may be 2024-04-03 or 2024-03-04"),
        ("March 3", None, "no year"),
        ("February 29, 2019", None, "no day"),
        ("31.04.2020", None, "no day"),
        ("two years after the Effective Date", None, "no date"),
        ("___ day of ____, 20__", None, "no date"),
        ("April 1, 2024 and May 2, 2024", None, "2024-04-01, 2024-05-02"),
        ("March 2019", "2019-03", "no day is written"),
        ("2019", "2019", "only a year"),
        ("3/3/19", "2019-03-03", "the year 19 is read as 2019"),
    ],
)
def test_what_is_not_written_or_unclear_is_said_and_not_guessed(text: str, iso: str | None, problem: str) -> None:
    cell = value_type("date").cell(text)
    assert (cell["iso"], cell["original"]) == (iso, text)
    assert problem in cell["problem"]


def test_a_declared_order_reads_what_is_ambiguous() -> None:
    assert value_type("date", order="DMY").cell("03/04/2024")["iso"] == "2024-04-03"
    assert value_type("date", order="MDY").cell("03/04/2024")["iso"] == "2024-03-04"
    against = value_type("date", order="MDY").cell("25/03/2024")
    assert against["iso"] == "2024-03-25"
    assert "declared order MDY" in against["problem"]


def test_an_order_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="'DYM' is no order"):
        value_type("date", order="DYM")


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("from 1 January 2024 to 31 December 2024", "2024-01-01", "2024-12-31"),
        ("January 1, 2024 - December 31, 2024", "2024-01-01", "2024-12-31"),
        ("3-5 March 2024", "2024-03-03", "2024-03-05"),
        ("March 3-5, 2024", "2024-03-03", "2024-03-05"),
        ("March 3 to April 5, 2024", "2024-03-03", "2024-04-05"),
        ("2019-01-01/2019-12-31", "2019-01-01", "2019-12-31"),
    ],
)
def test_a_range_has_both_its_days(text: str, start: str, end: str) -> None:
    assert value_type("date_range").cell(text) == {"start": start, "end": end, "original": text, "problem": None}


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("valid through March 3, 2024", "2024-03-03"),
        ("placed on leave until 15 June 2023", "2023-06-15"),
        ("suspended without pay until June 30, 2023", "2023-06-30"),
    ],
)
def test_a_word_before_until_is_no_month(text: str, end: str) -> None:
    cell = value_type("date_range").cell(text)
    assert (cell["start"], cell["end"]) == (None, end)
    assert "no start" in cell["problem"]


def test_a_range_with_one_date_says_which_is_missing() -> None:
    kind = value_type("date_range")
    assert kind.cell("commencing on May 1, 2014")["start"] == "2014-05-01"
    until = kind.cell("until June 30, 2020")
    assert (until["start"], until["end"]) == (None, "2020-06-30")
    assert "no start" in until["problem"]
    assert "before it begins" in kind.cell("July 1, 2020 through June 30, 2019")["problem"]
    assert kind.cell("five years from the Effective Date")["problem"] == "no date is written in it"
