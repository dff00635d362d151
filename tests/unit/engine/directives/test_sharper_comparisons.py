"""What `sharper_comparisons` makes of a resolve, by what its field holds and what it says itself."""

from __future__ import annotations

import pytest

from engine.directives.base import Blocked, Facts, Place, Site
from engine.directives.sharper_comparisons import ALIKE, SharperComparisons, SharperParams
from engine.loader import parse_pipeline
from engine.operators.resolve import Resolve

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


def matched(asked: str, more: str = "") -> Site:
    plan = parse_pipeline(PIPELINE.format(asked=asked, more=more)).plan
    site = ONE.matches(plan, Place("report", 0), Facts())
    assert isinstance(site, Site)
    return site


def test_restaurants_are_compared_where_they_are_alike() -> None:
    site = matched("Two restaurants:")
    params = ONE.default_params(site)
    assert params == SharperParams(persons=False)
    resolve = ONE.apply(site, params).operator("same")
    assert isinstance(resolve, Resolve)
    assert (resolve.blocking_threshold, resolve.rules) == (ALIKE, ())


@pytest.mark.parametrize(
    "more", ["blocking_threshold: 0.4", "blocking_conditions: ['left.name[:1] == right.name[:1]']"]
)
def test_a_threshold_or_conditions_of_the_user_stay(more: str) -> None:
    plan = parse_pipeline(PIPELINE.format(asked="Two restaurants:", more=more)).plan
    assert isinstance(ONE.matches(plan, Place("report", 0), Facts()), Blocked)
    site = matched("Two police officers:", more)
    [said] = ONE.complaints(site, SharperParams(persons=False))
    assert "says itself which pairs are compared" in said


def test_persons_are_told_apart_by_rules() -> None:
    site = matched("Two police officers:")
    params = ONE.default_params(site)
    assert params == SharperParams(persons=True)
    resolve = ONE.apply(site, params).operator("same")
    assert isinstance(resolve, Resolve)
    assert (resolve.rules, resolve.canonical, resolve.blocking_threshold) == (("person_name",), "longest", None)
