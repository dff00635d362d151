"""What `sharper_comparisons` makes of a resolve, by what its field holds and what it says itself."""

from __future__ import annotations

from engine.directives.base import Facts, Match, Place
from engine.directives.sharper_comparisons import ALIKE, SharperComparisons, SharperParams
from engine.language.loader import parse_pipeline
from engine.operators.resolve import Resolve
from engine.plan.plan import Plan

PIPELINE = """\
datasets: {{rows: {{type: file, path: rows.jsonl}}}}
operations:
  - name: same
    type: resolve
    comparison_prompt: "{asked} {{{{ input1.name }}}} and {{{{ input2.name }}}}: the same?"
    output: {{schema: {{name: string}}}}
    {more}
pipeline: {{steps: [{{name: report, input: rows, operations: [same]}}]}}
"""

ONE = SharperComparisons()
ODDS = SharperParams(persons=False, by_odds=True, alike=False)


def matched(asked: str, more: str = "") -> tuple[Plan, Match]:
    plan = parse_pipeline(PIPELINE.format(asked=asked, more=more)).plan
    match = ONE.matches(plan, Place("report", 0), Facts())
    assert isinstance(match, Match)
    return plan, match


def test_restaurants_are_compared_where_they_are_alike() -> None:
    plan, match = matched("Two restaurants:")
    alike, odds = ONE.variants(match, plan, Facts())
    assert (alike.persons, alike.alike, odds) == (False, True, ODDS)
    resolve = ONE.apply(plan, match, alike).operator("same")
    assert isinstance(resolve, Resolve)
    assert (resolve.blocking_threshold, resolve.rules, resolve.correct_lean) == (ALIKE, (), "none")


def test_a_threshold_or_conditions_of_the_user_stay() -> None:
    for more in ("blocking_threshold: 0.4", "blocking_conditions: ['left.name[:1] == right.name[:1]']"):
        plan, match = matched("Two restaurants:", more)
        assert tuple(ONE.variants(match, plan, Facts())) == (ODDS,)
        [said] = ONE.complaints(match, plan, SharperParams(persons=False, by_odds=False, alike=True), Facts())
        assert "says itself which pairs are compared" in said


def test_persons_are_told_apart_by_rules() -> None:
    plan, match = matched("Two police officers:")
    rules, odds, both = ONE.variants(match, plan, Facts())
    assert (rules.persons, rules.by_odds, rules.alike) == (True, False, False)
    assert (odds, both.persons, both.by_odds) == (ODDS, True, True)
    [said] = ONE.complaints(match, plan, SharperParams(persons=True, by_odds=False, alike=True), Facts())
    assert "choose one" in said


def test_parameters_that_change_nothing_are_refused() -> None:
    plan, match = matched("Two restaurants:")
    assert ONE.complaints(match, plan, SharperParams(persons=False, by_odds=False, alike=False), Facts())
