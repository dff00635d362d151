"""Operators that rewrites add ask as the one does that they serve: the same model, laid out and cut in the same way."""

from __future__ import annotations

from typing import Any

import pytest

from engine.directives.base import Facts, Place, Site
from engine.directives.registry import directive
from engine.loader import parse_pipeline
from engine.plan.node import Node

ROWS = """\
datasets: {records: {type: folder, path: records}, terms: {type: folder, path: terms}}
operations:
"""
FIND = """\
  - {name: find, type: map, prompt: "{{ input.text }} Who?", too_long: middle_out, layout: document_first,
     output: {schema: {officers: "list[string]", told: string}}}
pipeline: {steps: [{name: report, input: records, operations: [find]}]}
"""
SUM = """\
  - {name: all, type: reduce, reduce_key: kind, prompt: "{% for r in inputs %}{{ r.text }}{% endfor %} What?",
     too_long: head_tail, output: {schema: {what: string}}}
pipeline: {steps: [{name: report, input: records, operations: [all]}]}
"""
JOIN = """\
  - {name: join, type: equijoin, comparison_prompt: "{{ left.text }} {{ right.text }} Same?", too_long: head}
pipeline: {steps: [{name: report, operations: [join: {left: records, right: terms}]}]}
"""
CHUNKS = """\
  - {name: cut, type: split, split_key: text, method: token_count, method_kwargs: {num_tokens: 100}}
  - {name: context, type: gather, content_key: text_chunk, doc_id_key: cut_id, order_key: cut_chunk_num}
  - {name: find, type: map, model: large, prompt: "{{ input.text_chunk_rendered }} Who?",
     output: {schema: {officer: string}}}
pipeline: {steps: [{name: report, input: records, operations: [cut, context, find]}]}
"""


def added(text: str, name: str, at: int = 0, **changes: Any) -> dict[str, Node]:
    """Return the operators that a directive adds, by name."""
    plan, one = parse_pipeline(ROWS + text).plan, directive(name)
    site = one.matches(plan, Place("report", at), Facts())
    assert isinstance(site, Site)
    params = one.read_params({**one.default_params(site).to_json(), **changes})
    known = {node.name for node in plan.operators}
    return {node.name: node for node in one.apply(site, params).operators if node.name not in known}


def test_items_are_asked_about_as_the_list_is():
    for name, operators in (("second_reading", ("find_again", "find_asked")), ("verified_items", ("find_asked",))):
        nodes = added(FIND, name)
        assert {(nodes[one].too_long, nodes[one].layout) for one in operators} == {("middle_out", "document_first")}


@pytest.mark.parametrize(("how", "cut"), [("middle_out", "middle_out"), ("split", "error")])
def test_answers_about_chunks_are_cut_as_the_chunks_are(how, cut):
    assert added(FIND.replace("middle_out", how), "document_chunking")["find_merged"].too_long == cut


def test_rows_are_shrunk_with_texts_cut_as_the_reduce_and_the_join_do():
    assert added(SUM, "pre_aggregation")["all_relevant"].too_long == "head_tail"
    nodes = added(JOIN, "pre_joining")
    assert (nodes["join_left"].too_long, nodes["join_right"].too_long) == ("head", "head")


def test_headings_are_noted_by_the_model_that_reads_the_chunks():
    assert added(CHUNKS, "header_lineage", at=1)["context_notes"].model == "large"
