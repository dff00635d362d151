"""Which prompts ask for what code cannot compute: an order of their own."""

from __future__ import annotations

import pytest

from engine.directives.base import Blocked, Facts, Place
from engine.directives.reduce_to_code import ReduceToCode
from engine.language.loader import parse_pipeline

PIPELINE = """
datasets: {{rows: {{type: file, path: rows.jsonl}}}}
operations:
  - name: all
    type: reduce
    reduce_key: case
    prompt: "{{% for row in inputs %}}- {{{{ row.term }}}}\n{{% endfor %}}\n{asked}"
    output: {{schema: {{term: "list[string]"}}}}
pipeline: {{steps: [{{name: report, input: rows, operations: [all]}}]}}
"""


@pytest.mark.parametrize(
    ("asked", "is_blocked"),
    [
        ("Rank them from the most to the least confident.", True),
        ("List the terms, the most important ones first.", True),
        ("List all terms, sorted by how bad they are.", True),
        ("Write them in order of gravity.", True),
        ("Order them by date.", True),
        ("List all terms, the earliest first.", True),
        ("List all terms.", False),
        ("List all terms of the court's order.", False),
        ("List the frank terms, and the first of each.", False),
    ],
)
def test_an_order_is_left_to_the_model(asked, is_blocked):
    plan = parse_pipeline(PIPELINE.format(asked=asked)).plan
    facts = Facts(source_fields={"rows": ("case", "term")})
    found = ReduceToCode().matches(plan, Place("report", 0), facts)
    assert isinstance(found, Blocked) is is_blocked
