import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template

from engine.errors import PipelineError
from engine.language.schema import Quote
from engine.operators.asking import main_text_field, quote_source
from engine.operators.map import Map
from models.errors import ModelCrashed, ModelMissing, OutOfTokens
from models.protocol import Sampling

LONG = "On May 2 Officer Diaz filed the report. " * 6


def asking(prompt="{{ input.text }}", **settings):
    return Map(name="ask", prompt=template(prompt), schema=schema(name="string"), **settings)


def answer(_request):
    return {"name": "Diaz"}


async def test_a_request_is_system_then_prompt_then_format():
    tools = ScriptedTools(answer, system_prompt="You are reading police records.")
    await run(asking("{{ input.text }}\nWho filed it?\n"), rows_of({"text": "Short."}), tools)
    request = tools.requests[0]
    assert [(s.role, s.shared) for s in request.segments] == [("system", True), ("user", False), ("user", False)]
    assert request.segments[0].text.endswith("\n\nYou are reading police records.")
    assert prompt_of(request) == ('Short.\nWho filed it?\n\nAnswer with JSON of this form:\n{"name": string}')
    assert request.schema["required"] == ["name"]
    assert (request.seed, request.sampling) == (7, Sampling(temperature=0.0, max_tokens=100))
    assert (request.purpose.operator, request.purpose.task) == ("ask", "map")


async def test_a_long_document_is_a_shared_segment_of_its_own():
    tools = ScriptedTools(answer)
    await run(asking("Record:\n{{ input.text }}\nWho?"), rows_of({"text": LONG, "other": "x" * 300}), tools)
    user = [(s.text, s.shared) for s in tools.requests[0].segments if s.role == "user"]
    assert user[:2] == [("Record:\n" + LONG, True), ("\nWho?", False)]


async def test_the_system_message_is_the_same_for_all_operators():
    tools = ScriptedTools(answer)
    await run(asking(), rows_of({"text": "a"}), tools)
    await run(asking("Other {{ input.text }}"), rows_of({"text": "b"}), tools)
    assert len({r.segments[0].text for r in tools.requests}) == 1


async def test_an_operator_overrides_sampling():
    tools = ScriptedTools(answer)
    await run(asking(max_tokens=50, temperature=0.5), rows_of({"text": "a"}), tools)
    assert tools.requests[0].sampling == Sampling(temperature=0.5, max_tokens=50)


async def test_a_prompt_that_is_too_long_names_operator_row_tokens_and_limit():
    rows = rows_of({"text": "word " * 500, "filename": "memo.pdf"}, {"text": "short"})
    outcome = await run(asking(), rows, ScriptedTools(answer, context_tokens=300))
    failed = outcome.failed[0]
    assert failed.row is rows[0]
    assert failed.error.startswith(f"operator 'ask', row {rows[0].id} of memo.pdf: the prompt has 5")
    assert "keeps 100 for the reply, but the model's context is 300 tokens" in failed.error
    assert "split + gather" in failed.advice
    assert len(outcome.rows) == 1


async def test_each_failure_keeps_what_the_model_said_and_the_rest_go_on():
    def reply(request):
        text = prompt_of(request)
        if text.startswith("cut"):
            raise OutOfTokens("the reply reached 100 tokens", partial='{"name": "Di')
        if text.startswith("crash"):
            raise ModelCrashed("the runtime stopped")
        return {"name": 3} if text.startswith("odd") else {"name": "ok"}

    outcome = await run(
        asking(), rows_of({"text": "cut"}, {"text": "crash"}, {"text": "odd"}, {"text": "fine"}), ScriptedTools(reply)
    )
    assert [(f.error.split(": ", 1)[1], f.raw_reply) for f in outcome.failed] == [
        ("the reply reached 100 tokens", '{"name": "Di'),
        ("the runtime stopped", None),
        ('the reply does not fit its schema: reply.name is 3, not of type "string"', '{"name": 3}'),
    ]
    assert [r.values["name"] for r in outcome.rows] == ["ok"]


async def test_a_missing_model_stops_the_run_instead_of_failing_rows():
    def reply(_request):
        raise ModelMissing("the model is not installed")

    with pytest.raises(ModelMissing):
        await run(asking(), rows_of({"text": "a"}, {"text": "b"}), ScriptedTools(reply))


async def test_a_bug_is_raised_not_recorded():
    def reply(_request):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run(asking(), rows_of({"text": "a"}), ScriptedTools(reply))


async def test_progress_counts_rows():
    tools = ScriptedTools(answer)
    await run(asking(), rows_of({"text": "a"}, {"text": "b"}), tools)
    assert tools.reports == [(1, 2), (2, 2)]


@pytest.mark.parametrize("settings", [{"max_tokens": 0}, {"temperature": -1.0}])
def test_impossible_sampling_is_refused(settings):
    with pytest.raises(PipelineError, match="must be at least"):
        asking(**settings)


def test_quotes_come_from_the_named_field_or_the_longest_text_the_prompt_reads():
    row = {"officer": "Ana Diaz was here.", "text": "She left\nat noon. He stayed until night.", "notes": "z " * 90}
    quotes = quote_source([row], template("{{ input.officer }} {{ input.text }}"))
    assert list(quotes(Quote())) == ["She left at noon.", "He stayed until night."]
    assert list(quotes(Quote("officer"))) == ["Ana Diaz was here."]
    assert list(quotes(Quote("absent"))) == []


def test_quotes_of_several_rows_are_joined_without_repeats():
    rows = [{"q": "He ran."}, {"q": ["He ran.", "She fell."]}]
    assert list(quote_source(rows, None)(Quote("q"))) == ["He ran.", "She fell."]


def test_a_quote_about_a_person_comes_from_the_sentences_that_name_him_and_the_next_ones():
    text = "It rained. Ofc. A. Diaz came. He left. Officer Roy slept. Nothing else."
    quotes = quote_source([{"officer": "DIAZ, ANA", "text": text}], None)
    assert list(quotes(Quote("text", "officer"))) == ["Ofc. A. Diaz came.", "He left."]
    unknown = quote_source([{"officer": "Officer Moss", "text": "It rained. You left."}], None)
    assert list(unknown(Quote("text", "officer"))) == ["It rained.", "You left."]


def test_a_rendered_chunk_stands_for_its_chunk():
    row = {"text_chunk": "Main text.", "text_chunk_rendered": "Before. Main text. After."}
    assert main_text_field(row, ["text_chunk_rendered"]) == "text_chunk"
    assert main_text_field({"text_rendered": "alone"}, ["text_rendered"]) == "text_rendered"
    assert main_text_field({"n": 3}, ["n"]) is None
