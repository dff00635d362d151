"""gleaning: answer, judge, improve (paper section 3.2.1; figure 4 is the example of Officer Y)."""

from __future__ import annotations

import pytest
from scripted_tools import ScriptedTools, rows_of, run, schema, template, values_of

from engine.language.expressions import Expression
from engine.operators.asking import Gleaning
from engine.operators.map import Map
from models.errors import ModelCrashed, ModelMissing, OutOfTokens

JUDGE_PROMPT = "Are all officers of the record listed?"


def asking(rounds=1, *, validate=(), **gleaning):
    made = Gleaning(
        validation_prompt=template(JUDGE_PROMPT, "output", "input"),
        num_rounds=rounds,
        **gleaning,
    )
    return Map(
        name="officers",
        prompt=template("{{ input.text }}"),
        schema=schema(officers="list[string]"),
        gleaning=made,
        validate=tuple(map(Expression.parse, validate)),
    )


def is_judge(request):
    return "should_refine" in request.schema["properties"]


class Chat:
    """Answers officers and judgements in turn; an error is raised."""

    def __init__(self, answers, judgements):
        self.answers, self.judgements = list(answers), list(judgements)

    def __call__(self, request):
        value = (self.judgements if is_judge(request) else self.answers).pop(0)
        if isinstance(value, Exception):
            raise value
        if is_judge(request):
            return {"should_refine": bool(value), "improvements": value}
        return {"officers": value}


async def test_figure_4_the_judge_misses_officer_y_and_the_model_adds_him():
    tools = ScriptedTools(Chat([["Officer X"], ["Officer X", "Officer Y"]], ["Officer Y is missing."]))
    outcome = await run(asking(), rows_of({"text": "X and Y."}), tools)
    assert values_of(outcome) == [{"text": "X and Y.", "officers": ["Officer X", "Officer Y"]}]
    first, judged, improved = tools.requests
    start = first.segments
    assert judged.segments[: len(start)] == improved.segments[: len(start)] == start
    assert [(s.role, s.text) for s in judged.segments[len(start) :]][0] == ("assistant", '{"officers": ["Officer X"]}')
    assert judged.segments[-1].text.startswith(JUDGE_PROMPT)
    assert [s.role for s in improved.segments[len(start) :]] == ["assistant", "user"]
    assert "Officer Y is missing." in improved.segments[-1].text
    assert improved.schema == first.schema


async def test_a_content_judge_ends_it():
    tools = ScriptedTools(Chat([["X"]], [""]))
    outcome = await run(asking(3), rows_of({"text": "X"}), tools)
    assert outcome.rows[0].values["officers"] == ["X"]
    assert len(tools.requests) == 2


async def test_a_judge_who_always_complains_is_heard_num_rounds_times():
    tools = ScriptedTools(Chat([["1"], ["2"], ["3"], ["4"]], ["more"] * 9))
    outcome = await run(asking(2), rows_of({"text": "X"}), tools)
    assert outcome.rows[0].values["officers"] == ["3"]
    assert [is_judge(request) for request in tools.requests] == [False, True, False, True, False]
    assert len({request.digest for request in tools.requests}) == 5


async def test_another_model_judges_and_the_operators_own_improves():
    tools = ScriptedTools(Chat([["1"], ["2"]], ["more"]))
    node = asking(1, model="judge")
    await run(node, rows_of({"text": "X"}), tools)
    assert tools.models == [None, "judge", None]
    assert node.other_models == ("judge",)


@pytest.mark.parametrize(("found", "calls"), [(["a"], 2), (["a", "b"], 1)])
async def test_the_condition_decides_over_the_answer(found, calls):
    tools = ScriptedTools(Chat([found], [""]))
    await run(asking(condition=Expression.parse("len(output['officers']) < 2")), rows_of({"text": "X"}), tools)
    assert len(tools.requests) == calls


async def test_a_condition_without_a_value_speaks_for_gleaning_and_the_ledger_says_so():
    tools = ScriptedTools(Chat([[]], [""]))
    outcome = await run(
        asking(condition=Expression.parse("output['officers'][0] == ''")), rows_of({"text": "X"}), tools
    )
    assert len(tools.requests) == 2
    assert [(d.verdict, d.by) for d in outcome.decisions] == [("gleaned", "gleaning")]


@pytest.mark.parametrize("error", [OutOfTokens("100 tokens"), ModelCrashed("stopped")])
@pytest.mark.parametrize("who", ["judge", "model"])
async def test_a_round_that_fails_leaves_the_answer_and_a_note(error, who):
    chat = Chat([["1"], error], ["more"]) if who == "model" else Chat([["1"]], [error])
    rows = rows_of({"text": "X"})
    outcome = await run(asking(2), rows, ScriptedTools(chat))
    assert outcome.rows[0].values["officers"] == ["1"]
    assert not outcome.failed
    [note] = outcome.decisions
    assert (note.left, note.verdict, note.by) == (rows[0].id, "not refined", "gleaning")
    assert str(error) in note.detail


async def test_a_missing_judge_stops_the_run():
    with pytest.raises(ModelMissing):
        await run(asking(), rows_of({"text": "X"}), ScriptedTools(Chat([["1"]], [ModelMissing("no judge")])))


async def test_the_first_answer_failing_fails_the_row():
    outcome = await run(asking(), rows_of({"text": "X"}), ScriptedTools(Chat([OutOfTokens("100 tokens")], [])))
    assert "100 tokens" in outcome.failed[0].error


async def test_what_was_gleaned_is_validated_and_the_retry_continues_the_chat():
    chat = Chat([["1"], ["2"], ["2", "3"]], ["more"])
    tools = ScriptedTools(chat)
    outcome = await run(asking(validate=["len(output['officers']) == 2"]), rows_of({"text": "X"}), tools)
    assert outcome.rows[0].values["officers"] == ["2", "3"]
    assert [s.role for s in tools.requests[-1].segments[3:]] == ["assistant", "user", "assistant", "user"]


async def test_the_judges_prompt_may_show_answer_and_row():
    node = Map(
        name="m",
        prompt=template("{{ input.text }}"),
        schema=schema(officers="list[string]"),
        gleaning=Gleaning(validation_prompt=template("{{ output.officers }} of {{ input.text }}", "output", "input")),
    )
    tools = ScriptedTools(Chat([["1"]], [""]))
    await run(node, rows_of({"text": "X"}), tools)
    assert tools.requests[1].segments[-1].text.startswith('["1"] of X\n')


@pytest.mark.parametrize(("values", "message"), [({"num_rounds": 0}, "num_rounds"), ({"prompt": " "}, "empty")])
def test_impossible_gleaning_is_refused(values, message):
    prompt = template(values.pop("prompt", "Good?"), "output")
    with pytest.raises(ValueError, match=message):
        Gleaning(validation_prompt=prompt, **values)
