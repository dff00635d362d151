"""add_uuid, unnest_columns and scan."""

import uuid

import pytest
from scripted_tools import rows_of, run, values_of

from engine.errors import PipelineError
from engine.language.writer import to_yaml
from engine.loader import parse_pipeline
from engine.operators.add_uuid import AddUuid
from engine.operators.unnest_columns import UnnestColumns


async def test_a_uuid_is_the_same_in_every_run_and_another_for_each_row():
    rows = rows_of({"a": 1}, {"a": 1})
    first, again = await run(AddUuid(name="ids"), rows), await run(AddUuid(name="ids"), rows)
    assert values_of(first) == values_of(again)
    found = [uuid.UUID(v["ids_id"]) for v in values_of(first)]
    assert len(set(found)) == 2
    assert {id.version for id in found} == {5}


async def test_the_field_of_a_uuid_can_be_named():
    outcome = await run(AddUuid(name="ids", id_key="case_id"), rows_of({"a": 1}))
    assert list(values_of(outcome)[0]) == ["a", "case_id"]
    with pytest.raises(PipelineError, match="id_key names no field"):
        AddUuid(name="ids", id_key="")


def columns(**settings):
    return UnnestColumns(name="spread", unnest_key="info", **settings)


async def test_a_dictionary_becomes_columns_and_goes():
    outcome = await run(columns(), rows_of({"id": 1, "info": {"name": "Alice", "age": 30}}))
    assert values_of(outcome) == [{"id": 1, "name": "Alice", "age": 30}]
    kept = await run(columns(drop_source=False), rows_of({"id": 1, "info": {"name": "Alice"}}))
    assert values_of(kept) == [{"id": 1, "info": {"name": "Alice"}, "name": "Alice"}]


async def test_keys_choose_the_columns_and_replace_fields():
    rows = rows_of({"name": "old", "info": {"name": "Alice", "age": 30}}, {"name": "old", "info": None})
    outcome = await run(columns(keys=("name", "city")), rows)
    assert values_of(outcome) == [{"name": "Alice", "city": None}, {"name": None, "city": None}]


async def test_an_entry_named_like_its_dictionary():
    assert values_of(await run(columns(), rows_of({"info": {"info": 1}}))) == [{"info": 1}]
    assert values_of(await run(columns(keys=("info",)), rows_of({"info": {"info": 1}}))) == [{"info": 1}]


async def test_null_is_a_dictionary_without_entries():
    assert values_of(await run(columns(), rows_of({"id": 1, "info": None}, {"id": 2, "info": {}}))) == [
        {"id": 1},
        {"id": 2},
    ]


async def test_what_is_no_dictionary_fails():
    rows = rows_of({"info": [1]}, {"info": "x"}, {"other": {}}, {"id": 1, "info": {"id": 2}})
    outcome = await run(columns(), rows)
    assert [f.error.split(": ", 1)[1] for f in outcome.failed] == [
        "field 'info' is a list, not a dictionary",
        "field 'info' is text, not a dictionary",
        "there is no field 'info'; the fields there are: other",
        "the dictionary in 'info' has an entry 'id', and the row has a field of that name",
    ]
    with pytest.raises(PipelineError, match="keys names a field twice"):
        columns(keys=("a", "a"))


def test_traits_of_unnest_columns():
    assert columns().traits().opens
    traits = columns(keys=("info", "a")).traits()
    assert (traits.writes, traits.removes, traits.opens) == ({"info", "a"}, frozenset(), False)


PIPELINE = """
datasets: {{records: {{type: file, path: r.json}}, others: {{type: file, path: o.json}}}}
operations:
  - {{name: read, type: scan, dataset_name: records}}
  - {{name: ids, type: add_uuid}}
pipeline: {{steps: [{step}]}}
"""


def test_a_step_that_begins_with_a_scan_reads_its_dataset():
    loaded = parse_pipeline(PIPELINE.format(step="{name: a, operations: [read, ids]}"))
    assert loaded.plan.steps[0].inputs == ("records",)
    same = parse_pipeline(PIPELINE.format(step="{name: a, input: records, operations: [read, ids]}"))
    assert loaded.plan == same.plan == parse_pipeline(to_yaml(loaded.plan)).plan


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{name: a, input: others, operations: [read]}", "'read', which begins a step with the rows of 'records'"),
        ("{name: a, input: records, operations: [ids, read]}", "which begins a step with the rows of 'records'"),
        ("{name: a, operations: [ids, read]}", "the key 'input' is missing"),
    ],
)
def test_a_scan_elsewhere_is_refused(step, message):
    with pytest.raises(PipelineError, match=message):
        parse_pipeline(PIPELINE.format(step=step))


def test_a_scan_of_what_is_not_there_is_refused():
    with pytest.raises(PipelineError, match="'nothing', which is no dataset"):
        parse_pipeline(
            PIPELINE.format(step="{name: a, operations: [read]}").replace(
                "dataset_name: records", "dataset_name: nothing"
            )
        )
