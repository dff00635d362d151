"""Which plans are worth choosing between, and the choice: arithmetic."""

from __future__ import annotations

import pytest

from engine.errors import UsageError
from engine.optimizer.candidates import Candidate, Contest, Entry, Region
from engine.optimizer.frontier import Choice, Point, Policy, choose, frontier, read_policy
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.rating import Rating

OWN = Point(1, 2.0, 600.0)
FAST = Point(2, 2.0, 300.0)
GOOD = Point(3, 3.0, 1200.0, beats=True)
BEST = Point(4, 3.5, 2400.0, beats=True)
SLOW = Point(5, 2.05, 3000.0)
ALL = [FAST, GOOD, BEST, SLOW]


def test_no_plan_of_the_frontier_is_both_worse_and_slower():
    assert frontier([OWN, *ALL]) == [FAST, GOOD, BEST]
    assert frontier([Point(1, 2.0, 10.0), Point(2, 3.0, 10.0)]) == [Point(2, 3.0, 10.0)]
    assert frontier([]) == []


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [("best", 4), ("fastest", 2), ("within-minutes 25", 3), ("within-minutes 60", 4), ("within-minutes 10", 1)],
)
def test_a_policy_chooses(policy, chosen):
    assert choose(ALL, OWN, read_policy(policy)).plan == chosen


@pytest.mark.parametrize(
    ("score", "seconds", "chosen"),
    [
        (3.46, 1000.0, 7),  # a draw, in less time
        (3.46, 2300.0, 6),  # hardly any faster
        (3.4, 1000.0, 6),  # rated lower by the margin
    ],
)
def test_of_plans_that_draw_the_notably_faster_is_chosen(score, seconds, chosen):
    points = [GOOD, SLOW, Point(6, 3.5, 2400.0, beats=True), Point(7, score, seconds, beats=True)]
    found = choose(points, OWN, Policy())
    assert found.plan == chosen
    assert ("it is about as good as the highest-rated plan, in 42% of its time" in found.reason) is (chosen == 7)


def test_a_fast_plan_that_does_not_beat_the_users_own_draws_with_none():
    points = [BEST, Point(7, 3.5, 10.0)]
    assert choose(points, OWN, Policy()).plan == BEST.plan


def test_without_a_better_plan_the_users_own_stays():
    for policy in ("best", "fastest", "within-minutes 60"):
        assert choose([SLOW], OWN, read_policy(policy)).plan == 1
    assert "automatic checks show no clear winner (best 2.05, your own 2.00)" in choose([SLOW], OWN, Policy()).reason
    assert choose([], OWN, Policy()) == Choice(1, "no other plan did better")


def test_where_the_users_own_is_too_slow_the_best_that_fits_is_taken_and_said_to_be_worse():
    found = choose([Point(2, 1.5, 100.0), Point(3, 1.8, 110.0)], OWN, Policy("within-minutes", 2))
    assert found.plan == 3
    assert "does not do better than yours (1.80, yours 2.00)" in found.reason
    assert choose([], OWN, Policy("within-minutes", 2)).reason.startswith("no plan reads all rows within 2 minutes")


@pytest.mark.parametrize(
    "text", ["", "worst", "within-minutes", "within-minutes soon", "within-minutes -1", "within-minutes nan", "best 3"]
)
def test_a_policy_that_is_none_is_refused(text):
    with pytest.raises(UsageError):
        read_policy(text)


def test_a_plan_that_keeps_or_merges_other_rows_for_no_known_reason_is_not_chosen_for_being_fast():
    guess, slower = Point(6, 3.9, 10.0, is_guess=True), Point(7, 2.0, 500.0)
    for policy in ("fastest", "within-minutes 9"):
        assert choose([guess, slower], OWN, read_policy(policy)).plan == 7
    assert choose([guess], OWN, read_policy("fastest")).plan == OWN.plan


def test_less_than_a_minute_and_a_half_is_told_in_seconds():
    found = choose([Point(2, 1.5, 30.0)], OWN, Policy("within-minutes", 0.1))
    assert found.reason == "no plan reads all rows within 0.1 minutes; this is the fastest, 30 seconds"
    found = choose([Point(2, 1.5, 5.0)], Point(1, 2.0, 80.0), Policy("within-minutes", 0.1))
    assert found.reason.endswith("; your own takes 80 seconds")


def test_policies_are_read():
    assert read_policy("within-minutes 30") == read_policy("within-minutes=30") == Policy("within-minutes", 30.0)
    assert str(Policy("within-minutes", 30.0)) == "within-minutes 30"


# -- contests --------------------------------------------------------------------------------------------------------


def entry(id: int, *scores: float, seconds: float = 1.0) -> Entry:
    """An entry rated on 4, 8, ... rows."""
    made = Entry(Candidate(id=id, plan=None))
    for number, score in enumerate(scores):
        rows = 4 * 2**number
        made.ratings[rows] = Rating(score=score, grounds=())
        made.outputs[rows] = PlanOutput(plan=None, inputs={}, rows=(), seconds=seconds)
    return made


def contest(own: Entry, *entries: Entry) -> Contest:
    return Contest(Region("s", 0, 0), own, entries=list(entries))


@pytest.mark.parametrize(("score", "beats"), [(3.0, True), (2.11, True), (2.05, False), (1.9, False)])
def test_a_plan_beats_another_that_is_rated_notably_lower(score, beats):
    own, other = entry(1, 2.0), entry(2, score)
    found = contest(own, other)
    assert found.beats(other) is beats
    assert not found.beats(own)


def test_where_no_difference_can_be_told_the_plan_to_beat_stands_and_says_so():
    found = contest(entry(1, 3.4), entry(2, 3.45))
    assert found.settle().candidate.id == 1
    assert found.reason.endswith("automatic checks show no clear winner (best 3.45, your own 3.40)")


def test_plans_are_compared_on_the_same_rows_only():
    # The plan to beat was rated on 8 rows, but none of the others came so far.
    found = contest(entry(1, 2.0, 3.9), entry(2, 3.0), entry(3, 2.5))
    assert found.level == 4
    assert found.best().candidate.id == 2
    assert "rated 3.00 on 4 rows, the plan before 2.00" in (found.settle() and found.reason)


def test_a_plan_in_trouble_is_not_chosen():
    broken = entry(2, 4.0)
    broken.trouble = "no memory"
    assert contest(entry(1, 2.0), broken).best().candidate.id == 1
