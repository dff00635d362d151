"""Several answers per row (output.n), calibration, and keys that are refused."""

import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.language.binding import bind
from engine.language.position import Where
from engine.operators.filter import Filter
from engine.operators.map import SAMPLES_TEMPERATURE, Map
from engine.operators.parallel_map import ParallelMap
from engine.operators.row_prompts import sample_of
from models.errors import ModelCrashed

PROMPT = template("Rate: {{ input.text }}")


def rate(**settings):
    return Map(name="m", prompt=PROMPT, schema=schema(score="integer"), **settings)


async def test_n_samples_make_n_rows_with_seeds_of_their_own():
    tools = ScriptedTools(lambda request: {"score": request.seed})
    outcome = await run(rate(samples=3), rows_of({"text": "a"}, {"text": "b"}), tools)
    # the pipeline's seed is 7: the first sample has it, each further one the next
    expected = [{"text": text, "score": score} for text in "ab" for score in (7, 8, 9)]
    assert values_of(outcome) == expected
    assert rate(samples=3).traits().cardinality == "one_to_many"


@pytest.mark.parametrize(
    ("samples", "temperature", "used"), [(1, None, 0.0), (2, None, SAMPLES_TEMPERATURE), (2, 1.2, 1.2), (1, 0.0, 0.0)]
)
async def test_several_samples_are_never_greedy(samples, temperature, used):
    tools = ScriptedTools(lambda _: {"score": 1})
    await run(rate(samples=samples, temperature=temperature), rows_of({"text": "a"}), tools)
    assert {request.sampling.temperature for request in tools.requests} == {used}


async def test_a_sample_that_fails_fails_its_row():
    def reply(request):
        if request.seed == 8 and "Rate: a" in prompt_of(request):
            raise ModelCrashed("gone")
        return {"score": 1}

    rows = rows_of({"text": "a"}, {"text": "b"})
    outcome = await run(rate(samples=2), rows, ScriptedTools(reply))
    assert [row["text"] for row in values_of(outcome)] == ["b", "b"]
    assert [(f.row, "gone" in f.error) for f in outcome.failed] == [(rows[0], True)]


# -- calibration -----------------------------------------------------------------------------------------------------

ANCHORS = ["'a' gets 1", "{{ input.text }} is text, no template"]


def calibrating(request):
    if "reference_points" in request.schema["properties"]:
        return {"reference_points": ANCHORS}
    return {"score": 1}


def texts(count):
    return rows_of(*({"text": f"t{number}", "other": "o"} for number in range(count)))


async def test_reference_points_from_a_sample_are_in_the_prompt_of_every_row():
    tools = ScriptedTools(calibrating)
    outcome = await run(rate(calibrate=True, num_calibration_docs=4), texts(20), tools)
    assert len(outcome.rows) == 20
    assert len(tools.requests) == 4 + 1 + 20
    last = prompt_of(tools.requests[-1])
    assert last.startswith("For reference:\n- 'a' gets 1\n- {{ input.text }} is text, no template\n\nRate: t19\n")
    asked = prompt_of(tools.requests[4])
    assert "Rate: {{ input.text }}" in asked
    assert asked.count("Input: {") == 4
    assert 'Answer: {"score":1}' in asked
    assert '"other"' not in asked  # the prompt does not read it
    assert not rate(calibrate=True).traits().row_local


def test_the_sample_is_the_same_for_the_same_seed_and_keeps_the_order():
    rows = texts(50)
    first, again, other = (sample_of(rows, 10, seed) for seed in (7, 7, 8))
    assert first == again != other
    assert first == sorted(first, key=rows.index)
    assert len({row.id for row in first}) == 10
    assert sample_of(rows[:3], 10, 7) == rows[:3]


async def test_examples_that_do_not_fit_are_left_out_of_the_calibration():
    rows = rows_of(*({"text": f"{number}" + " word" * 100} for number in range(8)))
    tools = ScriptedTools(calibrating, context_tokens=520, max_tokens=60)
    outcome = await run(rate(calibrate=True, num_calibration_docs=8), rows, tools)
    assert len(outcome.rows) == 8
    # 520 - 60 for the reply - 64 for the chat are 396 words: 8 and 4 examples of over 100 do not fit, 2 do
    assert [r.purpose.task for r in tools.requests if "calibrate" in r.purpose.task] == ["calibrate on 2 rows"]


async def test_rows_of_the_sample_that_fail_are_left_out_of_it():
    def reply(request):
        if "Rate: t0\n" in prompt_of(request) and "For reference" not in prompt_of(request):
            raise ModelCrashed("gone")
        return calibrating(request)

    outcome = await run(rate(calibrate=True), texts(3), ScriptedTools(reply))
    assert len(outcome.rows) == 3


async def test_a_calibration_without_any_answer_fails_all_rows_and_says_why():
    def reply(_):
        raise ModelCrashed("gone")

    tools = ScriptedTools(reply)
    outcome = await run(rate(calibrate=True), texts(3), tools)
    assert len(outcome.failed) == 3
    assert "calibration: none of the 3 rows of the sample could be answered; the first: gone" in outcome.failed[0].error
    assert len(tools.requests) == 3


async def test_a_calibration_whose_points_fail_fails_all_rows():
    def reply(request):
        return {"reference_points": []} if "reference_points" in request.schema["properties"] else {"score": 1}

    outcome = await run(rate(calibrate=True), texts(2), ScriptedTools(reply))
    assert "has 0 items, at least 1 wanted" in outcome.failed[1].error


async def test_a_filter_can_be_calibrated():
    node = Filter(name="f", prompt=PROMPT, schema=schema(keep="boolean"), calibrate=True, drop_keys=("other",))

    def reply(request):
        return calibrating(request) if "reference_points" in request.schema["properties"] else {"keep": True}

    assert values_of(await run(node, texts(2), ScriptedTools(reply))) == [{"text": "t0"}, {"text": "t1"}]
    assert node.traits().removes == {"other"}


# -- keys of DocETL that cannot work here ----------------------------------------------------------------------------


@pytest.mark.parametrize("node_type", [Map, Filter, ParallelMap])
@pytest.mark.parametrize(
    ("key", "reason"), [("tools", "code_map"), ("agent", "code_map"), ("pdf_url_key", "fetched from the network")]
)
def test_keys_that_need_code_or_the_network_are_refused_with_the_reason(node_type, key, reason):
    with pytest.raises(PipelineError, match=f"the key '{key}' is refused: .*{reason}"):
        bind(node_type, {"name": "m", key: "x"}, Where())
