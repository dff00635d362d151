"""agree: several readings, the value by vote, how far they agree, what is refused."""

import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.language.binding import bind, unbind
from engine.language.expressions import Expression
from engine.language.position import Where
from engine.operators.asking.agreeing import same_reading, vote
from engine.operators.asking.model_node import AGREE_TEMPERATURE, Agree
from engine.operators.extract import Extract
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.operators.reduce import Reduce
from engine.values.registry import value_type
from models.errors import ModelCrashed

PROMPT = template("Who? {{ input.text }}")
SEED = 7
"""That of scripted_tools: reading n has SEED + n."""


def mapped(**settings):
    settings = {"schema": schema(name="string", acts="list[string]"), **settings}
    return Map(name="m", prompt=PROMPT, **settings)


def saying(*readings):
    return ScriptedTools(lambda request: readings[request.seed - SEED])


async def test_the_value_of_each_field_is_that_of_most_readings():
    tools = saying(
        {"name": "Ann Lee", "acts": ["hit"]},
        {"name": "Bo Diaz", "acts": ["hit", "ran"]},
        {"name": "BO DIAZ", "acts": ["Ran", "hit"]},
    )
    (row,) = values_of(await run(mapped(agree=3), rows_of({"text": "a"}), tools))
    assert (row["name"], row["acts"]) == ("Bo Diaz", ["hit", "ran"])
    kept = row["_m_agreement"]
    assert kept["name"]["share"] == pytest.approx(2 / 3, abs=1e-4)
    assert kept["name"]["values"] == [{"value": "Bo Diaz", "readings": 2}, {"value": "Ann Lee", "readings": 1}]
    # Dice of {hit} and {hit, ran} is 2/3; with itself and with its equal 1
    assert kept["acts"]["share"] == pytest.approx((1 + 1 + 2 / 3) / 3, abs=1e-4)


async def test_a_vote_that_fails_validate_gives_way_to_the_nearest_reading():
    node = mapped(
        schema=schema(buyer="string", seller="string"),
        agree=4,
        validate=(Expression.parse("output.buyer != output.seller"),),
    )
    said = [("Roy", "Diaz"), ("Roy", "Lee"), ("Moss", "Roy"), ("Ames", "Roy")]
    tools = saying(*({"buyer": buyer, "seller": seller} for buyer, seller in said))
    (row,) = values_of(await run(node, rows_of({"text": "a"}), tools))
    assert (row["buyer"], row["seller"]) == ("Roy", "Diaz")  # by field it would be Roy and Roy
    assert {name: kept["share"] for name, kept in row["_m_agreement"].items()} == {"buyer": 0.5, "seller": 0.5}


async def test_the_first_reading_is_the_operators_own_and_stands_where_none_agree():
    tools = saying({"name": "a", "acts": []}, {"name": "b", "acts": []}, {"name": "c", "acts": []})
    (row,) = values_of(await run(mapped(agree=3), rows_of({"text": "x"}), tools))
    assert row["name"] == "a"
    by_seed = sorted((request.seed, request.sampling.temperature) for request in tools.requests)
    assert by_seed == [(SEED, 0.0), (SEED + 1, AGREE_TEMPERATURE), (SEED + 2, AGREE_TEMPERATURE)]


async def test_another_model_may_give_the_further_readings():
    tools = saying({"name": "a", "acts": []}, {"name": "b", "acts": []})
    node = mapped(agree=Agree(times=2, model="other"))
    await run(node, rows_of({"text": "x"}), tools)
    assert sorted(map(str, tools.models)) == ["None", "other"]
    assert {request.sampling.temperature for request in tools.requests} == {0.0}
    assert node.other_models == ("other",)


async def test_typed_values_agree_by_what_they_mean():
    node = mapped(schema=schema(day="date()"), agree=2)
    tools = saying({"day": "March 15, 2024"}, {"day": "15 March 2024"})
    (row,) = values_of(await run(node, rows_of({"text": "x"}), tools))
    assert row["_m_agreement"]["day"]["share"] == 1
    assert row["day"] == value_type("date").cell("March 15, 2024")


