"""too_long: a prompt that does not fit is an error, or is cut or split as declared, and the ledger says so."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.language.expressions import Expression
from engine.language.schema import Schema
from engine.operators.asking.lengths import cut
from engine.operators.asking.model_node import Agree
from engine.operators.filter import Filter
from engine.operators.map import Map
from engine.operators.parallel_map import ParallelMap, PromptPart
from engine.operators.resolve import Resolve
from models.errors import ModelCrashed

# Numbered sentences, so that what a prompt shows can be counted; each has 5 words (tokens of the scripted model).
LONG = "\n".join(f"Sentence {n} says something here." for n in range(1, 101))
ROOM = 400  # tokens: the prompt has some 40 beside the text, 64 are kept for the chat template, 100 for the reply


def asking(too_long, prompt="Read:\n{{ input.text }}\nWho?", **more):
    more = {"schema": schema(name="string"), **more}
    return Map(name="ask", prompt=template(prompt), too_long=too_long, **more)


def tools_with(reply=lambda request: {"name": "x"}, context=ROOM, **more):
    return ScriptedTools(reply, context_tokens=context, **more)


def shown(request):
    return [int(n) for n in re.findall(r"Sentence (\d+) says something here\.", prompt_of(request))]


async def test_by_default_it_is_an_error_that_names_the_three_remedies():
    outcome = await run(asking("error"), rows_of({"text": LONG}), tools_with())
    [failed] = outcome.failed
    assert "the model's context is 400 tokens" in failed.error
    for remedy in ("split + gather", "fold_prompt", "too_long: split, middle_out, head or head_tail"):
        assert remedy in failed.advice


@pytest.mark.parametrize("how", ["head", "middle_out", "head_tail"])
async def test_the_longest_text_is_cut_and_a_note_says_so(how):
    tools = tools_with()
    rows = rows_of({"text": LONG, "title": "A title"})
    node = asking(how, "{{ input.title }}\n{{ input.text }}\nWho?")
    outcome = await run(node, rows, tools)
    numbers = shown(tools.requests[0])
    head = [n for n in numbers if n <= 50]
    tail = numbers[len(head) :] if how != "head" else []
    assert "A title" in prompt_of(tools.requests[0])
    assert 25 <= len(numbers) < 50  # of 100 sentences; some 190 tokens, 38 sentences, fit
    assert numbers[0] == 1
    if how == "head":
        assert numbers == list(range(1, len(numbers) + 1))
    else:
        assert numbers[-1] == 100
        assert head + tail == numbers
        share = len(head) / len(numbers)
        assert abs(share - {"middle_out": 0.5, "head_tail": 0.75}[how]) < 0.1
    [note] = outcome.decisions
    assert (note.left, note.verdict, note.by) == (rows[0].id, "cut", f"too_long: {how}")
    kept = int(re.fullmatch(rf"text: (\d+) of {len(LONG)} characters shown", note.detail)[1])
    assert kept < len(LONG) / 2
    # The row itself keeps all of its text.
    assert values_of(outcome) == [{"text": LONG, "title": "A title", "name": "x"}]


async def test_a_prompt_that_fits_is_not_touched():
    tools = tools_with(context=2000)
    outcome = await run(asking("head"), rows_of({"text": LONG}), tools)
    assert len(shown(tools.requests[0])) == 100
    assert not outcome.decisions


async def test_two_long_texts_are_cut_to_the_same_length():
    tools = tools_with()
    row = {"a": LONG, "b": LONG.replace("Sentence", "Clause"), "c": "Sentence 7 says something here."}
    outcome = await run(asking("head", "{{ input.a }} {{ input.b }} {{ input.c }}"), rows_of(row), tools)
    assert re.findall(r"[abc]: (\d+) of", outcome.decisions[0].detail)[0:1]
    prompt = prompt_of(tools.requests[0])
    assert abs(prompt.count("Sentence") - 1 - prompt.count("Clause")) <= 2  # as many characters
    assert row["c"] in prompt


async def test_only_what_the_model_saw_may_be_quoted():
    tools = tools_with(lambda request: {"q": request.schema["properties"]["q"]["enum"][-1]})
    node = asking("middle_out", schema=Schema.parse({"q": "quote"}))
    outcome = await run(node, rows_of({"text": LONG}), tools)
    seen = [f"Sentence {n} says something here." for n in shown(tools.requests[0])]
    assert tools.requests[0].schema["properties"]["q"]["enum"] == seen
    assert outcome.rows[0].values["q"] == "Sentence 100 says something here."


async def test_the_quote_of_a_field_that_was_not_cut_stays():
    tools = tools_with(lambda request: {"q": request.schema["properties"]["q"]["enum"][0]})
    node = asking("head", schema=Schema.parse({"q": "quote(other)"}))
    outcome = await run(node, rows_of({"text": LONG, "other": "Not in the prompt."}), tools)
    assert outcome.rows[0].values["q"] == "Not in the prompt."


async def test_validation_sees_the_whole_row():
    node = asking("head", validate=(Expression.parse('len(input["text"]) == len(output["text"]) > 3000'),))
    outcome = await run(node, rows_of({"text": LONG}), tools_with())
    assert len(outcome.rows) == 1


async def test_a_text_that_the_prompt_changes_cannot_be_cut():
    outcome = await run(asking("head", "{{ input.text | upper }}"), rows_of({"text": LONG}), tools_with())
    assert "the model's context is 400 tokens" in outcome.failed[0].error
    assert not outcome.decisions


async def test_a_prompt_too_long_in_itself_stays_an_error():
    outcome = await run(asking("head", "word " * 500 + "{{ input.text }}"), rows_of({"text": LONG}), tools_with())
    assert outcome.failed
    assert not outcome.decisions


@given(st.text(max_size=300), st.integers(0, 310), st.sampled_from(["head", "middle_out", "head_tail"]))
def test_a_cut_text_is_its_beginning_and_its_end_with_what_was_left_out(text, keep, how):
    if len(text) <= keep:
        assert cut(text, keep, how) == text
        return
    left = re.search(r"\[\.\.\. (\d+) characters skipped \.\.\.\]", made := cut(text, keep, how))
    head, tail = made[: left.start()].removesuffix("\n"), made[left.end() :].removeprefix("\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) <= keep
    assert len(text) - int(left[1]) >= len(head) + len(tail)


# -- split -------------------------------------------------------------------------------------------------------------


def listing(request):
    """Answer what a part shows, its context included."""
    return {"numbers": shown(request)}


async def test_split_reads_all_of_it_in_parts_and_joins_the_lists():
    tools = tools_with(listing)
    rows = rows_of({"text": LONG})
    outcome = await run(asking("split", schema=Schema.parse({"numbers": "list[integer]"})), rows, tools)
    assert outcome.rows[0].values["numbers"] == list(range(1, 101))  # context repeats, the joined list does not
    assert outcome.rows[0].values["text"] == LONG
    parts = [prompt_of(request) for request in tools.requests]
    assert len(parts) > 2
    assert all("--- Begin Main Chunk ---" in part for part in parts)
    assert ["--- Previous Context ---" in part for part in parts] == [False] + [True] * (len(parts) - 1)
    [note] = outcome.decisions
    assert (note.left, note.verdict, note.by) == (rows[0].id, "split", "too_long: split")
    assert note.detail == f"text was read in {len(parts)} parts"


@pytest.mark.parametrize(
    ("sentences", "output", "calls"),
    [
        (1600, {"numbers": "list[integer]"}, 1),  # of five tokens each: 8,000
        (1601, {"numbers": "list[integer]"}, 3),
        (1601, {"numbers": "list[integer]", "title": "string"}, 1),  # the model would have to merge the titles
        (1601, {"numbers": "list[integer, 9]"}, 1),
    ],
)
async def test_a_long_text_that_fits_is_read_in_parts_where_code_joins_the_answers(sentences, output, calls):
    text = "\n".join(f"Sentence {n} says something here." for n in range(1, sentences + 1))
    reply = {name: [] if name == "numbers" else "x" for name in output}
    tools = tools_with(lambda request: reply, context=16_000)
    outcome = await run(asking("split", schema=Schema.parse(output)), rows_of({"text": text}), tools)
    assert not outcome.failed
    assert len(tools.requests) == calls


async def test_parts_are_small_however_large_the_context_is():
    text = "\n".join(f"Sentence {n} says something here." for n in range(1, 4001))  # 20,000 tokens
    tools = tools_with(lambda request: {"numbers": []}, context=16_000)
    await run(asking("split", schema=Schema.parse({"numbers": "list[integer]"})), rows_of({"text": text}), tools)
    assert len(tools.requests) == 5  # of 4,000 tokens, 800 sentences, each
    parts = [shown(request) for request in tools.requests]
    assert [max(part) for part in parts] == [800, 1600, 2400, 3200, 4000]
    # 500 tokens of context at most are 100 sentences.
    assert all(50 <= 800 * at + 1 - min(part) <= 100 for at, part in enumerate(parts[1:], 1))


async def test_other_fields_are_put_together_by_the_model():
    def reply(request):
        if "The answers, in the order of the parts" in prompt_of(request):
            return {"name": "merged"}
        return {"numbers": shown(request)[-1:], "name": f"to {shown(request)[-1]}"}

    tools = tools_with(reply)
    node = asking("split", schema=Schema.parse({"name": "string", "numbers": "list[integer]"}))
    outcome = await run(node, rows_of({"text": LONG}), tools)
    values = outcome.rows[0].values
    assert (values["name"], values["numbers"][-1]) == ("merged", 100)
    assert list(values) == ["text", "name", "numbers"]
    merge = prompt_of(tools.requests[-1])
    assert "Sentence" not in merge
    assert 'Part 1: {"name":"to ' in merge
    assert "[the text]" in merge


async def test_many_answers_are_merged_in_halves():
    merges = []

    def reply(request):
        if parts := re.findall(r"^Part \d+: (.*)$", prompt_of(request), re.MULTILINE):
            merges.append(len(parts))
            return {"name": "merged " + "w " * 40 + str(len(merges))}
        return {"name": "w " * 45 + str(shown(request)[-1])}

    outcome = await run(asking("split"), rows_of({"text": LONG}), tools_with(reply))
    assert outcome.rows[0].values["name"].startswith("merged")
    assert len(merges) >= 3


async def test_equal_answers_need_no_merge():
    tools = tools_with(lambda request: {"name": "same"})
    await run(asking("split"), rows_of({"text": LONG}), tools)
    assert not any("The answers, in the order" in prompt_of(request) for request in tools.requests)


async def test_a_filter_says_yes_if_any_part_does_and_keeps_its_quote():
    def reply(request):
        said = request.schema["properties"]["q"]["enum"]
        found = "Sentence 77 says something here."
        return {"q": found if found in said else said[0], "keep": found in said}

    node = Filter(
        name="f",
        prompt=template("{{ input.text }}"),
        schema=Schema.parse({"q": "quote", "keep": "boolean"}),
        too_long="split",
    )
    short = LONG.replace("Sentence 77 ", "Sentence 770 ")
    outcome = await run(node, rows_of({"text": LONG}, {"text": short}), tools_with(reply))
    assert [row.values["q"] for row in outcome.rows] == ["Sentence 77 says something here."]
    assert len(outcome.rejected) == 1


async def test_a_quote_of_the_merged_answer_is_one_of_the_parts():
    def reply(request):
        return {"q": request.schema["properties"]["q"]["enum"][-1]}

    tools = tools_with(reply)
    outcome = await run(asking("split", schema=Schema.parse({"q": "quote"})), rows_of({"text": LONG}), tools)
    offered = tools.requests[-1].schema["properties"]["q"]["enum"]
    assert len(offered) == len(tools.requests) - 1
    assert outcome.rows[0].values["q"] == offered[-1] == "Sentence 100 says something here."


async def test_a_part_that_fails_fails_the_row():
    def reply(request):
        if 50 in shown(request):
            raise ModelCrashed("stopped")
        return listing(request)

    node = asking("split", schema=Schema.parse({"numbers": "list[integer]"}))
    outcome = await run(node, rows_of({"text": LONG}, {"text": "short"}), tools_with(reply))
    assert [failed.row.values["text"] for failed in outcome.failed] == [LONG]
    assert len(outcome.rows) == 1


async def test_the_whole_answer_is_validated():
    node = asking(
        "split",
        schema=Schema.parse({"numbers": "list[integer]"}),
        validate=(Expression.parse("len(output['numbers']) == 100"),),
    )
    outcome = await run(node, rows_of({"text": LONG}), tools_with(listing))
    assert len(outcome.rows) == 1
    outcome = await run(node, rows_of({"text": LONG + "\nSentence 101 says something here."}), tools_with(listing))
    assert "fails validation: len(output['numbers']) == 100" in outcome.failed[0].error


async def test_a_list_with_a_bound_is_not_joined_beyond_it():
    def reply(request):
        return {"numbers": shown(request)[:3]}

    tools = tools_with(reply)
    node = asking("split", schema=Schema.parse({"numbers": "list[integer, 4]"}))
    outcome = await run(node, rows_of({"text": LONG}), tools)
    assert "The answers, in the order" in prompt_of(tools.requests[-1])
    assert outcome.rows[0].values["numbers"] == []  # the merge prompt shows no sentence


async def test_a_prompt_without_a_text_to_split_fails_clearly():
    outcome = await run(asking("split", "word " * 500 + "{{ input.n }}"), rows_of({"n": 1}), tools_with())
    assert "shows no text of the row that could be split" in outcome.failed[0].error
    outcome = await run(asking("split", "word " * 500 + "{{ input.t }}"), rows_of({"t": "a"}), tools_with())
    assert "even with 't' split into parts" in outcome.failed[0].error


def test_split_is_for_map_and_filter():
    with pytest.raises(PipelineError, match="too_long: split is not possible for resolve"):
        Resolve(
            name="r",
            comparison_prompt=template("{{ input1.a }} {{ input2.a }}", "input1", "input2"),
            resolution_prompt=template("{{ inputs }}", "inputs"),
            schema=schema(a="string"),
            too_long="split",
        )


# -- several answers ---------------------------------------------------------------------------------------------------

EVERY_WAY = pytest.mark.parametrize("how", ["head", "middle_out", "head_tail", "split"])


def differing(request):
    """Answer each part in another way, so that the answers have to be merged."""
    return {"name": f"to {shown(request)[-1:]}"}


@EVERY_WAY
@pytest.mark.parametrize(
    ("more", "readings"),
    [
        ({"samples": 2}, {(7, None), (8, None)}),
        ({"agree": 3}, {(7, None), (8, None), (9, None)}),
        ({"agree": Agree(times=2, model="other")}, {(7, None), (8, "other")}),
    ],
)
async def test_each_answer_about_a_text_that_is_too_long_has_its_own_seed_and_model(how, more, readings):
    tools = tools_with(differing)
    outcome = await run(asking(how, **more), rows_of({"text": LONG}), tools)
    assert not outcome.failed
    asked = Counter((request.seed, model) for request, model in zip(tools.requests, tools.models, strict=True))
    assert set(asked) == readings
    assert len(set(asked.values())) == 1  # all parts and what merges them, as often for each


@EVERY_WAY
async def test_a_prompt_of_parallel_map_asks_its_own_model_about_a_text_that_is_too_long(how):
    part = PromptPart(prompt=template("{{ input.text }}\nWho?"), output_keys=("name",), model="other")
    node = ParallelMap(name="ask", prompts=(part,), schema=schema(name="string"), too_long=how)
    tools = tools_with(differing)
    outcome = await run(node, rows_of({"text": LONG}), tools)
    assert not outcome.failed
    assert set(tools.models) == {"other"}
