"""Which rules propose the pairs of a join: learned from what it matched, else by how long the fields are."""

from __future__ import annotations

import pytest

from engine.directives.base import Blocked, Facts, Place, Site
from engine.directives.pre_joining import PreJoining
from engine.directives.synthesised_blocking import SynthesisedBlocking, judged_pairs
from engine.loader import parse_pipeline
from engine.optimizer.screening import in_turn

JOIN = """
datasets: {complaints: {type: folder, path: a}, roster: {type: folder, path: b}}
operations:
  - name: join
    type: equijoin
    comparison_prompt: "PROMPT"
pipeline: {steps: [{name: all, operations: [join: {left: complaints, right: roster}]}]}
"""
PLACE = Place("all", 0)
ONE = SynthesisedBlocking()


def joining(prompt="{{ left.text }} {{ right.name }}"):
    return parse_pipeline(JOIN.replace("PROMPT", prompt)).plan


def variants(facts, plan=None):
    plan = plan or joining()
    site = ONE.matches(plan, PLACE, facts)
    assert isinstance(site, Site)
    return [(one.left_field, one.right_field, one.rules) for one in ONE.variants(site)]


NAMES = ["Daniel Harmon", "Ana Diaz", "Michael Roe", "Ines Okafor", "Ray Lind", "Lou Varick"]
INITIALS = ["D. H.", "A. D.", "M. R.", "I. O.", "R. L.", "L. V."]


@pytest.mark.parametrize(
    ("tokens", "rules"),
    [
        ({"text": 300, "name": 4}, ("has_all_words",)),
        ({"text": 6, "name": 4}, ("has_all_words", "spelt_alike", "has_initials_of")),
        ({}, ("has_all_words", "spelt_alike", "has_initials_of")),
    ],
)
def test_without_matches_the_length_of_the_fields_decides(tokens, rules):
    assert variants(Facts(field_tokens=tokens)) == [("text", "name", rules)]


def test_of_the_longer_side_the_longest_field_is_looked_at_and_of_the_other_the_shortest():
    plan = joining("{{ left.title }} {{ left.text }} {{ right.name }} {{ right.about }}")
    facts = Facts(field_tokens={"title": 8, "text": 300, "name": 4, "about": 60})
    assert variants(facts, plan)[0][:2] == ("text", "name")


def test_rules_are_learned_from_what_was_matched():
    matches = [{"text": short, "name": name} for short, name in zip(INITIALS, NAMES, strict=True)]
    facts = Facts(field_tokens={"text": 300, "name": 4}, matches=matches)
    assert variants(facts) == [
        ("text", "name", ("has_initials_of",)),
        ("text", "name", ("has_all_words",)),
        ("text", "name", ("has_all_words", "has_initials_of")),
    ]
    assert variants(Facts(field_tokens={"text": 300, "name": 4}, matches=matches[:4]))[0][2] == ("has_all_words",)


def test_rules_are_not_learned_from_matches_that_have_nothing_in_common():
    matches = [{"text": letter * 9, "name": name} for letter, name in zip("qwxyzk", NAMES, strict=True)]
    assert len(variants(Facts(matches=matches))) == 1


def test_the_fields_are_learned_that_part_best():
    plan = joining("{{ left.text }} {{ left.officer }} {{ right.name }}")
    matches = [{"text": f"against {name}, before {NAMES}", "officer": name, "name": name} for name in NAMES]
    assert variants(Facts(field_tokens={"text": 300}, matches=matches), plan)[0][:2] == ("officer", "name")


def test_pairs_that_were_not_matched_are_those_of_other_rows():
    matches = [{"t_left": "a", "t_right": "1"}, {"t_left": "a", "t_right": "2"}, {"t_left": "b", "t_right": "3"}]
    pairs = judged_pairs(matches, "t", "t")
    assert {(one.left, one.right) for one in pairs if one.same} == {("a", "1"), ("a", "2"), ("b", "3")}
    assert {(one.left, one.right) for one in pairs if not one.same} == {("a", "3"), ("b", "1"), ("b", "2")}


def test_terms_are_too_short_to_be_shrunk_before_a_join():
    found = PreJoining().matches(joining(), PLACE, Facts(field_tokens={"text": 300, "name": 4}))
    assert isinstance(found, Blocked)
    assert found.reason == "what join reads of the right rows (name) is too short to be shrunk"
    assert isinstance(PreJoining().matches(joining(), PLACE, Facts(field_tokens={"text": 300, "name": 40})), Site)


def test_rules_are_tried_beside_each_other_and_no_model_is_asked_for_them():
    matches = [{"text": short, "name": name} for short, name in zip(INITIALS, NAMES, strict=True)]
    facts = Facts(field_tokens={"text": 300, "name": 40}, matches=matches)
    fitting = [(one, one.matches(joining(), PLACE, facts)) for one in (ONE, PreJoining())]
    tried = in_turn(fitting)
    assert [one.name for (one, _), _ in tried[:3]] == ["synthesised_blocking"] * 3
    assert all(one.is_complete(site, params) for (one, site), params in tried[:3])


def test_a_side_without_a_value_is_no_pair():
    """A left row without a match is kept with null for the right fields."""
    matches = [{"t": "a", "u": None}, {"t": None, "u": "1"}, {"u": "2"}, {"t": "b", "u": 3}]
    assert [(one.left, one.right) for one in judged_pairs(matches, "t", "u") if one.same] == [("b", "3")]
