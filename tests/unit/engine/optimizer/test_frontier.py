"""Which plans are worth choosing between, and the choice: arithmetic."""

from __future__ import annotations

import pytest

from engine.errors import UsageError
from engine.optimizer.candidates import TOP, Candidate, Contest, Entry, Region
from engine.optimizer.frontier import Choice, Point, Policy, choose, frontier, read_policy
from engine.optimizer.judging import Comparison, Rating
from engine.optimizer.outputs import PlanOutput

OWN = Point(1, 2.0, 600.0)
FAST = Point(2, 2.0, 300.0)
GOOD = Point(3, 3.0, 1200.0, wins=2, beats=True)
BEST = Point(4, 3.5, 2400.0, wins=3, beats=True)
SLOW = Point(5, 2.5, 3000.0, loses=True)
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


def test_of_equal_wins_summed_in_another_order_the_better_rated_is_chosen():
    wins = [0.1, 0.2, 0.3]
    assert sum(wins) > sum(reversed(wins))
    slow = Point(6, 3.4, 1200.0, wins=sum(wins), beats=True)
    fine = Point(7, 3.5, 900.0, wins=sum(reversed(wins)), beats=True)
    assert choose([slow, fine], OWN, Policy()).plan == 7
    assert choose([fine, slow], OWN, Policy("within-minutes", 60)).plan == 7


@pytest.mark.parametrize(
    ("score", "wins", "seconds", "chosen"),
    [
        (3.46, 2.9, 1000.0, 7),  # a draw by both, in less time
        (3.46, 2.9, 2300.0, 6),  # hardly any faster
        (3.45, 2.9, 1000.0, 6),  # rated lower by the margin
        (3.46, 2.8, 1000.0, 6),  # of four comparisons, one in twenty parts of the win fewer each
    ],
)
def test_of_plans_that_draw_the_notably_faster_is_chosen(score, wins, seconds, chosen):
    points = [GOOD, SLOW, Point(6, 3.5, 2400.0, wins=3.0, beats=True), Point(7, score, seconds, wins=wins, beats=True)]
    found = choose(points, OWN, Policy())
    assert found.plan == chosen
    assert ("it draws with the plan of the most wins, in 42% of its time" in found.reason) is (chosen == 7)


def test_a_fast_plan_that_does_not_beat_the_users_own_draws_with_none():
    points = [BEST, Point(7, 3.5, 10.0, wins=3.0)]
    assert choose(points, OWN, Policy()).plan == BEST.plan


def test_without_a_better_plan_the_users_own_stays():
    for policy in ("best", "fastest", "within-minutes 60"):
        assert choose([SLOW], OWN, read_policy(policy)).plan == 1
    assert choose([], OWN, Policy()) == Choice(1, "no other plan did better")


def test_where_the_users_own_is_too_slow_the_best_that_fits_is_taken_and_said_to_be_worse():
    found = choose([Point(2, 1.5, 100.0), Point(3, 1.8, 110.0)], OWN, Policy("within-minutes", 2))
    assert found.plan == 3
    assert "does not do better than yours (1.80, yours 2.00)" in found.reason
    assert choose([], OWN, Policy("within-minutes", 2)).reason.startswith("no plan reads all rows within 2 minutes")


@pytest.mark.parametrize("text", ["", "worst", "within-minutes", "within-minutes soon", "within-minutes -1", "best 3"])
def test_a_policy_that_is_none_is_refused(text):
    with pytest.raises(UsageError):
        read_policy(text)


def test_policies_are_read():
    assert read_policy("within-minutes 30") == read_policy("within-minutes=30") == Policy("within-minutes", 30.0)
    assert str(Policy("within-minutes", 30.0)) == "within-minutes 30"


# -- contests --------------------------------------------------------------------------------------------------------


def entry(id: int, *scores: float, seconds: float = 1.0) -> Entry:
    """An entry rated on 4, 8, ... rows."""
    made = Entry(Candidate(id=id, plan=None))
    for number, score in enumerate(scores):
        rows = 4 * 2**number
        made.ratings[rows] = Rating(score=score, failures=(), satisfied=False, grounds=())
        made.outputs[rows] = PlanOutput(plan=None, inputs={}, rows=(), seconds=seconds)
    return made


def contest(own: Entry, *entries: Entry) -> Contest:
    return Contest(Region("s", 0, 0), own, entries=list(entries))


def win(share: float) -> Comparison:
    return Comparison(left=share, reason="")


def test_wins_add_up_and_the_most_win():
    own, a, b = entry(1, 2.0, 2.0), entry(2, 3.0, 3.0), entry(3, 3.0, 3.2)
    found = contest(own, a, b)
    found.note(own, a, win(0.0))
    found.note(own, b, win(0.25))
    found.note(a, b, win(1.0))
    assert [found.wins(one) for one in (own, a, b)] == [0.25, 2.0, 0.75]
    assert found.best() is a
    assert found.share(a) == 1.0
    assert found.share(b) == 0.75


def test_wins_over_plans_of_an_earlier_round_do_not_count():
    own, early, late = entry(1, 2.0), entry(2, 3.0), entry(9, 3.1)
    weak = [entry(number, 2.5) for number in range(3, 8)]
    found = contest(own, early, *weak)
    for one in (own, *weak[:4]):
        found.note(early, one, win(1.0))
    for number, one in enumerate(weak):  # rated otherwise since then
        one.ratings[4] = entry(0, 1.0 if number < 4 else 2.6).ratings[4]
    found.entries += [late, *(entry(number, 2.7) for number in (10, 11))]
    for one in found.top():
        if one is not late:
            found.note(late, one, win(0.6))
    assert found.best() is late  # it wins against all of the five others, the early one against the user's own alone
    assert found.wins(early) == 1.0 + 0.4


def test_the_top_six_are_the_plan_to_beat_and_the_best_five():
    found = contest(entry(1, 1.0), *(entry(n, 1 + n / 10) for n in range(2, 12)))
    assert [one.candidate.id for one in found.top()] == [1, 11, 10, 9, 8, 7]
    assert len(found.top()) == TOP


@pytest.mark.parametrize(
    ("score", "share", "beats"),
    [(3.0, 1.0, True), (2.0, 0.6, True), (1.9, 1.0, False), (3.0, 0.5, True), (2.0, 0.5, False), (3.0, 0.4, False)]
    + [(3.0, None, True), (2.0, None, False)],
)
def test_a_plan_beats_another_by_the_comparison_and_is_rated_no_lower(score, share, beats):
    own, other = entry(1, 2.0), entry(2, score)
    found = contest(own, other)
    if share is not None:
        found.note(other, own, win(share))
    assert found.beats(other) is beats
    assert not found.beats(own)


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
