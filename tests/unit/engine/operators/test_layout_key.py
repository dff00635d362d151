"""`layout` as a key of operators: which take it, and that all else goes on working."""

from __future__ import annotations

import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.language.binding import bind, unbind
from engine.language.expressions import Expression
from engine.language.position import Where
from engine.operators.asking import Gleaning
from engine.operators.map import Map
from engine.operators.parallel_map import ParallelMap
from engine.operators.reduce import Reduce

LONG = "On May 2 Officer Diaz filed the report. " * 6
ASK = "Who filed it?\n{{ input.text }}\nOne name."
LAID_OUT = f'{LONG}\n[End of the document "text"]\n\nWho filed it?\n[the document "text" above]\nOne name.'


def asking(prompt=ASK, **settings):
    settings = {"schema": schema(name="string"), "layout": "document_first", **settings}
    return Map(name="ask", prompt=template(prompt), **settings)


def answer(_request):
    return {"name": "Diaz"}


def bound(**settings):
    given = {"name": "m", "prompt": "{{ input.text }}", "output": {"schema": {"a": "string"}}, **settings}
    return bind(Map, given, Where())


def test_the_key_is_read_and_written_back():
    assert bound().layout == "as_written"
    node = bound(layout="document_first")
    assert unbind(node)["layout"] == "document_first"
    assert "layout" not in unbind(bound())


def test_an_unknown_layout_is_an_error_that_names_the_choices():
    with pytest.raises(PipelineError) as caught:
        bound(layout="documents_first")
    assert "documents_first" in str(caught.value)
    assert "document_first" in caught.value.advice


def test_operators_whose_prompts_show_several_rows_refuse_it():
    settings = {"prompt": template("{{ inputs }}", "inputs", "reduce_key"), "schema": schema(a="string")}
    with pytest.raises(PipelineError, match="layout: document_first is not possible for reduce"):
        Reduce(name="r", reduce_key=("x",), layout="document_first", **settings)
    assert Reduce(name="r", reduce_key=("x",), layout="as_written", **settings)


async def test_the_document_is_a_shared_segment_at_the_head_of_the_users_message():
    tools = ScriptedTools(answer)
    await run(asking(), rows_of({"text": LONG}), tools)
    user = [(s.text, s.shared) for s in tools.requests[0].segments if s.role == "user"]
    assert user[0] == (LONG, True)
    assert "".join(text for text, _ in user[:2]) == LAID_OUT


async def test_prompts_of_a_pair_of_documents_are_cut_behind_each():
    node = asking("Q {{ input.a }} {{ input.b }}")
    tools = ScriptedTools(answer)
    await run(node, rows_of({"a": LONG.upper() + "AND ON", "b": LONG}), tools)
    user = [s for s in tools.requests[0].segments if s.role == "user"]
    assert [s.shared for s in user] == [True, True, False, False]
    assert user[0].text == LONG.upper() + "AND ON"
    assert user[1].text == f'\n[End of the document "a"]\n\n{LONG}'


async def test_quotes_come_from_the_row_as_before():
    node = asking(schema=schema(quote="quote"))
    tools = ScriptedTools(lambda request: {"quote": request.schema["properties"]["quote"]["enum"][0]})
    outcome = await run(node, rows_of({"text": LONG}), tools)
    assert outcome.rows[0].values["quote"] == "On May 2 Officer Diaz filed the report."


@pytest.mark.parametrize("too_long", ["head", "middle_out", "split"])
async def test_texts_that_are_too_long_are_cut_and_split_where_they_stand_now(too_long):
    text = " ".join(f"word{n}" for n in range(900))
    tools = ScriptedTools(answer, context_tokens=700, max_tokens=60)
    outcome = await run(asking(too_long=too_long), rows_of({"text": text}), tools)
    assert values_of(outcome) == [{"text": text, "name": "Diaz"}]
    for request in tools.requests:
        assert prompt_of(request).count('[End of the document "text"]') == 1
        assert not prompt_of(request).startswith("Who")
    seen = " ".join(prompt_of(request) for request in tools.requests)
    assert "word0 " in seen
    assert ("word899" in seen) == (too_long != "head")


async def test_a_judge_is_referred_to_the_document_above():
    def reply(request):
        judged = "should_refine" in request.schema["properties"]
        return {"should_refine": False, "improvements": ""} if judged else {"name": "Diaz"}

    judge = template("Is {{ output.name }} named in\n{{ input.text }}", "output", "input")
    for layout, told in (("document_first", '[the document "text" above]'), ("as_written", LONG)):
        tools = ScriptedTools(reply)
        await run(asking(layout=layout, gleaning=Gleaning(validation_prompt=judge)), rows_of({"text": LONG}), tools)
        assert tools.requests[1].segments[-1].text.startswith(f"Is Diaz named in\n{told.rstrip()}")


async def test_a_retry_goes_on_with_the_same_chat():
    answers = iter(["", "Diaz"])
    node = asking(validate=(Expression.parse("len(output['name']) > 0"),))
    tools = ScriptedTools(lambda request: {"name": next(answers)})
    await run(node, rows_of({"text": LONG}), tools)
    first, again = tools.requests
    assert again.segments[: len(first.segments)] == first.segments


async def test_examples_are_laid_out_as_the_rows_are():
    example = {"input": {"text": LONG.upper()}, "output": {"name": "Roe"}}
    tools = ScriptedTools(answer)
    await run(asking(examples=(example,)), rows_of({"text": LONG}), tools)
    shown = next(s for s in tools.requests[0].segments if s.role == "user")
    assert shown.text.startswith(f'{LONG.upper()}\n[End of the document "text"]\n\nWho filed it?')


@pytest.mark.parametrize(
    ("prompt", "layout", "before"),
    [(ASK, "as_written", True), (ASK, "document_first", False), ("{{ input.text }}\nWho?", "as_written", False)],
)
async def test_reference_points_go_before_the_row_but_not_before_a_text_that_others_begin_with(prompt, layout, before):
    def reply(request):
        asked = request.schema["properties"]
        return {"reference_points": ["Diaz is a name"]} if "reference_points" in asked else {"name": "Diaz"}

    tools = ScriptedTools(reply)
    node = asking(prompt, layout=layout, calibrate=True, num_calibration_docs=1)
    await run(node, rows_of({"text": LONG}, {"text": LONG.upper()}), tools)
    last = prompt_of(tools.requests[-1])
    assert last.startswith("For reference:\n- Diaz is a name\n\nWho filed it?") == before
    assert (last.index("Diaz is a name") > last.index(LONG.upper())) != before


def test_every_prompt_of_a_parallel_map_has_its_layout():
    node = bind(
        ParallelMap,
        {
            "name": "p",
            "layout": "document_first",
            "prompts": [{"prompt": "Q {{ input.text }}", "output_keys": ["a"]}],
            "output": {"schema": {"a": "string"}},
        },
        Where(),
    )
    assert [made.layout for made in node.maps] == ["document_first"]
