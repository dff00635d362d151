"""Which keys may be written in several ways, and so are resolved before rows are grouped by them."""

from __future__ import annotations

from dataclasses import replace

from engine.directives.base import Blocked, Facts, Place, Site
from engine.directives.duplicate_key_resolution import DuplicateKeyResolution, ResolutionParams
from engine.loader import parse_pipeline
from engine.operators.resolve import Resolve
from engine.optimizer.screening import in_turn

PIPELINE = """
datasets: {rows: {type: file, path: rows.jsonl}}
operations:
  - name: by_case
    type: reduce
    reduce_key: [case, officer]
    prompt: "{% for row in inputs %}{{ row.text }}{% endfor %} What happened?"
    output: {schema: {what: string}}
pipeline: {steps: [{name: report, input: rows, operations: [by_case]}]}
"""
PLACE = Place("report", 0)
ONE = DuplicateKeyResolution()


def test_identifiers_are_one_only_where_they_are_equal():
    plan = parse_pipeline(PIPELINE).plan
    facts = Facts(source_fields={"rows": ("case", "officer", "text")})
    site = ONE.matches(plan, PLACE, facts)
    assert isinstance(site, Site)
    assert [key.key for key in ONE.default_params(site).keys] == ["case", "officer"]
    seen = Facts(source_fields=facts.source_fields, identifiers=frozenset({"case"}))
    assert [key.key for key in ONE.default_params(replace(site, facts=seen)).keys] == ["officer"]
    both = Facts(source_fields=facts.source_fields, identifiers=frozenset({"case", "officer"}))
    assert isinstance(ONE.matches(plan, PLACE, both), Blocked)


def test_keys_that_are_no_names_are_first_joined_by_what_the_reduce_shows_of_their_rows():
    plan = parse_pipeline(PIPELINE.replace("[case, officer]", "[offence, officer]")).plan
    facts = Facts(source_fields={"rows": ("offence", "officer", "text")})
    site = ONE.matches(plan, PLACE, facts)
    assert isinstance(site, Site)
    first, *others = ONE.variants(site)
    assert [(key.key, key.similarity) for key in first.keys] == [
        ("offence", "close"),
        ("officer", "none"),
    ]
    assert [params.keys[0].similarity for params in others] == ["broad", "none", "none"]
    offence, officer, _ = ONE.apply(site, first).operators
    assert isinstance(offence, Resolve)
    assert offence.similarity_threshold == 0.5
    assert offence.blocking_keys == ("offence", "text")
    assert offence.comparison_prompt is None
    assert isinstance(officer, Resolve)
    assert officer.rules == ("person_name",)
    assert [prompt.name for prompt in ONE.prompts(site, first)] == ["comparison_prompt of officer"]
    assert not ONE.complaints(site, first)


def test_names_of_persons_are_not_joined_because_their_rows_are_alike():
    plan = parse_pipeline(PIPELINE).plan
    facts = Facts(source_fields={"rows": ("case", "officer", "text")})
    site = ONE.matches(plan, PLACE, facts)
    assert isinstance(site, Site)
    case, officer = ONE.default_params(site).keys
    params = ResolutionParams(keys=(replace(case, similarity="broad"), replace(officer, similarity="close")))
    assert ONE.complaints(site, params) == [
        "similarity: officer holds names of persons.",
    ]


def test_a_search_tries_likeness_as_it_is_and_asks_no_model_for_it():
    plan = parse_pipeline(PIPELINE.replace("[case, officer]", "[offence]")).plan
    facts = Facts(source_fields={"rows": ("offence", "officer", "text")})
    site = ONE.matches(plan, PLACE, facts)
    assert isinstance(site, Site)
    tried = in_turn([(ONE, site)])
    assert [params.keys[0].similarity for _, params in tried] == ["close", "broad", "none"]
    assert all(one.is_complete(site, params) for (one, site), params in tried)


STEPS = """
datasets: {rows: {type: file, path: rows.jsonl}, others: {type: file, path: others.jsonl}}
operations:
  - {name: same, type: resolve, comparison_prompt: "{{ input1.officer }} {{ input2.officer }} Same?",
     output: {schema: {officer: string}}}
  - {name: tidy, type: map, drop_keys: [seen]}
  - {name: count, type: map, prompt: "{{ input.text }} How many?", output: {schema: {officer: integer}}}
  - name: by_officer
    type: reduce
    reduce_key: officer
    prompt: "{% for row in inputs %}{{ row.text }}{% endfor %} What happened?"
    output: {schema: {what: string}}
pipeline:
  steps:
    - {name: before, input: rows, operations: [FIRST]}
    - {name: beside, input: others, operations: [SECOND]}
    - {name: report, input: before, operations: [by_officer]}
"""


def test_what_an_earlier_step_has_resolved_is_not_resolved_again_and_what_stands_beside_says_nothing():
    facts = Facts(source_fields={name: ("officer", "text", "seen") for name in ("rows", "others")})

    def found(first, second):
        plan = parse_pipeline(STEPS.replace("FIRST", first).replace("SECOND", second)).plan
        return type(ONE.matches(plan, Place("report", 0), facts))

    assert found("same", "tidy") is Blocked
    assert found("count", "same") is Blocked
    assert found("tidy", "count") is Site
    assert found("tidy", "same") is Site
