import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.language.expressions import Expression
from engine.operators.asking import Gleaning
from engine.operators.filter import Filter
from engine.operators.map import Map
from models.errors import ModelCrashed, ModelMissing, OutOfTokens

PROMPT = template("Classify: {{ input.text }}")
BATCH = template("{% for doc in inputs %}Document {{ loop.index }}: {{ doc.text }}\n{% endfor %}", "inputs")


def batch_map(**settings):
    defaults = {"schema": schema(category="string"), "batch_prompt": BATCH, "max_batch_size": 3}
    return Map(name="m", prompt=PROMPT, **{**defaults, **settings})


def is_batch(request):
    return "Document 1:" in prompt_of(request)


def by_text(request):
    """Answer a batch, or one row, with the upper case of its text."""
    if not is_batch(request):
        return {"category": prompt_of(request).split("\n")[0].removeprefix("Classify: ").upper()}
    lines = [line for line in prompt_of(request).splitlines() if line.startswith("Document")]
    return {str(n): {"category": line.split(": ")[1].upper()} for n, line in enumerate(lines, 1)}


def letters(count):
    return rows_of(*({"text": letter} for letter in "abcdefgh"[:count]))


async def test_rows_are_asked_about_in_batches_and_answers_go_to_their_rows():
    tools = ScriptedTools(by_text)
    outcome = await run(batch_map(), letters(7), tools)
    assert [row["category"] for row in values_of(outcome)] == list("ABCDEFG")
    # 3 + 3 in batches; the 7th is alone, so its own prompt serves it
    assert [is_batch(request) for request in tools.requests] == [True, True, False]


async def test_the_reply_must_hold_one_answer_for_each_row_in_order():
    tools = ScriptedTools(by_text)
    await run(batch_map(), letters(3), tools)
    wanted = tools.requests[0].schema
    assert list(wanted["properties"]) == wanted["required"] == ["1", "2", "3"]
    assert wanted["additionalProperties"] is False
    assert '{"1": {"category": string}, ... "3": the same}' in prompt_of(tools.requests[0])


async def test_a_quote_is_held_to_its_own_row():
    node = batch_map(schema=schema(evidence="quote"))
    reply = {"1": {"evidence": "Diaz fell."}, "2": {"evidence": "Li ran."}}
    tools = ScriptedTools(lambda _: reply)
    outcome = await run(node, rows_of({"text": "Diaz fell."}, {"text": "Li ran."}), tools)
    properties = tools.requests[0].schema["properties"]
    assert [properties[n]["properties"]["evidence"]["enum"] for n in "12"] == [["Diaz fell."], ["Li ran."]]
    assert [row["evidence"] for row in values_of(outcome)] == ["Diaz fell.", "Li ran."]


async def test_a_batch_that_does_not_fit_is_halved():
    # a word is a token; 40 for the reply, 64 for the chat, about 45 for system and answer format
    rows = rows_of(*({"text": letter + " x" * 30} for letter in "abcd"))
    tools = ScriptedTools(by_text, context_tokens=240, max_tokens=40)
    outcome = await run(batch_map(max_batch_size=4), rows, tools)
    assert len(outcome.rows) == 4
    assert [is_batch(r) for r in tools.requests] == [True, True]
    assert [r.purpose.task for r in tools.requests] == ["batch of 2", "batch of 2"]


@pytest.mark.parametrize(
    "fault",
    [
        lambda: {"1": {"category": "A"}},
        lambda: {"1": {"category": 1}, "2": {"category": "B"}, "3": {"category": "C"}},
        lambda: (_ for _ in ()).throw(OutOfTokens("cut", partial="{")),
        lambda: (_ for _ in ()).throw(ModelCrashed("gone")),
    ],
)
async def test_a_batch_whose_reply_fails_is_asked_row_by_row(fault):
    tools = ScriptedTools(lambda request: fault() if is_batch(request) else by_text(request))
    outcome = await run(batch_map(), letters(3), tools)
    assert [row["category"] for row in values_of(outcome)] == ["A", "B", "C"]
    assert len(tools.requests) == 4


async def test_a_missing_model_is_no_reason_to_ask_row_by_row():
    def missing(_):
        raise ModelMissing("no weights")

    with pytest.raises(ModelMissing):
        await run(batch_map(), letters(3), ScriptedTools(missing))


async def test_a_row_that_cannot_be_asked_about_fails_alone():
    rows = rows_of({"text": "a"}, {"body": "b"}, {"text": "c"}, {"text": "d"})
    outcome = await run(batch_map(max_batch_size=4), rows, ScriptedTools(by_text))
    assert [row["category"] for row in values_of(outcome)] == ["A", "C", "D"]
    assert [failed.row for failed in outcome.failed] == [rows[1]]
    assert "there is no field 'text'" in outcome.failed[0].error


