"""The bias of a model, by arithmetic."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ItemError
from engine.operators.bias import FARTHEST, FEWEST, Bias, Verdict, log_odds_of, of_batch, of_content_free, of_reviewed
from models.protocol import Reply

ANSWERS = st.lists(st.floats(-9, 9), min_size=FEWEST, max_size=40)


def reply(value: bool = True, **told: object) -> Reply:
    return Reply({"keep": value}, "", **told)  # type: ignore[arg-type]


def test_log_odds_are_of_both_alternatives() -> None:
    sides = {"/keep": {"true": 0.6, "false": 0.2}}
    assert log_odds_of(reply(alternatives=sides), "keep") == pytest.approx(math.log(3))
    assert log_odds_of(reply(value=False, alternatives=sides), "keep") == pytest.approx(math.log(3))


@pytest.mark.parametrize(("value", "expected"), [(True, math.log(4)), (False, -math.log(4))])
def test_where_alternatives_are_missing_what_was_chosen_tells(value: bool, expected: float) -> None:
    assert log_odds_of(reply(value, probabilities={"/keep": 0.8}), "keep") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("sides", "expected"),
    [
        ({"true": 1.0, "false": 0.0}, FARTHEST),
        ({"true": 0.0, "false": 1.0}, -FARTHEST),
        ({"true": 1.0, "false": 1e-30}, FARTHEST),
    ],
)
def test_certainty_is_bounded(sides: dict[str, float], expected: float) -> None:
    assert log_odds_of(reply(alternatives={"/keep": sides}), "keep") == expected


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"probabilities": {"/other": 0.9}},
        {"alternatives": {"/keep": {"true": 0.0, "false": 0.0}}},
        {"alternatives": {"/keep": {"true": math.nan, "false": 0.5}}},
        {"alternatives": {"/keep": {"true": math.inf, "false": 0.5}}},
        {"alternatives": {"/keep": {"true": -1.0, "false": 2.0}}},
        {"alternatives": {"/keep": {"yes": 0.5, "no": 0.5}}},
        {"probabilities": {"/keep": 1.5}},
        {"probabilities": {"/keep": math.nan}},
    ],
)
def test_a_model_that_does_not_say_how_sure_it_is_is_an_error(told: dict[str, object]) -> None:
    with pytest.raises(ItemError, match="does not say how sure it is of 'keep'"):
        log_odds_of(reply(**told), "keep")


def test_a_field_name_is_escaped_in_its_pointer() -> None:
    told = Reply({"a/b~c": True}, "", alternatives={"/a~1b~0c": {"true": 0.5, "false": 0.5}})
    assert log_odds_of(told, "a/b~c") == 0.0


def test_a_decision_is_yes_above_the_lean_and_its_probability_one_half_on_it() -> None:
    bias = Bias(1.5)
    assert Verdict.of(1.5 + math.log(3), bias).yes
    assert Verdict.of(1.5 + math.log(3), bias).probability == pytest.approx(0.75)
    assert not Verdict.of(1.5, bias).yes
    assert Verdict.of(1.5, bias).probability == 0.5
    assert Verdict.of(1.5 - math.log(3), Bias(1.5, slope=2)).probability == pytest.approx(0.1)  # odds 1 : 9
    assert Verdict.of(-1e308, bias).probability == 0.0


def test_rows_without_content_tell_the_lean_by_their_mean() -> None:
    assert of_content_free([1.0, 2.0, 6.0]).log_odds == pytest.approx(3.0)
    assert of_content_free([0.0, 0.0]).log_odds == 0.0


def test_the_mean_of_a_batch_is_its_lean_and_few_rows_have_none() -> None:
    assert of_batch([0, 1, 2, 3, 4, 5, 6, 7]).log_odds == pytest.approx(3.5)
    assert of_batch([9.0] * (FEWEST - 1)).log_odds == 0.0
    assert of_batch([]).log_odds == 0.0


@given(ANSWERS, st.floats(-5, 5))
def test_a_shift_of_all_answers_changes_no_decision_of_a_batch(answers: list[float], shift: float) -> None:
    moved = [answer + shift for answer in answers]
    bias, other = of_batch(answers), of_batch(moved)
    assert other.log_odds - bias.log_odds == pytest.approx(shift, abs=1e-9)
    for answer, after in zip(answers, moved, strict=True):
        if abs(answer - bias.log_odds) > 1e-6:  # on the border rounding decides
            assert Verdict.of(answer, bias).yes == Verdict.of(after, other).yes


def test_reviewed_rows_pull_the_lean_from_that_of_no_content_to_where_they_part() -> None:
    """Symmetric rows around 3 and no content at 3: by symmetry the bias is 3."""
    assert of_reviewed([1, 2, 4, 5], [False, False, True, True], [2, 4]).log_odds == pytest.approx(3.0, abs=1e-6)
    pulled = of_reviewed([4, 5, 6, 7], [False, False, True, True], [2, 4]).log_odds
    assert 3.0 < pulled < 5.5


def test_one_reviewed_row_moves_the_lean_a_little_and_many_move_it_all_the_way() -> None:
    nothing = [-1.0, 1.0]  # mean 0, and a spread of about 1 with the rows
    one = of_reviewed([1.0], [False], nothing).log_odds
    many = of_reviewed([1.0, 2.0] * 100, [False, True] * 100, nothing).log_odds
    assert 0 < one < 1
    assert many == pytest.approx(1.5, abs=0.1)


def test_rows_that_part_completely_do_not_make_the_curve_infinitely_steep() -> None:
    bias = of_reviewed([-1, 1], [False, True], [])
    assert bias.log_odds == pytest.approx(0.0, abs=1e-6)
    assert 0.5 < Verdict.of(1.0, bias).probability < 0.99


@given(st.lists(st.tuples(st.floats(-9, 9), st.booleans()), min_size=1, max_size=20), st.floats(-5, 5))
def test_a_shift_of_rows_and_nothing_shifts_the_reviewed_lean(rows: list[tuple[float, bool]], shift: float) -> None:
    answers, truths = [a for a, _ in rows], [t for _, t in rows]
    bias = of_reviewed(answers, truths, [0.0, 1.0])
    moved = of_reviewed([a + shift for a in answers], truths, [shift, 1.0 + shift])
    assert moved.log_odds - bias.log_odds == pytest.approx(shift, abs=1e-4)


@given(st.lists(st.tuples(st.floats(-20, 20), st.booleans()), min_size=1, max_size=12))
def test_more_yes_among_the_reviewed_rows_never_raises_the_lean_at_one_slope(rows: list[tuple[float, bool]]) -> None:
    bias = of_reviewed([a for a, _ in rows], [t for _, t in rows], [])
    all_yes = of_reviewed([a for a, _ in rows], [True] * len(rows), [])
    assert math.isfinite(bias.log_odds)
    assert all_yes.log_odds < max(a for a, _ in rows) + 1e-6 or all_yes.log_odds < 1e-6
