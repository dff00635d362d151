"""resolve with similarity_threshold: values whose rows are on average alike are joined, and no model is asked."""

import numpy as np
import pytest
from scripted_tools import ScriptedTools, rows_of, run, schema, template

from engine.errors import PipelineError
from engine.operators import resolve as resolving
from engine.operators.resolve import Resolve


def at(degrees):
    return [float(np.cos(np.radians(degrees))), float(np.sin(np.radians(degrees)))]


def no_model(request):
    raise AssertionError("no model is asked")


def resolve(**settings):
    settings = {"schema": schema(kind="string"), "similarity_threshold": 0.9, **settings}
    return Resolve(name="r", **settings)


def kinds(outcome):
    return [row.values["kind"] for row in outcome.rows]


async def test_alike_values_become_the_one_of_most_rows_and_no_model_is_asked():
    tools = ScriptedTools(no_model, vectors={"crash": at(0), "accident": at(10), "theft": at(90)})
    rows = rows_of({"kind": "crash"}, {"kind": "accident"}, {"kind": "theft"}, {"kind": "accident"})
    outcome = await run(resolve(), rows, tools)
    assert kinds(outcome) == ["accident", "accident", "theft", "accident"]
    assert [(d.left, d.right, d.verdict, d.by, d.detail) for d in outcome.decisions] == [
        ("crash", "accident", "same", "similarity", "similarity 0.98 on average")
    ]
    assert not outcome.warnings


async def test_all_rows_of_a_value_say_what_it_is_like():
    """`call` is first of a crash, but most often of a theft."""
    texts = {"call a": at(0), "call b": at(80), "call c": at(100), "crash a": at(0), "theft b": at(80)}
    tools = ScriptedTools(no_model, vectors=texts)
    rows = rows_of(
        {"kind": "call", "text": "a"},
        {"kind": "call", "text": "b"},
        {"kind": "call", "text": "c"},
        {"kind": "crash", "text": "a"},
        {"kind": "theft", "text": "b"},
    )
    outcome = await run(resolve(blocking_keys=("kind", "text"), similarity_threshold=0.8), rows, tools)
    assert kinds(outcome) == ["call", "call", "call", "crash", "call"]


async def test_what_the_user_keeps_apart_stays_apart_and_equal_values_are_one():
    tools = ScriptedTools(no_model, vectors={"Crash": at(0), "crash": at(0), "accident": at(1)})
    rows = rows_of({"kind": "Crash"}, {"kind": "crash"}, {"kind": "accident"})
    outcome = await run(resolve(keep_apart=(("crash", "accident"),)), rows, tools)
    assert kinds(outcome) == ["Crash", "Crash", "accident"]


async def test_the_model_is_asked_about_what_is_not_alike_enough():
    asked = []

    def model(request):
        asked.append(request.purpose.task)
        return {"same": True}

    tools = ScriptedTools(model, vectors={"crash": at(0), "accident": at(10), "smash": at(50)})
    node = resolve(comparison_prompt=template("{{ input1.kind }}|{{ input2.kind }}", "input1", "input2"))
    outcome = await run(node, rows_of({"kind": "crash"}, {"kind": "accident"}, {"kind": "smash"}), tools)
    assert asked == ["compare"]
    assert kinds(outcome) == ["crash"] * 3


async def test_a_row_without_text_stays_alone():
    tools = ScriptedTools(no_model, vectors={"a": at(0)})
    rows = rows_of({"kind": "x", "text": ""}, {"kind": "y", "text": ""}, {"kind": "z", "text": "a"})
    outcome = await run(resolve(blocking_keys=("text",), similarity_threshold=-1.0), rows, tools)
    assert kinds(outcome) == ["x", "y", "z"]


async def test_it_warns_where_most_values_become_one():
    words = [f"w{i}" for i in range(12)]
    tools = ScriptedTools(no_model, vectors={w: at(i) for i, w in enumerate(words)})
    outcome = await run(resolve(), rows_of(*({"kind": w} for w in words)), tools)
    assert outcome.warnings == [
        "12 of 12 different values were joined into one, for they are on average so similar. "
        "Write a similarity_threshold above 0.9."
    ]


async def test_too_many_values_are_an_error_before_anything_is_embedded(monkeypatch):
    monkeypatch.setattr(resolving, "MOST_ITEMS", 2)
    tools = ScriptedTools(no_model, vectors={})
    with pytest.raises(PipelineError, match="3 different values are too many: at most 2"):
        await run(resolve(), rows_of({"kind": "a"}, {"kind": "b"}, {"kind": "c"}), tools)


@pytest.mark.parametrize("threshold", [-1.1, 1.1])
def test_the_threshold_is_a_cosine(threshold):
    with pytest.raises(PipelineError, match=f"similarity_threshold is a cosine, not {threshold}"):
        resolve(similarity_threshold=threshold)


def test_it_embeds_and_asks_no_model():
    traits = resolve(blocking_keys=("kind", "text")).traits()
    assert traits.embeds
    assert not traits.calls_model
    assert traits.reads >= {"kind", "text"}
