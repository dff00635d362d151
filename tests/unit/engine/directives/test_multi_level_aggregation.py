"""Aggregation in two levels: where code puts the parts together, and where a model must."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.directives.base import Facts, Place, Site
from engine.directives.multi_level_aggregation import MultiLevelAggregation
from engine.loader import parse_pipeline
from engine.operators.reduce import Reduce

PIPELINE = """\
datasets: {{rows: {{type: file, path: rows.jsonl}}}}
operations:
  - name: by_type
    type: reduce
    reduce_key: type
    prompt: "{{% for row in inputs %}}{{{{ row.text }}}}{{% endfor %}} {asked}"
    output: {{schema: {{{schema}}}}}
    aggregate: {{rows: {{count: id}}}}
pipeline: {{steps: [{{name: report, input: rows, operations: [by_type]}}]}}
"""
FACTS = Facts(source_fields={"rows": ("id", "type", "text")})
LISTS = 'places: "list[string]"'
ONE = MultiLevelAggregation()


def matched(asked, schema=LISTS):
    plan = parse_pipeline(PIPELINE.format(asked=asked, schema=schema)).plan
    site = ONE.matches(plan, Place("report", 0), FACTS)
    assert isinstance(site, Site)
    return site


def test_lists_of_all_there_is_are_made_of_each_row_and_put_together_by_code():
    site = matched("List all distinct places, each once.")
    by_code, by_model = ONE.variants(site)
    assert (by_code.by_code, by_model.by_code) == (True, False)
    part, whole = (node for node in ONE.apply(site, by_code).operators if isinstance(node, Reduce))
    assert part.reduce_key == ("type", "id")
    assert part.prompt is not None
    assert part.prompt.text == by_code.part_prompt
    assert whole.prompt is None
    assert {name: dict(how) for name, how in whole.aggregate.items()} == {
        "places": {"union": "places"},
        "rows": {"sum": "rows"},
        "_counts_prereduce_by_type": {"sum": "_counts_prereduce_by_type_parts"},
    }
    assert [prompt.name for prompt in ONE.prompts(site, by_code)] == ["part_prompt"]


@pytest.mark.parametrize(
    ("asked", "schema"),
    [
        ("List the ten positive reviews.", LISTS),
        ("List 3 places.", LISTS),
        ("List the most important places.", LISTS),
        ("List the places, ordered by how often they are named.", LISTS),
        ("What are the common themes?", LISTS),
        ("Summarise what happened, and list the places.", LISTS),
        ("List all places, and say what happened.", f"{LISTS}, what: string"),
        ("How many were there?", "count: integer"),
    ],
)
def test_what_only_all_rows_together_say_is_left_to_a_model(asked, schema):
    site = matched(asked, schema)
    [by_model] = ONE.variants(site)
    assert not by_model.by_code
    [said] = ONE.complaints(site, replace(by_model, by_code=True))
    assert said == "by_code: the answer of by_type is not only lists of all there is."


def test_groups_are_not_divided_by_a_field_that_some_rows_lack():
    plan = parse_pipeline(PIPELINE.format(asked="List all places.", schema=LISTS)).plan
    fields = {"rows": ("badge", "id", "type", "text")}
    for lacking, key in ((frozenset(), "badge"), (frozenset({"badge"}), "id")):
        site = ONE.matches(plan, Place("report", 0), Facts(source_fields=fields, not_always_there=lacking))
        assert isinstance(site, Site)
        assert ONE.default_params(site).extra_keys == (key,)
