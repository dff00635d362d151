"""Which plans are run on more rows."""

from __future__ import annotations

from plan_outputs import PIPELINE, the_plan

from engine.optimizer.candidates import Candidate, Contest, Entry, Region
from engine.optimizer.judging import Rating
from engine.optimizer.selection import kept_half, weighing

WEIGHS = PIPELINE.replace(
    "pipeline:",
    '  - {name: keep, type: filter, prompt: "{{ input.text }} Was somebody hurt?", correct_lean: batch,\n'
    "     output: {schema: {hurt: boolean}}}\npipeline:",
).replace("[find]", "[find, keep]")


def rated(number, score, text=PIPELINE):
    rating = Rating(score=score, failures=(), satisfied=False, grounds=())
    return Entry(Candidate(id=number, plan=the_plan(text)), ratings={3: rating})


def test_a_plan_that_weighs_all_answers_goes_on_though_few_rows_say_nothing_for_it():
    own = rated(1, 3.5)
    contest = Contest(Region("report", 0, 0), own)
    contest.entries = [rated(2, 3.9), rated(3, 3.8), rated(4, 3.5, WEIGHS), rated(5, 3.4, WEIGHS)]
    assert [entry.candidate.id for entry in kept_half(contest, 3)] == [2, 3]
    assert [entry.candidate.id for entry in weighing(contest, 3)] == [4]
    contest.entries = contest.entries[:2]
    assert weighing(contest, 3) == []
