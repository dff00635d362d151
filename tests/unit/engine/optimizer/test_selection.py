"""Which plans are run on more rows."""

from __future__ import annotations

import asyncio

import pytest
from plan_outputs import PIPELINE, the_plan

from engine.optimizer.budget import Budget
from engine.optimizer.candidates import Candidate, Contest, Entry, Region
from engine.optimizer.rating import Rating
from engine.optimizer.search import kept_half, left_behind, look_again, weighing

WEIGHS = PIPELINE.replace(
    "pipeline:",
    '  - {name: keep, type: filter, prompt: "{{ input.text }} Was somebody hurt?", correct_lean: batch,\n'
    "     output: {schema: {hurt: boolean}}}\npipeline:",
).replace("[find]", "[find, keep]")


def rated(number, score, text=PIPELINE):
    return Entry(Candidate(id=number, plan=the_plan(text)), ratings={3: Rating(score=score, grounds=())})


def test_a_plan_that_weighs_all_answers_goes_on_though_few_rows_say_nothing_for_it():
    own = rated(1, 3.5)
    contest = Contest(Region("report", 0, 0), own)
    contest.entries = [rated(2, 3.9), rated(3, 3.8), rated(4, 3.5, WEIGHS), rated(5, 3.4, WEIGHS)]
    assert [entry.candidate.id for entry in kept_half(contest, 3)] == [2, 3]
    assert [entry.candidate.id for entry in weighing(contest, 3)] == [4]
    contest.entries = contest.entries[:2]
    assert weighing(contest, 3) == []


class Told:
    """What an evaluation was asked to run; each plan is rated on more rows as its number says."""

    def __init__(self):
        self.ran = []

    async def run_all(self, contest, entries, count, budget):
        for entry in entries:
            self.ran.append(entry.candidate.id)
            entry.ratings[count] = Rating(score=1 + entry.candidate.id / 10, grounds=())


def climbed(*went_on):
    """Five plans of three rows, of which those that went on were rated on five, with the plan to beat."""
    contest = Contest(Region("report", 0, 0), rated(1, 3.5))
    contest.entries = [rated(2, 3.9), rated(3, 3.8), rated(4, 3.76), rated(5, 3.74), rated(6, 3.65)]
    for entry in contest.everyone():
        entry.seconds = 30.0
        if entry.candidate.id in {1, *went_on}:
            entry.ratings[5] = entry.ratings[3]
    return contest


def test_what_drew_on_few_rows_is_looked_at_again_where_there_is_time():
    contest, told = climbed(2, 3), Told()
    assert [entry.candidate.id for entry in left_behind(contest, 3, 5)] == [4, 5]  # of 3.76 or less, above 3.66
    asyncio.run(look_again(contest, (3, 5), told, Budget(600.0)))
    assert told.ran == [4, 5]


@pytest.mark.parametrize(
    ("seconds", "ran"),
    [
        (90.0, [4, 5]),  # half of it is 45: 20 for each of two
        (60.0, [4]),
        (30.0, []),
    ],
)
def test_no_more_is_looked_at_again_than_half_of_the_time_allows(seconds, ran):
    contest, told = climbed(2, 3), Told()
    asyncio.run(look_again(contest, (3, 5), told, Budget(seconds, clock=lambda: 0.0)))
    assert told.ran == ran


def test_where_nobody_came_to_all_rows_or_few_are_all_nothing_is_looked_at_again():
    assert left_behind(climbed(), 3, 5) == []
    assert left_behind(climbed(2, 3), 3, 3) == []
