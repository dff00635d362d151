"""The end of a build: ratings are told beside each other only where they are of the same part and the same rows."""

from __future__ import annotations

from engine.loader import parse_pipeline
from engine.optimizer.build import points_of
from engine.optimizer.candidates import Candidate, Contest, Entry, Region
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
OWN, OTHER = Candidate(id=1, plan=PLAN), Candidate(id=2, plan=PLAN, parent=1)


def entry(candidate, **scores):
    """An entry with its scores by rows: `on4=3.7`."""
    rated = {int(name[2:]): Rating(score=score, grounds=()) for name, score in scores.items()}
    return Entry(candidate, ratings=rated)


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
