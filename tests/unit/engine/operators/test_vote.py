"""Votes of calibrated readings, and the filter that counts them."""

from __future__ import annotations

import math

import pytest
from scripted_tools import rows_of, run, values_of

from engine.errors import PipelineError
from engine.language.templates import Template
from engine.operators.bias import FEWEST, votes
from engine.operators.filter import Filter


def sigmoid(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


def test_votes_are_standard_deviations_above_the_mean_of_the_summed_log_odds() -> None:
    sums = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]  # mean 4.5, variance 5.25
    got = votes([[sigmoid(s / 2), sigmoid(s / 2)] for s in sums])
    assert got == pytest.approx([(s - 4.5) / math.sqrt(5.25) for s in sums])


def test_a_lean_that_all_rows_share_changes_no_vote() -> None:
    base = [-2.0, -1.0, 0.0, 0.0, 0.5, 1.0, 2.0, 3.0]
    plain = votes([[sigmoid(b)] for b in base])
    leaning = votes([[sigmoid(b + 4.0)] for b in base])
    assert leaning == pytest.approx(plain)


def test_few_rows_and_rows_all_alike_are_taken_as_they_are() -> None:
    few = [[sigmoid(2.0), sigmoid(1.0)], [sigmoid(-1.0), sigmoid(0.0)]]
    assert votes(few) == pytest.approx([1.5, -0.5])
    assert votes([[0.5]] * FEWEST) == [0.0] * FEWEST
    assert votes([]) == []


def test_certainty_is_bounded() -> None:
    assert all(map(math.isfinite, votes([[1.0], [0.0]])))


async def test_rows_above_the_margin_stay_in_order_and_the_others_say_why() -> None:
    node = Filter(name="f", readings=("p",), margin=0.5, vote="v")
    sums = [1.0, 8.0, 3.0, 7.0, 5.0, 6.0, 2.0, 4.0]
    outcome = await run(node, rows_of(*({"n": s, "p": sigmoid(s)} for s in sums)))
    spread = math.sqrt(5.25)
    assert [row["n"] for row in values_of(outcome)] == [s for s in sums if (s - 4.5) / spread > 0.5] == [8.0, 7.0, 6.0]
    assert values_of(outcome)[0]["v"] == pytest.approx(3.5 / spread)
    assert f"vote {-3.5 / spread:.2f}, margin 0.5" in outcome.rejected[0].reason
    assert "p = 0.731" in outcome.rejected[0].reason


async def test_an_earlier_vote_is_added() -> None:
    rows = rows_of({"p": sigmoid(1.0), "before": -2.0}, {"p": sigmoid(-1.0), "before": 2.0})
    outcome = await run(Filter(name="f", readings=("p",), add=("before",), vote="sum"), rows)
    assert values_of(outcome) == [{"p": sigmoid(-1.0), "before": 2.0, "sum": pytest.approx(1.0)}]


@pytest.mark.parametrize(
    ("value", "message"), [(None, "not a number"), (True, "not a number"), (1.5, "no probability")]
)
async def test_a_row_without_a_probability_fails_and_the_others_go_on(value: object, message: str) -> None:
    outcome = await run(Filter(name="f", readings=("p",)), rows_of({"p": value}, {"p": 0.9}))
    assert message in outcome.failed[0].error
    assert [row["p"] for row in values_of(outcome)] == [0.9]


@pytest.mark.parametrize("settings", [{"margin": 1.0}, {"vote": "v"}, {"add": ("a",)}])
def test_settings_of_a_vote_need_readings(settings: dict[str, object]) -> None:
    with pytest.raises(PipelineError, match="need readings"):
        Filter(name="f", condition="true", **settings)  # type: ignore[arg-type]


def test_readings_exclude_a_prompt_and_a_condition() -> None:
    for other in ({"condition": "true"}, {"prompt": Template.parse("{{ input.a }}")}):
        with pytest.raises(PipelineError, match="not several"):
            Filter(name="f", readings=("p",), **other)  # type: ignore[arg-type]


def test_all_rows_are_needed_to_vote_and_no_model_is() -> None:
    traits = Filter(name="f", readings=("p", "q"), add=("a",), vote="v").traits()
    assert traits.reads == {"p", "q", "a"}
    assert traits.writes == {"v"}
    assert not traits.row_local
    assert not traits.calls_model
