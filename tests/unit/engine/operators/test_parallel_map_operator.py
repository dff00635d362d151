import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.language.binding import bind, unbind
from engine.language.checks import check
from engine.language.expressions import Expression
from engine.language.position import Where
from engine.loader import parse_pipeline
from engine.operators.asking import Gleaning
from engine.operators.parallel_map import ParallelMap, PromptPart
from models.errors import ModelCrashed

RESUME = "Ten years of C++ at two companies. " * 10


def part(text, *keys, **settings):
    return PromptPart(prompt=template(text), output_keys=keys, **settings)


def application(*parts, **settings):
    parts = parts or (
        part("{{ input.resume }}\nList the skills.", "skills", name="extract_skills"),
        part("{{ input.resume }}\nCount the years.", "years"),
        part("{{ input.cover_letter }}\nRate the fit.", "fit"),
    )
    settings = {"schema": schema(years="float", skills="list[string]", fit="integer"), **settings}
    return ParallelMap(name="p", prompts=parts, **settings)


def by_field(request):
    answers = {"skills": ["C++"], "years": 10.0, "fit": 8}
    return {key: answers[key] for key in request.schema["properties"]}


ROW = {"resume": RESUME, "cover_letter": "Hello."}


async def test_each_prompt_answers_its_fields_and_the_row_has_them_in_the_order_of_the_schema():
    tools = ScriptedTools(by_field)
    outcome = await run(application(), rows_of(ROW), tools)
    assert list(outcome.rows[0].values.items()) == [*ROW.items(), ("years", 10.0), ("skills", ["C++"]), ("fit", 8)]
    assert [r.purpose.task for r in tools.requests] == ["extract_skills", "prompt 2", "prompt 3"]
    assert '{"skills": [string, ...]}' in prompt_of(tools.requests[0])


async def test_prompts_that_begin_with_the_document_share_it_as_a_prefix():
    tools = ScriptedTools(by_field)
    await run(application(), rows_of(ROW), tools)
    skills, years, _ = tools.requests
    assert skills.segments[:2] == years.segments[:2]
    assert (skills.segments[1].text, skills.segments[1].shared) == (RESUME, True)


async def test_one_prompt_that_fails_fails_the_row_and_no_other():
    def reply(request):
        if "fit" in request.schema["properties"] and "Hello" in prompt_of(request):
            raise ModelCrashed("gone")
        return by_field(request)

    rows = rows_of(ROW, {"resume": "r", "cover_letter": "c"})
    outcome = await run(application(), rows, ScriptedTools(reply))
    assert [f.row for f in outcome.failed] == [rows[0]]
    assert "gone" in outcome.failed[0].error
    assert [row["resume"] for row in values_of(outcome)] == ["r"]


async def test_a_field_that_a_row_lacks_fails_that_row():
    outcome = await run(application(), rows_of({"resume": "r"}), ScriptedTools(by_field))
    assert "there is no field 'cover_letter'" in outcome.failed[0].error


async def test_drop_keys_alone_needs_no_model():
    node = ParallelMap(name="p", drop_keys=("resume",))
    assert values_of(await run(node, rows_of(ROW))) == [{"cover_letter": "Hello."}]
    assert not node.traits().calls_model


async def test_no_rows_are_no_calls():
    tools = ScriptedTools(by_field)
    assert not (await run(application(), [], tools)).rows
    assert not tools.requests


async def test_quotes_of_a_prompt_come_from_the_text_it_reads():
    node = application(
        part("{{ input.resume }}", "a"), part("{{ input.cover_letter }}", "b"), schema=schema(a="quote", b="quote")
    )
    row = {"resume": "He is able.", "cover_letter": "I am keen."}
    tools = ScriptedTools(lambda r: {k: v["enum"][0] for k, v in r.schema["properties"].items()})
    outcome = await run(node, rows_of(row), tools)
    assert values_of(outcome) == [{**row, "a": "He is able.", "b": "I am keen."}]


def gleaning(text, **settings):
    return Gleaning(validation_prompt=template(text, "output", "input"), **settings)


