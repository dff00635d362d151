"""A reply that was cut in the middle of a list: its complete entries stand."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted_model import ScriptedBackend
from scripted_run import pipeline, write_jsonl

from engine.executor.events import RowFailed
from engine.operators.asking.replies import complete_entries
from models.errors import OutOfTokens

OFFICERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "station": {"type": "string"},
        "officers": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "badge": {"type": "integer"}},
                "required": ["name", "badge"],
            },
        },
    },
    "required": ["station", "officers"],
}


@pytest.mark.parametrize(
    ("partial", "kept"),
    [
        ('{"station": "North", "officers": [{"name": "A", "badge": 1}, {"name": "B", "ba', [("A", 1)]),
        # The last number may have had more digits: its entry is not complete.
        ('{"station": "North", "officers": [{"name": "A", "badge": 1}, {"name": "B", "badge": 2', [("A", 1)]),
        ('{"station": "North", "officers": [\n{"name": "A", "badge": 1}, {"name": "A", "badge": 1}, {', [("A", 1)]),
        ('{"station": "North", "officers": [{"name": "A", "badge": 1}', None),
        ('{"station": "North", "officers": [', None),
        ('{"station": "Nor', None),
        ('{"officers": [{"name": "A", "badge": 1}, {"name": "B", "badge": 2}, {', None),  # the station is missing
        ("", None),
        ("no JSON", None),
    ],
)
def test_entries_before_the_cut(partial: str, kept: list[tuple[str, int]] | None) -> None:
    found = complete_entries(partial, OFFICERS)
    assert (found and [(entry["name"], entry["badge"]) for entry in found.value["officers"]]) == kept
    assert found is None or (found.name, found.count) == ("officers", len(kept or ()))


def test_the_list_may_stand_within_other_objects() -> None:
    schema = {"type": "object", "properties": {"notes": {"type": "string"}, "output": OFFICERS}}
    partial = '{"notes": "n", "output": {"station": "North", "officers": [{"name": "A", "badge": 1}, {"na'
    found = complete_entries(partial, schema)
    assert found is not None
    assert (found.name, found.count) == ("officers", 1)
    assert found.value == {
        "notes": "n",
        "output": {"station": "North", "officers": [{"name": "A", "badge": 1}]},
    }


LIST_NAMES = """
  - {name: list_names, type: map, prompt: "{{ input.text }}", output: {schema: {names: "list[string]"}}}
"""


def cut_short(request: Any) -> Any:
    raise OutOfTokens("the reply was not complete after 9 tokens (limit 9)", partial='{"names": ["Ann", "Bo", "Ce')


def test_a_row_whose_list_was_cut_keeps_what_is_complete_and_the_ledger_says_so(bench, tmp_path) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "one"}])
    desk = bench(backend=ScriptedBackend(cut_short))
    result = asyncio.run(desk.run(pipeline(file, LIST_NAMES)))
    assert [row["names"] for row in desk.values(result)] == [["Ann", "Bo"]]
    assert desk.of(RowFailed) == []
    (note,) = [d.record for d in desk.case.ledger.decisions(result.run_id, "list_names")]
    assert (note.verdict, note.by) == ("incomplete", "max_tokens")
    assert "of names the first 2 are kept" in note.detail
    assert "Raise max_tokens" in note.detail


def test_a_row_without_a_complete_entry_fails_as_before(bench, tmp_path) -> None:
    def cut_at_once(request: Any) -> Any:
        raise OutOfTokens("the reply was not complete after 3 tokens (limit 3)", partial='{"names": ["An')

    file = write_jsonl(tmp_path / "in.jsonl", [{"text": "one"}])
    desk = bench(backend=ScriptedBackend(cut_at_once))
    asyncio.run(desk.run(pipeline(file, LIST_NAMES)))
    assert [e.operator for e in desk.of(RowFailed)] == ["list_names"]


REDUCE_NAMES = """
  - {name: list_names, type: reduce, reduce_key: station, FOLD prompt: "{{ inputs }}",
     output: {schema: {names: "list[string]"}}}
"""


def cut_fold(request: Any) -> Any:
    begin = '{"output": ' if request.purpose.task.startswith("fold") else ""
    raise OutOfTokens("the reply repeats itself after 9 tokens", partial=begin + '{"names": ["Ann", "Bo", "Ann", "Ce')


@pytest.mark.parametrize("fold", ["", "fold_batch_size: 2,"])
def test_a_group_whose_list_was_cut_keeps_what_is_complete(bench, tmp_path, fold: str) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"station": "North", "text": str(number)} for number in range(3)])
    desk = bench(backend=ScriptedBackend(cut_fold))
    result = asyncio.run(desk.run(pipeline(file, REDUCE_NAMES.replace("FOLD", fold))))
    assert [row["names"] for row in desk.values(result)] == [["Ann", "Bo"]]
    assert desk.of(RowFailed) == []
    notes = [d.record for d in desk.case.ledger.decisions(result.run_id, "list_names")]
    assert {(note.verdict, note.by) for note in notes} == {("incomplete", "max_tokens")}
    assert all("of names the first 2 are kept" in note.detail for note in notes)


def test_a_fold_whose_notes_were_cut_keeps_its_output_and_what_there_is_of_them(bench, tmp_path) -> None:
    def cut_in_notes(request: Any) -> Any:
        begin = '{"output": {"names": ["Ann", "Bo"]}, "scratchpad": "Ann was named on'
        raise OutOfTokens("the reply was not complete after 9 tokens (limit 9)", partial=begin)

    rows = [{"station": "North", "text": str(number)} for number in range(4)]
    desk = bench(backend=ScriptedBackend(cut_in_notes))
    source = REDUCE_NAMES.replace("FOLD", "fold_batch_size: 2, persist_intermediates: true,")
    result = asyncio.run(desk.run(pipeline(write_jsonl(tmp_path / "in.jsonl", rows), source)))
    (row,) = desk.values(result)
    assert row["names"] == ["Ann", "Bo"]
    assert [step["scratchpad"] for step in row["_list_names_intermediates"]] == ["Ann was named on"] * 2
    assert desk.of(RowFailed) == []
    notes = [d.record for d in desk.case.ledger.decisions(result.run_id, "list_names")]
    assert [note.detail.count("the answer is complete") for note in notes] == [1]
