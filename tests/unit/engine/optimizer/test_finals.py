"""The end of a build: ratings are told beside each other only where they are of the same part and the same rows."""

from __future__ import annotations

from engine.loader import parse_pipeline
from engine.optimizer.build import choice_of, points_of
from engine.optimizer.candidates import Candidate, Contest, Entry, Region
from engine.optimizer.frontier import Policy, choose
from engine.optimizer.outputs import PlanOutput
from engine.optimizer.rating import Rating

PLAN = parse_pipeline(
    """
datasets: {records: {type: folder, path: records}}
operations:
  - {name: find, type: map, prompt: "Who? {{ input.text }}", output: {schema: {found: "list[string]"}}}
  - {name: each, type: unnest, unnest_key: found}
pipeline: {steps: [{name: s, input: records, operations: [find, each]}]}
"""
).plan
OWN, OTHER, THIRD = (Candidate(id=n, plan=PLAN, parent=n - 1 or None) for n in (1, 2, 3))


def entry(candidate, seconds=1.0, **scores):
    """An entry with its scores by rows: `on4=3.7`; each output takes so many seconds."""
    rated = {int(name[2:]): Rating(score=score, grounds=()) for name, score in scores.items()}
    outputs = {rows: PlanOutput(plan=PLAN, inputs={}, rows=(), seconds=seconds) for rows in rated}
    return Entry(candidate, ratings=rated, outputs=outputs)


def contest(region, own, *others):
    return Contest(region, own, entries=list(others))


def test_where_the_finals_rated_no_rival_both_are_told_as_the_search_rated_them():
    """Seen with the 1.5B: 3.63 of the whole on 8 rows stood beside 3.68 of a part on 4, where its own had 3.72."""
    search = contest(Region.of(PLAN, "s", 0, 1), entry(OWN, on4=3.72, on8=3.67), entry(OTHER, on4=3.68))
    finals = contest(Region("s", 0, 0), entry(OWN, on8=3.63), entry(OTHER))
    points, own = points_of(finals, lambda rows: 1.0, [search])
    assert [(point.plan, point.score, point.beats) for point in points] == [(2, 3.68, False)]
    assert (own.plan, own.score) == (1, 3.72)


def test_a_plan_that_was_not_rated_did_not_do_worse():
    part = contest(Region("s", 0, 0), entry(OWN, on4=3.7), entry(OTHER))
    assert part.settle().candidate is OWN
    assert part.reason == "there was no time to rate another"


def test_where_the_finals_rated_a_rival_their_ratings_are_told():
    search = contest(Region.of(PLAN, "s", 0, 1), entry(OWN, on4=3.72), entry(OTHER, on4=3.68))
    finals = contest(Region("s", 0, 0), entry(OWN, on8=3.63), entry(OTHER, on8=3.7))
    points, own = points_of(finals, lambda rows: 1.0, [search])
    assert [(point.plan, point.score) for point in points] == [(2, 3.7)]
    assert own.score == 3.63


def test_ratings_of_parts_are_not_told_beside_those_of_wholes():
    search = contest(Region.of(PLAN, "s", 0, 1), entry(OWN, on4=3.0), entry(OTHER, on4=3.4), entry(THIRD, 0.1, on4=3.9))
    finals = contest(Region("s", 0, 0), entry(OWN, on8=3.0), entry(OTHER, on8=3.2))
    points, own = points_of(finals, lambda rows: 1.0, [search])
    assert [(point.plan, point.score) for point in points] == [(2, 3.2)]
    for policy in (Policy(), Policy("fastest"), Policy("within-minutes", 0.01)):
        assert choose(points, own, policy).plan != THIRD.id


def test_of_two_parts_only_the_last_is_told_and_of_whole_plans_these():
    first = contest(Region.of(PLAN, "s", 0, 1), entry(OWN, on4=3.0), entry(OTHER, on4=3.9))
    last = contest(Region("s", 1, 0), entry(OWN, on4=2.0), entry(THIRD, on4=2.5))
    inside = Contest(Region("s", 1, 0), entry(OWN, on4=1.0), 1, [entry(OTHER, on4=4.0)])
    unrated = contest(Region("s", 0, 0), entry(OWN), entry(OTHER))
    points, own = points_of(unrated, lambda rows: 1.0, [first, last, inside])
    assert [(point.plan, point.score, point.is_whole) for point in points] == [(3, 2.5, True)]
    assert (own.score, own.is_whole) == (2.0, True)
    whole = contest(Region("s", 0, 0), entry(OWN, on4=3.5), entry(OTHER, on4=3.6))
    points, own = points_of(unrated, lambda rows: 1.0, [whole, first, last])
    assert [(point.plan, point.score) for point in points] == [(2, 3.6)]
    assert own.score == 3.5


def test_how_long_a_part_takes_says_nothing_of_the_whole():
    search = contest(Region.of(PLAN, "s", 0, 1), entry(OWN, 60.0, on4=3.0), entry(OTHER, 6.0, on4=3.5))
    points, own = points_of(contest(Region("s", 0, 0), entry(OWN)), lambda rows: 1.0, [search])
    assert choose(points, own, Policy()).plan == OTHER.id
    for policy in (Policy("fastest"), Policy("within-minutes", 0.2)):
        found = choose(points, own, policy)
        assert found.plan == OWN.id
        assert found.reason == "there was no time to run whole plans, so it is not known how long they take"


def test_what_did_better_part_by_part_overrides_neither_the_policy_nor_a_failure():
    search = contest(Region.of(PLAN, "s", 0, 1), entry(OWN, on4=3.0), entry(OTHER, on4=3.5))
    finals = contest(Region("s", 0, 0), entry(OWN, on8=3.0), entry(THIRD))
    points, own = points_of(finals, lambda rows: 1.0, [search])

    def chosen(policy):
        return choice_of(policy, THIRD, finals, points, own, is_late=False)

    assert chosen(Policy()).plan == THIRD.id
    assert chosen(Policy()).reason == "it did better part by part; there was no time to compare it as a whole"
    assert chosen(Policy("fastest")).plan == OWN.id
    finals.entries[0].trouble = "no memory"
    assert chosen(Policy()).plan == OTHER.id
