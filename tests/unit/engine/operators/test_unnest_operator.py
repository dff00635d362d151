import pytest
from scripted_tools import rows_of, run, values_of

from engine.errors import PipelineError
from engine.operators.unnest import Unnest


def unnest(**settings):
    return Unnest(name="each", unnest_key="officers", **settings)


async def test_each_element_becomes_a_row_with_the_other_fields():
    outcome = await run(
        unnest(), rows_of({"file": "a", "officers": ["Diaz", "Roe"]}, {"file": "b", "officers": ["Li"]})
    )
    assert values_of(outcome) == [
        {"file": "a", "officers": "Diaz"},
        {"file": "a", "officers": "Roe"},
        {"file": "b", "officers": "Li"},
    ]


async def test_an_empty_list_is_rejected_with_the_reason():
    rows = rows_of({"officers": []}, {"officers": None})
    outcome = await run(unnest(), rows)
    assert [(r.row, r.reason) for r in outcome.rejected] == [(row, "officers is empty") for row in rows]
    assert outcome.rows == []


async def test_keep_empty_keeps_one_row_with_null():
    outcome = await run(unnest(keep_empty=True, expand_fields=("name",)), rows_of({"officers": []}))
    assert values_of(outcome) == [{"officers": None, "name": None}]


async def test_expand_fields_lifts_fields_of_each_element():
    officers = [{"name": "Diaz", "act": "shoved", "page": 2}, {"name": "Roe"}]
    outcome = await run(unnest(expand_fields=("name", "act")), rows_of({"officers": officers}))
    assert values_of(outcome) == [
        {"officers": officers[0], "name": "Diaz", "act": "shoved"},
        {"officers": officers[1], "name": "Roe", "act": None},
    ]


async def test_elements_stay_whole_without_expand_fields():
    outcome = await run(unnest(), rows_of({"officers": [{"name": "Diaz"}]}))
    assert values_of(outcome) == [{"officers": {"name": "Diaz"}}]


async def test_a_dictionary_is_kept_and_its_fields_are_lifted():
    outcome = await run(unnest(), rows_of({"officers": {"name": "Diaz", "act": "shoved"}}))
    assert values_of(outcome) == [{"officers": {"name": "Diaz", "act": "shoved"}, "name": "Diaz", "act": "shoved"}]
    some = await run(unnest(expand_fields=("name",)), rows_of({"officers": {"name": "Diaz", "act": "shoved"}}))
    assert values_of(some) == [{"officers": {"name": "Diaz", "act": "shoved"}, "name": "Diaz"}]


@pytest.mark.parametrize("keep_empty", [False, True])
async def test_a_row_with_an_empty_dictionary_stays(keep_empty):
    rows = rows_of({"file": "a", "officers": {}})
    assert values_of(await run(unnest(keep_empty=keep_empty), rows)) == [{"file": "a", "officers": {}}]
    some = await run(unnest(keep_empty=keep_empty, expand_fields=("name",)), rows)
    assert values_of(some) == [{"file": "a", "officers": {}, "name": None}]


async def test_a_dictionary_does_not_silently_replace_fields_of_the_row():
    rows = rows_of({"name": "report.pdf", "officers": {"name": "Diaz"}})
    outcome = await run(unnest(), rows)
    assert "has a field 'name', and so has the row" in outcome.failed[0].error
    assert "expand_fields" in outcome.failed[0].advice
    named = await run(unnest(expand_fields=("name",)), rows)
    assert values_of(named) == [{"name": "Diaz", "officers": {"name": "Diaz"}}]


NESTED = {"officers": [["a", ["b"]], "c", {"name": "d"}]}


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (1, [["a", ["b"]], "c", {"name": "d"}]),
        (2, ["a", ["b"], "c", {"name": "d"}]),
        (None, ["a", "b", "c", {"name": "d"}]),
    ],
)
async def test_recursive_goes_into_nested_lists_to_the_depth(depth, expected):
    outcome = await run(unnest(recursive=True, depth=depth), rows_of(NESTED))
    assert [v["officers"] for v in values_of(outcome)] == expected


async def test_recursive_lifts_fields_of_dictionaries_in_lists():
    outcome = await run(unnest(recursive=True), rows_of(NESTED))
    assert values_of(outcome)[-1] == {"officers": {"name": "d"}, "name": "d"}


async def test_a_row_whose_nested_lists_are_all_empty_is_rejected():
    outcome = await run(unnest(recursive=True), rows_of({"officers": [[], [[]]]}))
    assert [r.reason for r in outcome.rejected] == ["officers is empty"]


async def test_values_that_cannot_be_unnested_fail():
    outcome = await run(unnest(), rows_of({"officers": "Diaz"}, {"officers": 3}, {"names": []}))
    assert [f.error.split(": ", 1)[1] for f in outcome.failed] == [
        "field 'officers' is text, not a list or a dictionary",
        "field 'officers' is a number, not a list or a dictionary",
        "there is no field 'officers'; the fields there are: names",
    ]
    plain = await run(unnest(expand_fields=("name",)), rows_of({"officers": ["Diaz"]}))
    assert "is text, so it has no fields to expand" in plain.failed[0].error


def test_depth_needs_recursive():
    with pytest.raises(PipelineError, match="operator 'each': depth is 2"):
        unnest(depth=2)


def test_traits_are_open_only_without_expand_fields():
    assert unnest().traits().opens
    traits = unnest(expand_fields=("name",)).traits()
    assert (traits.opens, traits.writes) == (False, {"officers", "name"})
