"""Helper fields of rewrites: under names that no operator and no row has, and gone in the end."""

from __future__ import annotations

from engine.directives.base import Facts, Place, Site
from engine.directives.chaining import Chaining
from engine.directives.isolating import Isolating
from engine.directives.splicing import free_field
from engine.language.checks import check, field_flow
from engine.loader import parse_pipeline

PLAN = parse_pipeline("""
datasets:
  rows: {type: file, path: rows.jsonl}
  others: {type: file, path: others.jsonl}
  records: {type: folder, path: records}
operations:
  - {name: find, type: map, prompt: "{{ input.text }} Who?", output: {schema: {officer: string}}}
  - {name: last, type: map, prompt: "{{ input.last_notes }} Who?", output: {schema: {person: string}}}
pipeline:
  steps:
    - {name: report, input: rows, operations: [find]}
    - {name: more, input: records, operations: [last]}
""").plan
FACTS = Facts(source_fields={"rows": ("text", "find_notes", "find_notes_2"), "others": ("seen",)})


def test_no_column_of_a_data_file_is_written_over():
    site = Chaining().matches(PLAN, Place("report", 0), FACTS)
    assert isinstance(site, Site)
    first, _ = Chaining().apply(site, Chaining().default_params(site)).operators[:2]
    assert first.schema.names == ("find_notes_3",)


def test_a_name_is_free_that_is_no_field_of_rows_or_operators():
    site = Site(PLAN, Place("more", 0), FACTS)
    taken = ("filename", "seen", "last_notes", "officer", "person")
    assert [free_field(site, name) for name in taken] == [f"{name}_2" for name in taken]
    assert free_field(site, "find_row") == "find_row"


def test_a_list_that_the_operator_drops_is_not_there_again_when_its_parts_are_joined():
    plan = parse_pipeline("""
datasets: {records: {type: folder, path: in}}
operations:
  - {name: find, type: map, prompt: "{{ input.text }} Who?", drop_keys: [notes],
     output: {schema: {notes: "list[string]", officers: "list[string]"}}}
pipeline: {steps: [{name: report, input: records, operations: [find]}]}
""").plan
    site = Isolating().matches(plan, Place("report", 0), Facts())
    assert isinstance(site, Site)
    parts = [
        {"fields": ["notes", "officers"], "prompt": "Note what was done, and by whom: {{ input.text }}", "kinds": []},
        {"fields": ["notes"], "prompt": "Note when it was: {{ input.text }}", "kinds": []},
    ]
    params = Isolating().read_params({"parts": parts})
    assert Isolating().check_params(site, params) == []
    after = Isolating().apply(site, params)
    assert check(after) == []
    assert field_flow(after) == field_flow(plan)