async def test_no_rows_are_no_calls():
    tools = ScriptedTools(by_text)
    assert values_of(await run(batch_map(calibrate=True), [], tools)) == []
    assert tools.requests == []


async def test_without_a_size_five_rows_make_a_batch():
    tools = ScriptedTools(by_text)
    await run(batch_map(max_batch_size=None), letters(6), tools)
    assert [r.purpose.task for r in tools.requests] == ["batch of 5", "map"]


async def test_a_size_without_a_batch_prompt_asks_row_by_row_as_docetl_does():
    node = Map(name="m", prompt=PROMPT, schema=schema(category="string"), max_batch_size=3)
    tools = ScriptedTools(by_text)
    await run(node, letters(3), tools)
    assert (len(tools.requests), node.traits().row_local) == (3, True)


async def test_batches_hide_what_input_hides():
    node = batch_map(batch_prompt=template("Document 1: {{ inputs }}", "inputs"), input=("text",))
    reply = {"1": {"category": "A"}, "2": {"category": "B"}}
    tools = ScriptedTools(lambda _: reply)
    await run(node, rows_of({"text": "a", "secret": "s"}, {"text": "b", "secret": "s"}), tools)
    assert prompt_of(tools.requests[0]).startswith('Document 1: [{"text":"a"},{"text":"b"}]')


async def test_a_filter_decides_in_batches():
    node = Filter(name="f", prompt=PROMPT, batch_prompt=BATCH, schema=schema(reason="string", keep="boolean"))
    reply = {"1": {"reason": "yes", "keep": True}, "2": {"reason": "too old", "keep": False}}
    outcome = await run(node, letters(2), ScriptedTools(lambda _: reply))
    assert values_of(outcome) == [{"text": "a", "reason": "yes"}]
    assert outcome.rejected[0].reason == "filter f: keep is false: too old"


def expression(text):
    return Expression.parse(text)


async def test_validation_and_gleaning_go_row_by_row_after_the_batch():
    judged = []

    def reply(request):
        if "should_refine" in request.schema["properties"]:
            judged.append(prompt_of(request))
            return {"should_refine": False, "improvements": ""}
        if request.segments[-1].text.startswith("Your answer") or "retry" in request.purpose.task:
            return {"category": "fixed"}
        return by_text(request)

    node = batch_map(
        validate=(expression('output["category"] != "B"'),),
        gleaning=Gleaning(validation_prompt=template("Good? {{ output.category }}", "output", "input")),
    )
    tools = ScriptedTools(reply)
    outcome = await run(node, letters(3), tools)
    assert [row["category"] for row in values_of(outcome)] == ["A", "fixed", "C"]
    assert [f"Good? {letter}" in text for letter, text in zip("ABC", judged, strict=True)] == [True] * 3
    retried = [r for r in tools.requests if "retry" in r.purpose.task]
    assert [(r.segments[1].text, r.segments[-2].text) for r in retried] == [("Classify: b", '{"category":"B"}')]


async def test_an_answer_of_a_batch_that_never_validates_fails_its_row_alone():
    node = batch_map(validate=(expression('output["category"] != "B"'),), num_retries_on_validate_failure=0)
    outcome = await run(node, letters(3), ScriptedTools(by_text))
    assert [row["category"] for row in values_of(outcome)] == ["A", "C"]
    assert outcome.failed[0].raw_reply == '{"category":"B"}'


def test_a_retriever_finds_for_one_row_so_it_is_no_use_in_batches():
    with pytest.raises(PipelineError, match="batch_prompt and retriever cannot be combined"):
        batch_map(retriever="index")


def test_traits_of_a_batch():
    node = batch_map(batch_prompt=template("{% for d in inputs %}{{ d.title }}{% endfor %}", "inputs"))
    traits = node.traits()
    assert (traits.reads, traits.row_local, traits.cardinality) == ({"text", "title"}, False, "one_to_one")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_prompt": BATCH, "drop_keys": ("a",)}, "batch_prompt needs a prompt"),
        ({"calibrate": True, "drop_keys": ("a",)}, "calibrate needs a prompt"),
        ({"prompt": PROMPT, "schema": schema(a="string"), "max_batch_size": 0}, "max_batch_size must be at least 1"),
        ({"prompt": PROMPT, "schema": schema(a="string"), "num_calibration_docs": 0}, "must be at least 1, not 0"),
        ({"prompt": PROMPT, "schema": schema(a="string"), "samples": 0}, "output.n must be at least 1, not 0"),
        ({"drop_keys": ("a",), "samples": 2}, "output.n needs a prompt"),
        ({"prompt": PROMPT, "schema": schema(a="string"), "samples": 2, "temperature": 0.0}, "would be the same"),
        ({"prompt": PROMPT, "schema": schema(a="string"), "samples": 2, "batch_prompt": BATCH}, "cannot be combined"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        Map(name="m", **settings)
