"""What all operators that ask a model have in common: limit, examples, retriever, timeout, how rows fail."""

from __future__ import annotations

import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import PipelineError, RunStopped
from engine.language.expressions import Expression
from engine.operators.base import Decision, Outcome, Retrieved
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.operators.pairs import CONDITIONS
from engine.operators.reduce import Reduce
from engine.operators.running import stop_on_failure
from engine.plan.work import streams
from models.errors import ModelCrashed


def asking(prompt="{{ input.text }}", **more):
    return Map(name="ask", prompt=template(prompt), schema=schema(name="string"), **more)


def named(request):
    return {"name": prompt_of(request).split("\n")[0]}


def numbered(count):
    return rows_of(*({"text": str(n)} for n in range(count)))


# -- limit -------------------------------------------------------------------------------------------------------------


async def test_limit_takes_the_first_rows_and_tells_of_the_others():
    tools = ScriptedTools(named)
    node = asking(limit=2)
    outcome = await run(node, numbered(5), tools)
    assert [row.values["name"] for row in outcome.rows] == ["0", "1"]
    assert [(r.row.values["text"], r.reason) for r in outcome.rejected] == [(n, "limit 2") for n in "234"]
    assert len(tools.requests) == 2
    assert not streams(node)
    assert streams(asking())


@pytest.mark.parametrize("rows", [0, 1, 2])
async def test_a_limit_that_is_not_reached_changes_nothing(rows):
    outcome = await run(asking(limit=2), numbered(rows), ScriptedTools(named))
    assert len(outcome.rows) == rows
    assert not outcome.rejected


async def test_a_filters_limit_counts_the_rows_it_keeps():
    tools = ScriptedTools(lambda request: {"even": int(named(request)["name"]) % 2 == 0})
    node = Filter(name="f", prompt=template("{{ input.text }}"), schema=schema(even="boolean"), limit=3)
    outcome = await run(node, numbered(100), tools)
    assert [row.values["text"] for row in outcome.rows] == ["0", "2", "4"]
    assert len(tools.requests) == 16  # one wave
    reasons = {r.row.values["text"]: r.reason for r in outcome.rejected}
    assert (reasons["1"], reasons["6"], reasons["99"]) == ("filter f: even is false", "limit 3", "limit 3")


async def test_a_filter_goes_on_until_it_has_enough():
    tools = ScriptedTools(lambda request: {"high": int(named(request)["name"]) >= 40})
    node = Filter(name="f", prompt=template("{{ input.text }}"), schema=schema(high="boolean"), limit=2)
    outcome = await run(node, numbered(100), tools)
    assert [row.values["text"] for row in outcome.rows] == ["40", "41"]
    assert len(tools.requests) == 48


async def test_a_vote_is_taken_over_all_rows_before_the_limit():
    rows = rows_of(*({"p": p} for p in (0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9)))
    unlimited = await run(Filter(name="f", readings=("p",)), rows)
    outcome = await run(Filter(name="f", readings=("p",), limit=1), rows)
    assert values_of(outcome) == values_of(unlimited)[:1]


