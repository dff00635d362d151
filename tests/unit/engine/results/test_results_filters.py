"""What people type above a column, and in place of a value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import UsageError
from engine.results.table import matcher
from engine.results.values import date_of, shown, sort_key, typed


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


@pytest.mark.parametrize(("text", "original"), [("many", 3), ("perhaps", True), ("a: 1", {"a": 2}), ("[1]", {"a": 2})])
def test_what_is_of_another_kind_is_refused(text: str, original: Any) -> None:
    with pytest.raises(UsageError):
        typed(text, original)


def test_numbers_come_before_dates_and_those_before_text() -> None:
    values = ["beta", "2020-01-01", "10", 9, "Alpha", "May 2019"]
    assert sorted(values, key=sort_key) == [9, "10", "May 2019", "2020-01-01", "Alpha", "beta"]


def test_dates_and_lists_as_people_read_them() -> None:
    assert date_of("March 4, 2019") == (2019, 3, 4)
    assert date_of("May 2019") == (2019, 5, 0)
    assert date_of("a long text about nothing") is None
    assert shown(["a", "b\nc"]) == "a; b c"
