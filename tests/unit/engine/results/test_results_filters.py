"""What people type above a column, and in place of a value."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import UsageError
from engine.results.table import matcher
from engine.results.values import date_of, items, number_of, shown, sort_key, typed
from engine.values.registry import value_type


@pytest.mark.parametrize(
    ("text", "fits", "not_"),
    [
        ("harm", ["D. HARMON", ["x", "Harmon"]], ["Ruiz", None, ""]),
        ("=Harmon", ["harmon", ["Ruiz", "Harmon"]], ["Daniel Harmon", None]),
        ("!=Harmon", ["Ruiz", None], ["Harmon"]),
        ("=", [None, "", []], ["x", 0, False]),
        ("!=", ["x", 0, False], [None, "", []]),
        ("=10", [10, "10", 10.0, [3, 10]], [100, "1", None]),
        (">10", [11, "12", [1, 20]], [10, "2", "x", None, True]),
        (">= 10", [10, 11.5], [9]),
        ("<0", [-1], [0, None, ""]),
        (">2019", ["2020-01-01", "March 3, 2020"], ["2019-12-31", "May 2018", "x", None]),
        ("<=2019-03", ["2019-03-31", "2018-12-01"], ["2019-04-01"]),
        (">=2019-03-04", ["2019-03-04", [{"date": "2020-01-01"}]], ["2019-03-03"]),
        ("", ["x", None], []),
        ("=yes", [True, "Yes"], [False, 1, None]),
        ("=false", [False], [True, 0, None]),
        ("!=no", [True, None], [False]),
    ],
)
def test_filters(text: str, fits: list[Any], not_: list[Any]) -> None:
    matches = matcher(text)
    assert [value for value in fits if not matches(value)] == []
    assert [value for value in not_ if matches(value)] == []


@given(st.text(), st.none() | st.integers() | st.text() | st.lists(st.text(max_size=3)))
def test_any_text_is_a_filter(text: str, value: Any) -> None:
    assert matcher(text)(value) in (True, False)


@pytest.mark.parametrize(
    ("text", "original", "value"),
    [
        ("12", 3, 12),
        ("1.5", 3, 1.5),
        ("", 3, None),
        ("no", True, False),
        ("Ana; Ben", ["x"], ["Ana", "Ben"]),
        ('["a; b"]', ["x"], ["a; b"]),
        ('{"a": 1}', {"a": 2}, {"a": 1}),
        (" Ana ", "x", "Ana"),
        ("7", "x", "7"),
        ("anything", None, "anything"),
    ],
)
def test_what_is_typed_is_of_the_kind_it_replaces(text: str, original: Any, value: Any) -> None:
    assert typed(text, original) == value


@pytest.mark.parametrize(
    ("text", "number"),
    [("1,234.5", 1234.5), ("-12", -12), ("+7", 7), (".5", 0.5), ("1,234,567", 1234567), ("1e3", 1000), ("2.0", 2.0)],
)
def test_numbers_as_they_are_typed(text: str, number: float) -> None:
    value = typed(text, 3.0)
    assert (value, type(value)) == (number, type(number))


def test_a_long_whole_number_keeps_its_digits() -> None:
    assert typed("12345678901234567891", 3) == 12345678901234567891


@pytest.mark.parametrize(
    "text", ["1,5", "12,50", "0,123", "1,2345", "nan", "Infinity", "1e400", "1_000", "١٢", "9" * 5000, "1 000", "."]
)
def test_what_is_no_plain_number_is_refused_and_is_text(text: str) -> None:
    with pytest.raises(UsageError, match="is not a number") as refused:
        typed(text, 3.0)
    assert "1,234.5" in refused.value.advice
    assert number_of(text) is None


_ACTS = [{"date": "2020-01-01", "act": "shot; fled"}, {"date": "2020-01-02", "act": "ran"}]


@pytest.mark.parametrize(
    ("text", "original", "value"),
    [
        ("1; 2; 4", [1, 2, 3], [1, 2, 4]),
        ("1.5; 1,000", [1.5], [1.5, 1000]),
        ("[1, 2, 4]", [1, 2, 3], [1, 2, 4]),
        ("true; no", [True, True], [True, False]),
        (shown(_ACTS), _ACTS, _ACTS),
        ('{"act": "a; b"}; {"act": "c"} ;', _ACTS, [{"act": "a; b"}, {"act": "c"}]),
        ('{"act": "a; b"}', _ACTS, [{"act": "a; b"}]),
        ('[{"act": "a"}]', _ACTS, [{"act": "a"}]),
        ("[]", _ACTS, []),
        ("[1, 2]; [4]", [[1, 2], [3]], [[1, 2], [4]]),
        ("[1, 2]", [[1, 2], [3]], [[1, 2]]),
        ("[[1], [2]]", [[1, 2], [3]], [[1], [2]]),
        ('[1, "b"]', [1, "a"], [1, "b"]),
        ("a; b", [], ["a", "b"]),
        ("Rule 2; Rule 7; Misconduct", ["Rule 2; Rule 7", "Conduct"], ["Rule 2; Rule 7", "Misconduct"]),
    ],
)
def test_the_items_of_a_list_keep_their_kind(text: str, original: list[Any], value: list[Any]) -> None:
    assert typed(text, original) == value
    assert repr(typed(text, original)) == repr(value)


@pytest.mark.parametrize(
    ("text", "original"),
    [
        ("many", 3),
        ("perhaps", True),
        ("a: 1", {"a": 2}),
        ("[1]", {"a": 2}),
        ('{"a": NaN}', {"a": 2}),
        ('{"a": 1e400}', {"a": 2}),
        ("1; x", [1, 2]),
        ('["x"]', [1, 2]),
        ("[true]", [1, 2]),
        ("yes; 1", [True]),
        ("shot; fled", _ACTS),
        ('{"act": "a"} {"act": "b"}', _ACTS),
        ('{"act": "a"; {"act": "b"}', _ACTS),
        ('["a"]', _ACTS),
        ("7", _ACTS),
        ("1; b", [1, "a"]),
        ("[1, 2", ["x"]),
        ("Rule 3; Rule 7; Conduct", ["Rule 2; Rule 7", "Conduct"]),
    ],
)
def test_what_is_of_another_kind_is_refused(text: str, original: Any) -> None:
    with pytest.raises(UsageError) as refused:
        typed(text, original)
    assert refused.value.advice


def test_numbers_come_before_dates_and_those_before_text() -> None:
    values = ["beta", "2020-01-01", "10", 9, "Alpha", "May 2019"]
    assert sorted(values, key=sort_key) == [9, "10", "May 2019", "2020-01-01", "Alpha", "beta"]


def test_what_no_number_can_hold_is_sorted_as_text() -> None:
    values = ["Nan", 3, math.nan, "Ana", 10**400, "inf", 2, "1"]
    ordered = sorted(values, key=sort_key)
    assert ordered[:4] == ["1", 2, 3, 10**400]
    assert [str(value) for value in ordered[4:]] == ["Ana", "inf", "Nan", "nan"]


def test_large_whole_numbers_are_compared_to_the_last_digit() -> None:
    assert matcher(">12345678901234567890")("12345678901234567891")
    assert not matcher("=12345678901234567890")(12345678901234567891)
    assert matcher(">1")(10**400)


def test_dates_and_lists_as_people_read_them() -> None:
    assert date_of("March 4, 2019") == (2019, 3, 4)
    assert date_of("May 2019") == (2019, 5, 0)
    assert date_of("a long text about nothing") is None
    assert shown(["a", "b\nc"]) == "a; b c"


def test_a_filter_by_a_group_shows_the_rows_that_were_counted() -> None:
    unread = value_type("date").cell("as  agreed\nlater")
    cells: list[Any] = [["Diaz"], [""], [None], [[]], "  ", None, [], [unread], ["  ", "Diaz"]]
    for name, count in Counter(name for cell in cells for name in set(items(cell)) or {""}).items():
        assert sum(matcher(f"={name}")(cell) for cell in cells) == count


@pytest.mark.parametrize("typed_text", ["müller", "=Müller", "mu\u0308ller"])
def test_a_filter_finds_a_name_however_its_accents_are_written(typed_text: str) -> None:
    assert matcher(typed_text)("Mu\u0308ller")
