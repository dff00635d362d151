"""How many rows of a group are shown at once, by how long they are."""

from __future__ import annotations

import pytest

from engine.directives.base import Blocked, Facts, Place, Site
from engine.directives.batched_folding import BatchedFolding
from engine.loader import parse_pipeline
from engine.operators.reduce import Reduce

PIPELINE = """\
datasets: {rows: {type: file, path: rows.jsonl}}
operations:
  - name: by_type
    type: reduce
    reduce_key: type
    prompt: "{% for row in inputs %}{{ row.text }}{% endfor %} What is this about?"
    output: {schema: {what: string}}
pipeline: {steps: [{name: report, input: rows, operations: [by_type]}]}
"""
PLACE = Place("report", 0)
ONE = BatchedFolding()


def facts(row_tokens, context_tokens=8000):
    fields = {"rows": ("id", "type", "text")}
    return Facts(source_fields=fields, field_tokens={"text": row_tokens}, context_tokens=context_tokens)


@pytest.mark.parametrize(
    ("row_tokens", "sizes"),
    [
        (0, [5, 15]),  # unknown: of 25
        (100, [5, 15]),  # 60 would fit, 25 are enough
        (600, [2, 6]),  # 10 fit the three quarters of the context that are theirs
        (2000, [1, 2]),  # 3 fit
    ],
)
def test_a_fifth_of_the_rows_that_fit_and_a_middle_number_are_tried(row_tokens, sizes):
    plan, known = parse_pipeline(PIPELINE).plan, facts(row_tokens)
    site = ONE.matches(plan, PLACE, known)
    assert isinstance(site, Site)
    variants = ONE.variants(site)
    assert [params.fold_batch_size for params in variants] == sizes
    [node] = ONE.apply(site, variants[0]).operators
    assert isinstance(node, Reduce)
    assert node.fold_batch_size == sizes[0]


def test_rows_of_which_one_fills_the_context_are_left_alone():
    found = ONE.matches(parse_pipeline(PIPELINE).plan, PLACE, facts(5000))
    assert isinstance(found, Blocked)
    assert "hardly two rows" in found.reason