async def test_each_prompt_has_its_own_model_and_gleaning():
    def reply(request):
        if "should_refine" in request.schema["properties"]:
            return {"should_refine": False, "improvements": ""}
        return by_field(request)

    node = application(
        part("Skills: {{ input.resume }}", "skills", gleaning=gleaning("Five?", model="judge")),
        part("Years: {{ input.resume }}", "years", model="small", gleaning=gleaning("Positive?")),
        part("Fit: {{ input.cover_letter }}", "fit"),
    )
    tools = ScriptedTools(reply)
    await run(node, rows_of(ROW), tools)
    calls = zip(tools.requests, tools.models, strict=True)
    asked = {(next(iter(r.schema["properties"])), r.purpose.task, model) for r, model in calls}
    assert asked == {
        ("skills", "prompt 1", None),
        ("should_refine", "judge round 1", "judge"),
        ("years", "prompt 2", "small"),
        ("should_refine", "judge round 1", "small"),
        ("fit", "prompt 3", None),
    }
    assert node.other_models == ("small", "judge")


@pytest.mark.parametrize(
    "judge",
    [
        gleaning("All?", condition=Expression.parse('len(output["skills"]) < 2')),
        gleaning("Are {{ output.skills }} all?"),
    ],
)
async def test_gleaning_that_names_a_field_judges_the_prompt_that_answers_it(judge):
    def reply(request):
        if "should_refine" in request.schema["properties"]:
            return {"should_refine": False, "improvements": ""}
        return by_field(request)

    tools = ScriptedTools(reply)
    outcome = await run(application(gleaning=judge), rows_of(ROW), tools)
    assert values_of(outcome) == [{**ROW, "years": 10.0, "skills": ["C++"], "fit": 8}]
    assert not outcome.decisions
    judges = [request for request in tools.requests if request.purpose.task == "judge round 1"]
    assert ["List the skills." in prompt_of(request) for request in judges] == [True]


def test_gleaning_that_names_fields_of_several_prompts_is_refused():
    with pytest.raises(PipelineError, match="gleaning names fit and skills, which are answered by several prompts"):
        application(gleaning=gleaning("Do {{ output.skills }} and {{ output.fit }} agree?"))


def test_a_pipeline_may_glean_one_field_of_a_parallel_map():
    text = """
    datasets: {records: {type: memory, data: [{text: hello}]}}
    operations:
      - name: read
        type: parallel_map
        prompts:
          - {prompt: "{{ input.text }} Who?", output_keys: [names]}
          - {prompt: "{{ input.text }} When?", output_keys: [day]}
        output: {schema: {names: "list[string]", day: string}}
        gleaning: {if: "len(output.names) < 2", validation_prompt: Is every name listed?}
    pipeline: {steps: [{name: all, input: records, operations: [read]}]}
    """
    assert check(parse_pipeline(text, file="test.yaml").plan) == []


async def test_validation_retries_the_prompt_that_it_is_about():
    replies = {"years": iter([-1.0, 10.0]), "skills": iter([["C++"]]), "fit": iter([8])}
    tools = ScriptedTools(lambda r: {key: next(replies[key]) for key in r.schema["properties"]})
    node = application(validate=(Expression.parse('output["years"] >= 0'), Expression.parse("output.fit <= 10")))
    outcome = await run(node, rows_of(ROW), tools)
    assert values_of(outcome)[0]["years"] == 10.0
    assert len(tools.requests) == 4


@pytest.mark.parametrize("text", ['output.get("fit", 0) > 5', '"C++" in output.get("skills", [])'])
async def test_validation_that_asks_for_a_field_is_about_the_prompt_that_answers_it(text):
    tools = ScriptedTools(by_field)
    outcome = await run(application(validate=(Expression.parse(text),)), rows_of(ROW), tools)
    assert (len(values_of(outcome)), outcome.failed) == (1, [])
    assert len(tools.requests) == 3, "the others do not answer it, and need no retry"


async def test_validation_across_prompts_fails_the_row_with_the_whole_answer():
    node = application(validate=(Expression.parse('output["years"] > output["fit"] + 5'),))
    tools = ScriptedTools(by_field)
    outcome = await run(node, rows_of(ROW), tools)
    assert 'output["years"] > output["fit"] + 5' in outcome.failed[0].error
    assert outcome.failed[0].raw_reply == '{"years":10.0,"skills":["C++"],"fit":8}'
    assert len(tools.requests) == 3


