"""The floor of a long run: each call at the rates of prompts of its own length, measured while the run stands still."""

from __future__ import annotations

import pytest
from overnight import Took, Watch, floor_seconds, mean_rates

from engine.executor.events import ModelCall

RATES = {
    1_000: {"prompt_per_second": 100.0, "sampled_per_second": 50.0},
    3_000: {"prompt_per_second": 50.0, "sampled_per_second": 25.0},
}


@pytest.mark.parametrize(
    ("prompt", "reused", "sampled", "seconds"),
    [
        (1_000, 0, 50, 10 + 1),
        (1_000, 500, 0, 5),
        (2_000, 0, 100, 2_000 * 0.015 + 100 * 0.03),  # half way between the two
        (9_000, 0, 0, 9_000 / 50),  # beyond what was measured
    ],
)
def test_the_floor_of_a_call(prompt: int, reused: int, sampled: int, seconds: float) -> None:
    assert floor_seconds(_took([(prompt, reused, sampled, False)]), RATES) == pytest.approx(seconds)


def test_calls_add_up_and_replies_of_the_case_cost_nothing() -> None:
    took = _took([(1_000, 0, 50, False), (1_000, 500, 0, False), (1_000, 0, 50, True)])
    assert floor_seconds(took, RATES) == pytest.approx(11 + 5)


def test_what_the_form_forces_is_read_and_not_written() -> None:
    assert floor_seconds(_took([(1_000, 0, 50, False)], forced=200), RATES) == pytest.approx(12 + 1)


def test_rates_of_several_measurements_add_their_seconds_up() -> None:
    """A token that takes 10 ms in one minute and 30 in the next takes 20 of a run through both."""
    slow, fast = ({"prompt_per_second": rate, "sampled_per_second": rate / 2} for rate in (100 / 3, 100.0))
    together = mean_rates({500: [slow, fast]})[500]
    assert together == pytest.approx({"prompt_per_second": 50.0, "sampled_per_second": 25.0})


def test_a_stopped_watch_stands_still_and_goes_on() -> None:
    shown = 10.0
    watch = Watch(lambda: shown)
    shown = 14.0
    with watch.stopped():
        shown = 20.0
        assert watch.now() == 4.0
    shown = 21.0
    assert watch.now() == 5.0


def _took(calls: list[tuple[int, int, int, bool]], forced: int = 0) -> Took:
    events = [
        ModelCall("extract", "1", prompt, reused, sampled, forced, 1.0, kept) for prompt, reused, sampled, kept in calls
    ]
    return Took(parts=[[(0.0, event) for event in events]])