async def test_reduces_limit_counts_groups():
    node = Reduce(name="r", reduce_key=("k",), aggregate={"n": {"collect": "n"}}, limit=1)
    outcome = await run(node, rows_of({"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "a", "n": 3}))
    assert values_of(outcome) == [{"k": "b", "n": [2]}]  # the smallest, as in DocETL
    assert [r.reason for r in outcome.rejected] == ["limit 1", "limit 1"]


# -- failures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"on_error": "fail_run"}, {"skip_on_error": False}])
async def test_fail_run_names_row_and_reason(settings):
    def reply(request):
        raise ModelCrashed("the runtime stopped")

    node = asking(**settings)
    rows = rows_of({"text": "a", "filename": "memo.pdf"})
    outcome = await run(node, rows, ScriptedTools(reply))
    with pytest.raises(RunStopped, match=f"row {rows[0].id} of memo.pdf: the runtime stopped") as caught:
        stop_on_failure(node, outcome)
    assert "on_error: record" in caught.value.advice
    assert caught.value.exit_code == 1


def test_fail_run_goes_on_where_a_condition_cannot_be_computed_for_a_row():
    node = asking(on_error="fail_run")
    condition = Decision(CONDITIONS, "left.n == right.n", "", "undecided", "error", "cannot be computed for 1 rows")
    stop_on_failure(node, Outcome(decisions=[condition]))
    pair = Decision("n", "a", "b", "undecided", "error", "the runtime stopped")
    with pytest.raises(RunStopped, match="about 'a' and 'b': the runtime stopped"):
        stop_on_failure(node, Outcome(decisions=[condition, pair]))


@pytest.mark.parametrize("settings", [{}, {"on_error": "record"}, {"skip_on_error": True}])
async def test_otherwise_the_run_goes_on(settings):
    def reply(request):
        raise ModelCrashed("the runtime stopped")

    node = asking(**settings)
    outcome = await run(node, rows_of({"text": "a"}), ScriptedTools(reply))
    stop_on_failure(node, outcome)
    assert len(outcome.failed) == 1


# -- examples ----------------------------------------------------------------------------------------------------------


async def test_examples_are_earlier_turns_of_the_chat():
    example = {"input": {"text": "Sgt. Roy came."}, "output": {"name": "Roy"}}
    tools = ScriptedTools(named)
    await run(asking("Who? {{ input.text }}", examples=(example,)), rows_of({"text": "Diaz left."}), tools)
    segments = tools.requests[0].segments
    form = '\n\nAnswer with JSON of this form:\n{"name": string}'
    assert [(s.role, s.text) for s in segments[1:]] == [
        ("user", "Who? Sgt. Roy came." + form),
        ("assistant", '{"name":"Roy"}'),
        ("user", "Who? Diaz left."),
        ("user", form),
    ]
    assert all(s.shared for s in segments[:3])


async def test_an_example_of_a_reduce_names_its_inputs():
    node = Reduce(
        name="r",
        reduce_key=("_all",),
        prompt=template("{% for i in inputs %}{{ i.n }} {% endfor %}", "inputs", "reduce_key"),
        schema=schema(total="integer"),
        examples=({"inputs": [{"n": 1}, {"n": 2}], "output": {"total": 3}},),
    )
    tools = ScriptedTools(lambda _request: {"total": 9})
    await run(node, rows_of({"n": 4}), tools)
    user, reply = tools.requests[0].segments[1:3]
    assert user.text.startswith("1 2 \n")
    assert reply.text == '{"total":3}'


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ({"output": {"name": "x"}}, "an example has input and output"),
        ({"input": {"text": "x"}}, "an example has input and output"),
        ({"input": {"text": "x"}, "output": "x"}, "an example has input and output"),
        ({"input": {"text": "x"}, "output": {"nmae": "x"}}, "the field 'nmae', which output.schema has not"),
    ],
)
def test_impossible_examples_are_refused(example, message):
    with pytest.raises(PipelineError, match=message):
        asking(examples=(example,))


# -- retriever ---------------------------------------------------------------------------------------------------------


def finding(*texts):
    tools = ScriptedTools(lambda request: {"name": "x"})
    tools.found["kb"] = lambda values: [Retrieved(f"{text} for {values['text']}") for text in texts]
    return tools


async def test_what_a_retriever_finds_stands_where_the_prompt_says():
    tools = finding("A", "B")
    await run(
        asking("Facts:\n{{ retrieval_context }}\nQ: {{ input.text }}", retriever="kb"), rows_of({"text": "q"}), tools
    )
    assert prompt_of(tools.requests[0]).startswith("Facts:\n[1] A for q\n[2] B for q\nQ: q\n")


async def test_else_it_follows_the_prompt():
    tools = finding("A")
    await run(asking("Q: {{ input.text }}", retriever="kb"), rows_of({"text": "q"}), tools)
    assert prompt_of(tools.requests[0]).startswith("Q: q\n\nHere is some extra context:\n[1] A for q\n\nAnswer with")


async def test_nothing_found_is_said():
    tools = finding()
    await run(asking("{{ retrieval_context }}|{{ input.text }}", retriever="kb"), rows_of({"text": "q"}), tools)
    assert prompt_of(tools.requests[0]).startswith("No extra context available.|q")


async def test_the_context_is_kept_where_asked_for():
    tools = finding("A")
    node = asking(retriever="kb", save_retriever_output=True)
    outcome = await run(node, rows_of({"text": "q"}, {"text": "r"}), tools)
    assert [row.values["_ask_retrieved_context"] for row in outcome.rows] == ["[1] A for q", "[1] A for r"]
    assert "_ask_retrieved_context" in node.traits().writes
    outcome = await run(asking(retriever="kb"), rows_of({"text": "q"}), finding("A"))
    assert "_ask_retrieved_context" not in outcome.rows[0].values


async def test_a_document_cannot_forge_the_place_of_the_context():
    tools = finding("SECRET")
    await run(
        asking("{{ input.text }}|{{ retrieval_context }}", retriever="kb"),
        rows_of({"text": "{{ retrieval_context }}"}),
        tools,
    )
    assert prompt_of(tools.requests[0]).startswith("{{ retrieval_context }}|[1] SECRET")


# -- the rest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{"timeout_seconds": 2.5}, {"timeout": 2.5}, {"timeout": 2.5, "timeout_seconds": 2.5}]
)
async def test_the_timeout_goes_to_the_model_and_is_no_part_of_the_request(settings):
    tools, free = ScriptedTools(named), ScriptedTools(named)
    await run(asking(**settings), rows_of({"text": "a"}), tools)
    await run(asking(), rows_of({"text": "a"}), free)
    assert (tools.requests[0].timeout_seconds, free.requests[0].timeout_seconds) == (2.5, None)
    assert tools.requests[0].digest == free.requests[0].digest


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limit": 0}, "limit must be at least 1, not 0"),
        ({"timeout": 0.0}, "timeout_seconds must be more than 0"),
        ({"timeout": 1.0, "timeout_seconds": 2.0}, "have different values"),
        ({"skip_on_error": True, "on_error": "fail_run"}, "contradict"),
        ({"save_retriever_output": True}, "needs a retriever"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        asking(**settings)


def test_the_fields_that_expressions_name_are_read():
    node = asking(validate=(Expression.parse('output["name"] in output["known"] and input["n"] > 0'),))
    assert node.traits().reads == {"text", "known", "n"}
    assert not node.traits().reads_unknown


@pytest.mark.parametrize(
    "settings",
    [{"validate": (Expression.parse("all(v for v in output.values())"),)}, {"retriever": "kb"}],
)
def test_what_may_read_any_field_says_so(settings):
    assert asking(**settings).traits().reads_unknown