async def test_examples_show_each_prompt_its_own_fields():
    example = {"input": {"resume": "r", "cover_letter": "c"}, "output": {"skills": ["Java"], "fit": 3}}
    tools = ScriptedTools(by_field)
    await run(application(examples=(example,)), rows_of(ROW), tools)
    shown = [[s.text for s in request.segments if s.role == "assistant"] for request in tools.requests]
    assert shown == [['{"skills":["Java"]}'], [], ['{"fit":3}']]


async def test_a_document_that_is_too_long_is_read_in_parts_by_each_prompt():
    long = "He knew C++. " * 200
    tools = ScriptedTools(by_field, context_tokens=600, max_tokens=50)
    node = application(too_long="split")
    outcome = await run(node, rows_of({"resume": long, "cover_letter": "c"}), tools)
    assert values_of(outcome)[0]["skills"] == ["C++"]
    assert len(tools.requests) > 3


def test_traits():
    traits = application(drop_keys=("resume", "fit")).traits()
    assert traits.reads == {"resume", "cover_letter"}
    assert (traits.writes, traits.removes) == ({"skills", "years"}, {"resume", "fit"})
    assert (traits.cardinality, traits.row_local) == ("one_to_one", True)
    assert application(part("{{ input }}", "years", "skills", "fit")).traits().reads_unknown


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((part("x", "years", "skills"),), "no prompt answers fit of output.schema"),
        ((part("x", "years", "skills", "fit", "salary"),), "names 'salary', which is not in output.schema"),
        ((part("x", "years", "skills"), part("y", "skills", "fit")), "'skills' is in the output_keys of more than one"),
        ((part("x", "years", "skills", "fit", "fit"),), "'fit' is in the output_keys of more than one"),
    ],
)
def test_fields_that_are_not_covered_exactly_once_are_refused(parts, message):
    with pytest.raises(PipelineError, match=message):
        application(*parts)


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ({"prompts": [], "output": {"schema": {"a": "string"}}}, "needs prompts and output.schema together"),
        ({"prompts": [{"prompt": "x", "output_keys": ["a"]}]}, "needs prompts and output.schema together"),
        ({}, "parallel_map has nothing to do"),
        ({"prompts": [{"prompt": "x"}], "output": {"schema": {"a": "string"}}}, "'output_keys' is missing"),
        ({"prompts": [{"output_keys": ["a"]}], "output": {"schema": {"a": "string"}}}, "'prompt' is missing"),
        ({"prompts": [{"prompt": "x", "output_keys": []}], "output": {"schema": {"a": "string"}}}, "names no field"),
        ({"prompts": [{"prompt": "{{ inputt.a }}", "output_keys": ["a"]}]}, "uses 'inputt', which nothing provides"),
        ({"prompts": [{"promt": "x", "output_keys": ["a"]}]}, "unknown key 'promt'"),
    ],
)
def test_what_is_missing_is_an_error_when_the_pipeline_is_read(yaml, message):
    with pytest.raises(PipelineError, match=message):
        bind(ParallelMap, {"name": "p", **yaml}, Where())


def test_yaml_is_read_and_written_back():
    yaml = {
        "name": "p",
        "prompts": [
            {"prompt": "{{ input.a }}", "output_keys": ["x"], "name": "first"},
            {"prompt": "{{ input.b }}", "output_keys": ["y"]},
        ],
        "output": {"schema": {"x": "string", "y": "integer"}},
        "input": ["a", "b"],
        "drop_keys": ["a"],
    }
    node = bind(ParallelMap, yaml, Where())
    assert unbind(node) == yaml
    assert isinstance(hash(node), int)


def test_a_field_that_no_operator_writes_is_reported_where_the_prompt_names_it():
    loaded = parse_pipeline(
        "datasets: {d: {type: folder, path: x}}\n"
        "operations:\n"
        "  - name: p\n"
        "    type: parallel_map\n"
        "    prompts:\n"
        '      - {prompt: "{{ input.text }}", output_keys: [a]}\n'
        '      - {prompt: "{{ input.body }}", output_keys: [b]}\n'
        "    output: {schema: {a: string, b: string}}\n"
        "pipeline: {steps: [{name: s, input: d, operations: [p]}]}\n"
    )
    [problem] = check(loaded.plan, positions=loaded.positions)
    assert (problem.line, "reads the field 'body'" in problem.message) == (7, True)
