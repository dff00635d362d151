import pytest
from scripted_tools import ScriptedTools, prompt_of, replaced, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.operators.parallel_map import ParallelMap, PromptPart
from engine.rows import Span

TEXT = "Officer Diaz arrived.\nHe struck Mr. Roe\nwith a baton. Sgt. Li wrote it down."


async def test_map_adds_fields_in_written_order_and_keeps_document_and_span():
    row = replaced(rows_of({"text": TEXT}, document="d1")[0], span=Span(3, 5))
    node = Map(name="m", prompt=template("{{ input.text }}"), schema=schema(act="string", count="integer"))
    outcome = await run(node, [row], ScriptedTools(lambda _: {"act": "struck", "count": 1}))
    assert list(outcome.rows[0].values.items()) == [("text", TEXT), ("act", "struck"), ("count", 1)]
    assert (outcome.rows[0].document_id, outcome.rows[0].span) == ("d1", Span(3, 5))


async def test_drop_keys_may_drop_what_the_model_wrote_for_itself():
    node = Map(
        name="m",
        prompt=template("{{ input.text }}"),
        schema=schema(thought="string", act="string"),
        drop_keys=("text", "thought"),
    )
    outcome = await run(
        node, rows_of({"text": "t", "file": "f"}), ScriptedTools(lambda _: {"thought": "-", "act": "a"})
    )
    assert values_of(outcome) == [{"file": "f", "act": "a"}]
    traits = node.traits()
    assert (traits.reads, traits.writes, traits.removes) == ({"text"}, {"act"}, {"text", "thought"})


async def test_map_without_a_prompt_only_drops_keys():
    node = Map(name="m", drop_keys=("text",))
    assert values_of(await run(node, rows_of({"text": "t", "file": "f"}))) == [{"file": "f"}]
    assert not node.traits().calls_model


async def test_input_limits_what_the_prompt_sees():
    node = Map(name="m", prompt=template("{{ input }}"), schema=schema(x="string"), input=("a",))
    tools = ScriptedTools(lambda _: {"x": "y"})
    await run(node, rows_of({"a": 1, "b": 2}), tools)
    assert prompt_of(tools.requests[0]).startswith('{"a":1}\n')
    assert node.traits().reads == {"a"}
    assert not node.traits().reads_unknown


SEEN = {"schema": schema(x="string"), "input": ("text",)}


@pytest.mark.parametrize(
    "make",
    [
        lambda prompt: Map(name="m", prompt=prompt, **SEEN),
        lambda prompt: Filter(name="f", prompt=prompt, schema=schema(x="boolean"), input=("text",)),
        lambda prompt: ParallelMap(name="p", prompts=(PromptPart(prompt=prompt, output_keys=("x",)),), **SEEN),
    ],
)
def test_a_field_that_a_prompt_reads_and_input_leaves_out_is_refused(make):
    with pytest.raises(PipelineError, match="a prompt reads the field 'txt', which input leaves out") as caught:
        make(template("{{ input.text }} {{ input.txt }}"))
    assert "Did you mean 'text'?" in caught.value.advice
    make(template("{{ input.text }} {{ input.txt | default('') }}"))


def test_a_field_that_a_batch_prompt_reads_and_input_leaves_out_is_refused():
    prompt, batch = template("{{ input.text }}"), template("{% for i in inputs %}{{ i.txt }}{% endfor %}", "inputs")
    with pytest.raises(PipelineError, match="a prompt reads the field 'txt', which input leaves out"):
        Map(name="m", prompt=prompt, batch_prompt=batch, **SEEN)


async def test_a_field_that_is_missing_in_a_row_fails_that_row():
    node = Map(name="m", prompt=template("{{ input.text }}"), schema=schema(x="string"))
    outcome = await run(node, rows_of({"text": "t"}, {"body": "b"}), ScriptedTools(lambda _: {"x": "y"}))
    assert len(outcome.rows) == 1
    assert "there is no field 'text'; the fields there are: body" in outcome.failed[0].error


