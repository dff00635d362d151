"""Which keys may be written in several ways, and so are resolved before rows are grouped by them."""

from __future__ import annotations

from engine.directives.base import Blocked, Facts, Match, Place
from engine.directives.duplicate_key_resolution import DuplicateKeyResolution
from engine.language.loader import parse_pipeline

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
    match = ONE.matches(plan, PLACE, facts)
    assert isinstance(match, Match)
    assert [key.key for key in ONE.default_params(match, plan, facts).keys] == ["case", "officer"]
    seen = Facts(source_fields=facts.source_fields, identifiers=frozenset({"case"}))
    assert [key.key for key in ONE.default_params(match, plan, seen).keys] == ["officer"]
    both = Facts(source_fields=facts.source_fields, identifiers=frozenset({"case", "officer"}))
    assert isinstance(ONE.matches(plan, PLACE, both), Blocked)
