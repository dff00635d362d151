"""Every directive does to its fixture what the fixture says, and leaves alone what it must leave alone."""

from __future__ import annotations

import inspect
import json
import re

import jsonschema
import pytest
from directive_cases import FACTS, FOLDER, blocked_cases, place_of, rewritten_cases
from llguidance import LLTokenizer

from engine.directives.base import Blocked, Place, Site, node_at, places
from engine.directives.registry import DIRECTIVES, directive, matching
from engine.errors import PipelineError, UsageError
from engine.language.checks import check, field_flow
from engine.language.writer import to_yaml
from engine.loader import parse_pipeline
from models.guides import GuideCompiler

CASES = rewritten_cases()
PROPOSED = [case for case in CASES if not directive(case.directive).is_settled]
"""Of which a model may be asked for the parameters."""


def site_of(case) -> Site:
    found = directive(case.directive).matches(case.before, case.place, FACTS)
    assert isinstance(found, Site), found
    return found


def test_every_directive_has_fixtures_and_no_fixture_is_of_none():
    assert {folder.name for folder in FOLDER.iterdir()} == {one.name for one in DIRECTIVES}


def test_the_paper_has_thirteen_directives():
    assert [one.equation for one in DIRECTIVES if one.equation] == [str(number) for number in range(1, 14)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_before_becomes_after(case):
    one, site = directive(case.directive), site_of(case)
    params = one.read_params(case.params)
    assert one.check_params(site, params) == []
    after = one.apply(site, params)
    assert to_yaml(after) == case.after
    assert parse_pipeline(case.after).plan == after


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_rewritten_plan_passes_the_checks_and_writes_the_same_fields(case):
    after = parse_pipeline(case.after).plan
    assert check(after) == []
    before_flow, after_flow = field_flow(case.before), field_flow(after)
    for step, fields in before_flow.items():
        assert after_flow[step] == fields


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_templates_make_a_plan(case):
    one, site = directive(case.directive), site_of(case)
    default = one.default_params(site)
    assert one.read_params(default.to_json()) == default
    assert one.check_params(site, default) == []
    assert check(one.apply(site, default)) == []


@pytest.mark.parametrize("case", PROPOSED, ids=str)
def test_the_schema_admits_what_the_fixture_and_the_templates_propose(case):
    one, site = directive(case.directive), site_of(case)
    schema = one.params_schema(site)
    jsonschema.Draft202012Validator.check_schema(schema)
    for proposed in (case.params, one.default_params(site).to_json()):
        jsonschema.validate(proposed, schema)


@pytest.mark.parametrize("case", PROPOSED, ids=str)
def test_a_model_can_be_held_to_the_schema(case):
    one, site = directive(case.directive), site_of(case)
    schema = one.params_schema(site)
    guide = GuideCompiler(LLTokenizer("byte")).compile(json.dumps(schema))
    assert guide.take_forced()[0] == ord("{")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rewrite_is_pure_and_described_in_words(case):
    one, site = directive(case.directive), site_of(case)
    params, untouched = one.read_params(case.params), to_yaml(case.before)
    after = one.apply(site, params)
    assert to_yaml(case.before) == untouched
    assert after == one.apply(site, params) != case.before
    told = one.describe(case.before, after)
    assert told.startswith(f"It {one.purpose}. ")
    assert all(node.name in told for node in after.operators if node not in case.before.operators)


@pytest.mark.parametrize("one", DIRECTIVES, ids=lambda one: one.name)
def test_the_example_of_the_docstring_is_that_of_the_fixture(one):
    case = next(case for case in CASES if case.directive == one.name)
    plans = case.before, parse_pipeline(case.after).plan
    shown = re.search(r"before: +(.*?)\n\s*after: +(.*)$", inspect.getdoc(type(one)), re.DOTALL).groups()
    for plan, chain in zip(plans, shown, strict=True):
        steps = {step.name: step.operators for step in plan.steps}
        for line in chain.strip().splitlines():
            name, operators = line.strip().split(": ")
            assert steps[name] == tuple(operators.split(" -> "))


@pytest.mark.parametrize("case", blocked_cases(), ids=str)
def test_blocked(case):
    assert directive(case.directive).matches(case.before, case.place, FACTS) == Blocked(case.reason)


def test_another_model_needs_another_model():
    case = next(case for case in CASES if case.directive == "switch_model")
    without = directive("switch_model").matches(case.before, case.place, type(FACTS)())
    assert without == Blocked("no other model is installed")


def test_a_place_has_the_directives_that_match_there():
    plan = CASES[0].before
    names = {one.name for one, _ in matching(plan, place_of(plan, "find"), FACTS)}
    assert {"document_chunking", "gleaning_map", "chaining", "second_reading", "switch_model"} <= names
    assert not names & {"gleaning_reduce", "pre_joining"}
    assert places(plan) == [Place("report", 0)]


def test_what_is_not_there_is_an_error_that_lists_what_is():
    plan = CASES[0].before
    with pytest.raises(UsageError, match="there is no directive 'chunking'"):
        directive("chunking")
    with pytest.raises(PipelineError, match="there is no step 'x'"):
        node_at(plan, Place("x", 0))
    with pytest.raises(PipelineError, match="step 'report' has 1 operators, none at 4"):
        node_at(plan, Place("report", 4))
    with pytest.raises(PipelineError, match="chunk_token"):
        directive("document_chunking").read_params({"chunk_token": 3})