async def test_quotes_are_held_to_the_sentences_of_the_text():
    node = Map(name="m", prompt=template("{{ input.text }}"), schema=schema(evidence="quote", guilty="boolean"))
    tools = ScriptedTools(lambda _: {"evidence": "He struck Mr. Roe with a baton.", "guilty": True})
    outcome = await run(node, rows_of({"text": TEXT}), tools)
    assert tools.requests[0].schema["properties"]["evidence"]["enum"] == [
        "Officer Diaz arrived.",
        "He struck Mr. Roe with a baton.",
        "Sgt. Li wrote it down.",
    ]
    assert outcome.rows[0].values["evidence"] == "He struck Mr. Roe with a baton."
    invented = await run(node, rows_of({"text": TEXT}), ScriptedTools(lambda _: {"evidence": "No.", "guilty": True}))
    assert 'reply.evidence is "No.", not one of ["Officer Diaz' in invented.failed[0].error


async def test_quotes_of_a_gathered_chunk_come_from_the_chunk_alone():
    row = {"t_chunk": "Main text here.", "t_chunk_rendered": "[Chunk 1] Before.\nMain text here."}
    tools = ScriptedTools(lambda _: {"a": "Main text here.", "b": "Main text here."})
    node = Map(name="m", prompt=template("{{ input.t_chunk_rendered }}"), schema=schema(a="quote(t_chunk)", b="quote"))
    await run(node, rows_of(row), tools)
    properties = tools.requests[0].schema["properties"]
    assert properties["a"]["enum"] == properties["b"]["enum"] == ["Main text here."]
    assert node.traits().reads == {"t_chunk", "t_chunk_rendered"}


async def test_a_row_without_text_to_quote_fails():
    node = Map(name="m", prompt=template("{{ input.text }}"), schema=schema(evidence="quote"))
    outcome = await run(node, rows_of({"text": ""}), ScriptedTools(lambda _: {}))
    assert "there is no text to quote from" in outcome.failed[0].error


@pytest.mark.parametrize("settings", [{"prompt": template("x")}, {"schema": schema(a="string")}, {}])
def test_map_needs_prompt_and_schema_or_keys_to_drop(settings):
    with pytest.raises(PipelineError, match="operator 'm': map"):
        Map(name="m", **settings)


def test_nodes_with_equal_settings_are_equal():
    def make():
        return Map(name="m", prompt=template("{{ input.a }}"), schema=schema(x="string"))

    assert make() == make()
    assert hash(make()) == hash(make())


def keep(**fields):
    return Filter(name="guilty", prompt=template("{{ input.text }}"), schema=schema(**fields))


def yes_to_a(request):
    return {"keep": prompt_of(request).startswith("a")}


async def test_filter_keeps_rows_and_rejects_the_others_with_a_reason():
    rows = rows_of({"text": "a"}, {"text": "b"}, {"text": "a2"})
    outcome = await run(keep(keep="boolean"), rows, ScriptedTools(yes_to_a))
    assert values_of(outcome) == [{"text": "a"}, {"text": "a2"}]
    assert [(r.row, r.reason) for r in outcome.rejected] == [(rows[1], "filter guilty: keep is false")]


async def test_evidence_before_the_decision_stays_in_the_row_and_is_the_reason_for_rejection():
    node = keep(evidence="quote", keep="boolean")
    rows = rows_of({"text": "Diaz struck him."}, {"text": "Li was cleared."})

    def reply(request):
        quote = prompt_of(request).split("\n")[0]
        return {"evidence": quote, "keep": "struck" in quote}

    outcome = await run(node, rows, ScriptedTools(reply))
    assert values_of(outcome) == [{"text": "Diaz struck him.", "evidence": "Diaz struck him."}]
    assert outcome.rejected[0].reason == "filter guilty: keep is false: Li was cleared."
    assert node.traits().writes == {"evidence"}


async def test_a_field_named_reason_comes_before_other_texts():
    node = keep(evidence="string", keep="boolean", reason="string")
    reply = {"evidence": "e", "keep": False, "reason": "only a witness"}
    outcome = await run(node, rows_of({"text": "t"}), ScriptedTools(lambda _: reply))
    assert outcome.rejected[0].reason == "filter guilty: keep is false: only a witness"


async def test_keep_decision_keeps_the_boolean():
    node = Filter(name="f", prompt=template("{{ input.text }}"), schema=schema(keep="boolean"), keep_decision=True)
    outcome = await run(node, rows_of({"text": "a"}), ScriptedTools(yes_to_a))
    assert values_of(outcome) == [{"text": "a", "keep": True}]


@pytest.mark.parametrize("fields", [{"quote": "string"}, {"a": "boolean", "b": "bool"}, {"a": "list[boolean]"}])
def test_a_filter_needs_exactly_one_boolean(fields):
    with pytest.raises(PipelineError, match="exactly one boolean field"):
        keep(**fields)
