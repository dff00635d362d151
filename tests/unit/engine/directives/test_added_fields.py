"""Helper fields of rewrites: under names that no operator and no row has."""

from __future__ import annotations

from engine.directives.base import Facts, Place, Site
from engine.directives.chaining import Chaining
from engine.directives.splicing import free_field
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
    site = Site.at(PLAN, Place("more", 0), FACTS)
    taken = ("filename", "seen", "last_notes", "officer", "person")
    assert [free_field(site, name) for name in taken] == [f"{name}_2" for name in taken]
    assert free_field(site, "find_row") == "find_row"
