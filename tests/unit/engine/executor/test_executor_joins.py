"""Joins, deduplication, search and links in a whole run: every row has a fate, and lineage closes."""

from __future__ import annotations

from scripted_run import Bench, prompt_of, write_jsonl

from engine.loader import parse_pipeline

PIPELINE = """
datasets:
  complaints: {type: file, path: complaints.jsonl}
  roster: {type: file, path: roster.jsonl}
operations:
  - {name: once, type: dedup, keys: [about], count_key: copies}
  - {name: likely, type: search, query: baton force, keys: [about], mode: fts}
  - name: match
    type: equijoin
    comparison_prompt: "{{ left.about }} | {{ right.name }}"
    comparison_model: small
    how: %s
  - {name: near, type: sim_join, left_key: about, right_key: name, k: 2}
pipeline:
  steps:
    - {name: clean, input: complaints, operations: [once, likely]}
    - name: result
      operations: [%s: {left: clean, right: roster}]
"""

COMPLAINTS = [
    {"id": 1, "about": "Diaz used a baton"},
    {"id": 2, "about": "diaz  used a baton"},
    {"id": 3, "about": "Roe used force"},
    {"id": 4, "about": "Parking on Elm Street"},
]
ROSTER = [{"id": 7, "name": "Diaz"}, {"id": 8, "name": "Kim"}]


TWICE = """
datasets:
  a: {type: memory, data: [{id: 1, name: x}]}
  b: {type: memory, data: [{id: 2, name: y}]}
operations:
  - {name: nobody, type: filter, condition: "false"}
  - name: match
    type: equijoin
    comparison_prompt: "{{ left.name }} | {{ right.name }}"
    blocking_conditions: ["left.name == right.name"]
    how: left
pipeline:
  steps:
    - {name: first, operations: [match: {left: a, right: b}]}
    - {name: nothing, input: b, operations: [nobody]}
    - {name: second, operations: [match: {left: a, right: nothing}]}
"""


def answer(request):
    left, right = prompt_of(request).split("\n")[0].split(" | ")
    return right in left


def ran(tmp_path, join, how="inner", text=PIPELINE):
    write_jsonl(tmp_path / "complaints.jsonl", COMPLAINTS)
    write_jsonl(tmp_path / "roster.jsonl", ROSTER)
    bench = Bench(tmp_path, answer)
    result = bench.run_again(parse_pipeline(text % (how, join), directory=tmp_path))
    rejected = [(fate.operator, fate.record.row_id) for fate in bench.case.ledger.fates(result.run_id, fate="rejected")]
    return bench, result, rejected


def test_a_join_of_what_is_left_after_dedup_and_search(tmp_path):
    bench, result, rejected = ran(tmp_path, "match")
    assert bench.values(result) == [
        {"id_left": 1, "about": "Diaz used a baton", "copies": 2, "id_right": 7, "name": "Diaz"}
    ]
    assert [operator for operator, _ in rejected] == ["once", "likely", "match", "match"]
    assert result.failed_items == 0
    assert bench.case.ledger.sums(result.run_id).adds_up


def test_a_left_join_keeps_what_nobody_matches(tmp_path):
    bench, result, _ = ran(tmp_path, "match", how="left")
    # Both complaints hold one word of the search; the shorter one is the better answer.
    assert [(row["id_left"], row["name"]) for row in bench.values(result)] == [(3, None), (1, "Diaz")]
    assert bench.case.ledger.sums(result.run_id).adds_up


def test_a_join_by_similarity_asks_no_model(tmp_path):
    bench, result, _ = ran(tmp_path, "near")
    assert len(bench.values(result)) == 4
    assert bench.calls == []
    assert bench.case.ledger.sums(result.run_id).adds_up


def test_a_join_that_is_used_twice_has_the_fields_of_each_use(tmp_path):
    write_jsonl(tmp_path / "places.jsonl", [{"name": "Elm Street", "town": "Ely"}])
    places = "  places: {type: file, path: places.jsonl}\n"
    text = PIPELINE.replace("operations:\n", f"{places}operations:\n", 1)
    text += "    - {name: again, operations: [match: {left: clean, right: places}]}\n"
    text += "    - {name: first, input: result, operations: []}\n"
    bench, result, _ = ran(tmp_path, "match", how="left", text=text)
    assert [set(row) for row in bench.values(result)] == [{"id_left", "about", "copies", "id_right", "name"}] * 2


def test_a_left_join_with_nothing_on_the_right_has_the_fields_that_the_check_knows(tmp_path):
    text = PIPELINE.replace("pipeline:", "  - {name: none, type: filter, condition: input.id > 9}\npipeline:")
    text = text.replace("  steps:", "  steps:\n    - {name: nobody, input: roster, operations: [none]}")
    bench, result, _ = ran(tmp_path, "match", how="left", text=text.replace("right: roster", "right: nobody"))
    left = [(3, "Roe used force", 1), (1, "Diaz used a baton", 2)]
    assert bench.values(result) == [
        {"id_left": id, "about": about, "copies": copies, "id_right": None, "name": None} for id, about, copies in left
    ]
    assert bench.case.ledger.sums(result.run_id).adds_up


def test_a_join_that_is_used_again_knows_the_fields_of_a_side_without_rows(tmp_path):
    bench = Bench(tmp_path, answer)
    result = bench.run_again(parse_pipeline(TWICE, directory=tmp_path))
    assert bench.values(result) == [{"id_left": 1, "name_left": "x", "id_right": None, "name_right": None}]