async def test_a_reading_that_fails_agrees_with_none_and_a_row_fails_with_all():
    def reply(request):
        if request.seed == SEED + 1 or "Who? b" in prompt_of(request):
            raise ModelCrashed("gone")
        return {"name": "a", "acts": []}

    outcome = await run(mapped(agree=2), rows_of({"text": "a"}, {"text": "b"}), ScriptedTools(reply))
    (row,) = values_of(outcome)
    assert (row["_m_agreement"]["name"]["share"], row["_m_agreement"]["name"]["failed"]) == (0.5, 1)
    (failed,) = outcome.failed
    assert "all 2 readings failed; the first: " in failed.error


async def test_disagreement_is_noted_for_the_ledger():
    tools = saying({"name": "a", "acts": []}, {"name": "b", "acts": []})
    outcome = await run(mapped(agree=2), rows_of({"text": "x"}), tools)
    (note,) = outcome.decisions
    assert (note.verdict, note.by, note.detail) == ("disagree", "agree", "name 50%")


async def test_a_filter_follows_the_vote():
    node = Filter(name="f", prompt=PROMPT, schema=schema(keep="boolean"), agree=3)

    def reply(request):
        return {"keep": (request.seed == SEED) == ("Who? a" in prompt_of(request))}

    outcome = await run(node, rows_of({"text": "a"}, {"text": "b"}), ScriptedTools(reply))
    # of a, only the first reading says yes; of b, only the others do
    assert [row["text"] for row in values_of(outcome)] == ["b"]
    assert values_of(outcome)[0]["_f_agreement"]["keep"]["values"][0] == {"value": True, "readings": 2}


async def test_extract_takes_the_reading_nearest_to_all():
    node = Extract(name="e", prompt=template("Acts"), document_keys=("text",), agree=3)
    one, two = {"start_line": 1, "end_line": 1}, {"start_line": 2, "end_line": 2}
    tools = saying(*({"line_ranges": ranges} for ranges in ([one], [two], [two])))
    (row,) = values_of(await run(node, rows_of({"text": "He ran.\nHe hit."}), tools))
    assert row["text_extracted_e"] == "He hit."
    assert row["_e_agreement"]["text_extracted_e"]["share"] == pytest.approx(2 / 3, abs=1e-4)


def test_keys_are_read_and_written_as_they_are():
    common = {"name": "m", "prompt": "{{ input.text }}", "output": {"schema": {"x": "string"}}}
    for agree in (3, {"times": 3, "temperature": 0.4}, {"model": "other"}):
        node = bind(Map, {**common, "agree": agree}, Where())
        assert unbind(node)["agree"] == agree
        assert bind(Map, unbind(node), Where()) == node
        assert "_m_agreement" in node.traits().writes


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agree": 1}, "number of readings from 2"),
        ({"agree": 2, "samples": 2}, "agree and output.n"),
        ({"agree": 2, "batch_prompt": template("{{ inputs }}", "inputs")}, "agree and batch_prompt"),
    ],
)
def test_what_does_not_go_together_is_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        mapped(**settings)


def test_operators_that_ask_about_several_rows_have_no_readings():
    with pytest.raises(PipelineError, match="agree is not possible for reduce"):
        Reduce(
            name="r",
            reduce_key=("text",),
            prompt=template("{{ inputs }}", "inputs"),
            schema=schema(x="string"),
            agree=2,
        )


def test_likeness_by_hand():
    assert same_reading("Ann  LEE", "ann lee") == 1
    assert same_reading(1, 1.0) == 1
    assert same_reading(1, True) == 0
    assert same_reading({"a": 1, "b": 2}, {"a": 1, "b": 3}) == 0.5
    assert same_reading([], []) == 1
    assert same_reading(["a"], []) == 0
    assert same_reading(["a", "b", "c"], ["c", "a"]) == pytest.approx(0.8)
    assert vote(["x", "y"]).winner == 0
    assert vote([None, "y", "y"]).winner == 1
