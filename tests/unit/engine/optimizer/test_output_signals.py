"""Signals are shares that arithmetic gives."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plan_outputs import cell, output_of

from engine.loader import parse_pipeline
from engine.optimizer.signals import (
    COUNTED,
    WEIGHTS,
    checkable_fields,
    completed,
    joined_signals,
    lost_inputs,
    signals,
    unrepeated,
)

TEXTS = {"a": "Officer Roe slept.", "b": "Officer Diaz hit a man."}


def test_the_weights_are_those_of_one_whole():
    # A number of items is hardly ever asked for.
    assert sum(WEIGHTS.values()) - WEIGHTS[COUNTED] == pytest.approx(1.0)


def test_fields_are_checkable_unless_they_hold_choices_only():
    text = """
datasets: {records: {type: case}}
operations:
  - {name: old, type: filter, prompt: "Old? {{ input.text }}", output: {schema: {is_old: boolean}}}
  - name: read
    type: map
    prompt: "Read {{ input.text }}"
    output:
      schema: {kind: "enum[a, b]", flags: "list[boolean]", day: "date?", cars: "list[{make: enum[a], plate: string}]"}
  - {name: unused, type: map, prompt: "Read {{ input.text }}", output: {schema: {spare: string}}}
pipeline: {steps: [{name: s, input: records, operations: [old, read]}]}
"""
    assert checkable_fields(parse_pipeline(text).plan) == ("day", "cars")


def test_each_signal_is_a_share():
    output = output_of(
        TEXTS,
        [
            ("a", [cell("officers", ["Roe", "roe", "Vega"], 2 / 3), cell("date", None)]),
            ("b", [cell("officers", ["Diaz"], 1.0, 0.5), cell("date", "2020-01-01", 0.0, 1.0)]),
        ],
    )
    assert signals(output.rows) == {
        "located": pytest.approx((2 / 3 + 1 + 0) / 3),
        "verbatim": 0.75,
        "filled": 0.75,
        "unrepeated": pytest.approx(5 / 6),  # of three and one items and two rows, one said again
    }


def test_what_cannot_be_said_is_left_out_and_the_rest_has_its_weight():
    output = output_of(TEXTS, [("a", [cell("count", 3)])])
    assert signals(output.rows) == {"filled": 1.0, "unrepeated": 1.0}
    assert joined_signals({"located": 0.5, "filled": 1.0}) == pytest.approx((0.5 * 0.5 + 0.15) / 0.65)
    assert joined_signals({}) is None


def test_what_two_documents_say_alike_is_no_repetition_and_what_one_says_twice_is():
    two = [("a", [cell("officer", "Roe", 1.0)]), ("b", [cell("officer", "Roe", 1.0)])]
    assert unrepeated(output_of(TEXTS, two).rows) == 1.0
    assert unrepeated(output_of(TEXTS, [*two, two[0]]).rows) == pytest.approx(2 / 3)


def test_of_lists_of_a_number_that_is_asked_for_the_share_that_is_there_counts():
    rows = [
        ("a", [cell("officers", ["Roe", "Vega"])]),
        ("b", [cell("officers", ["Diaz", "diaz", "Roe", "Lane", "Ode"])]),
    ]
    found = signals(output_of(TEXTS, rows).rows, {"officers": 4})
    assert found[COUNTED] == pytest.approx((2 / 4 + 4 / 4) / 2)
    assert COUNTED not in signals(output_of(TEXTS, rows).rows, {"acts": 4})
    assert COUNTED not in signals(output_of(TEXTS, [("a", [cell("officers", "Roe")])]).rows, {"officers": 4})


def test_rows_of_nothing_give_no_signal():
    assert signals(output_of(TEXTS, []).rows) == {}
    assert unrepeated(()) is None


@pytest.mark.parametrize("value", [False, 0, "x", ["x"], {"a": 1}])
def test_false_and_nought_are_values(value):
    assert signals(output_of(TEXTS, [("a", [cell("v", value)])]).rows)["filled"] == 1.0


@pytest.mark.parametrize("value", [None, "", "  ", [], {}, [None], {"a": ""}])
def test_what_is_empty_holds_nothing(value):
    assert signals(output_of(TEXTS, [("a", [cell("v", value)])]).rows)["filled"] == 0.0


def test_a_row_that_failed_is_lost_and_one_turned_down_is_not():
    output = output_of(
        {**TEXTS, "c": "x", "d": "y"}, [("a", [])], failed=["row b: out of tokens"], rejected={"c": "no misconduct"}
    )
    assert lost_inputs(output) == ["b", "d"]
    assert completed(output) == 0.5


def test_rows_that_fail_on_the_way_count_though_their_document_goes_on():
    output = output_of(TEXTS, [("a", []), ("b", []), ("b", [])], failed=["chunk 3 of b: out of tokens"])
    assert lost_inputs(output) == []
    assert completed(output) == pytest.approx(3 / 4)


def test_without_a_failure_nothing_is_lost():
    output = output_of(TEXTS, [])  # an unnest of empty lists
    assert lost_inputs(output) == [] and completed(output) == 1.0


def test_a_list_that_is_longer_than_the_user_allows_counts_as_lost():
    output = replace(output_of(TEXTS, [("a", [cell("officers", ["Roe", "Vega", "Diaz"])])]), limits={"officers": 3})
    assert completed(output) == 1.0
    assert completed(replace(output, limits={"officers": 2})) == 0.0
