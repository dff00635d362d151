"""The order in which directives are tried."""

from __future__ import annotations

from plan_outputs import the_plan

from engine.directives.base import Facts, Place, Site
from engine.directives.registry import DIRECTIVES, directive
from engine.optimizer.screening import promising

NAMES = ("switch_model", "second_reading", "document_chunking")


def names(facts=None, gains=None):
    site = Site(the_plan(), Place("report", 0), facts or Facts())
    return [one.name for one, _ in promising([(directive(name), site) for name in NAMES], gains or {})]


def test_priors_are_between_0_and_1():
    assert all(0 < one.prior < 1 for one in DIRECTIVES)


def test_a_list_of_a_long_text_is_read_in_chunks_first():
    assert names() == ["second_reading", "document_chunking", "switch_model"]
    assert names(Facts(field_tokens={"text": 4000})) == ["document_chunking", "second_reading", "switch_model"]


def test_what_a_directive_gained_elsewhere_in_the_build_says_more():
    gains = {"switch_model": [0.5], "second_reading": [-0.2]}
    assert names(gains=gains) == ["switch_model", "document_chunking", "second_reading"]
