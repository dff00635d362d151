"""What prompts share is read once: counted in tokens that the real scheduler evaluates."""

from __future__ import annotations

import pytest
from scripted_tools import rows_of, run, schema, template
from token_counting import CountingTools

from engine.operators.asking import Gleaning
from engine.operators.equijoin import Equijoin
from engine.operators.map import Map
from engine.operators.parallel_map import ParallelMap, PromptPart
from engine.operators.resolve import Resolve
from engine.operators.running import run_operator

PROMPTS, DOCUMENTS, WORDS = 8, 4, 80


def document(name: str) -> str:
    """Return a text of so many words that stand nowhere else."""
    return " ".join(f"{name}w{number}" for number in range(WORDS))


def answer(request):
    values = {"boolean": True, "integer": 1, "string": "x"}
    return {name: values[field["type"]] for name, field in request.schema["properties"].items()}


def questions(layout):
    parts = [
        PromptPart(
            prompt=template(f"Instruction {n} is about this text:\n{{{{ input.text }}}}\nQuestion {n}?"),
            output_keys=(f"f{n}",),
        )
        for n in range(PROMPTS)
    ]
    fields = schema(**{f"f{n}": "integer" for n in range(PROMPTS)})
    return ParallelMap(name="ask", prompts=tuple(parts), schema=fields, layout=layout)


@pytest.mark.parametrize(("layout", "times"), [("document_first", 1), ("as_written", PROMPTS)])
async def test_eight_prompts_about_four_documents(layout, times):
    tools = CountingTools(answer)
    rows = rows_of(*({"text": document(f"d{n}")} for n in range(DOCUMENTS)))
    outcome = await run(questions(layout), rows, tools)
    assert (len(outcome.rows), len(tools.requests)) == (DOCUMENTS, DOCUMENTS * PROMPTS)
    read = {tools.times_read(f"d{doc}w{word}") for doc in range(DOCUMENTS) for word in range(WORDS)}
    assert read == {times}


async def test_the_requests_of_a_row_follow_each_other():
    tools = CountingTools(answer)
    await run(questions("document_first"), rows_of(*({"text": document(f"d{n}")} for n in range(DOCUMENTS))), tools)
    order = [request.purpose.row_id for request in tools.requests]
    assert order == [row_id for row_id in dict.fromkeys(order) for _ in range(PROMPTS)]


async def test_a_prompt_that_begins_with_the_document_shares_it_with_one_that_was_laid_out():
    tools = CountingTools(answer)
    parts = (
        PromptPart(prompt=template("{{ input.text }}\n\nWho?"), output_keys=("who",)),
        PromptPart(prompt=template("What is it?\n\n{{ input.text }}"), output_keys=("what",)),
    )
    node = ParallelMap(name="p", prompts=parts, schema=schema(who="string", what="string"), layout="document_first")
    await run(node, rows_of({"text": document("d")}), tools)
    assert {tools.times_read(f"dw{n}") for n in range(WORDS)} == {1}


@pytest.mark.parametrize("layout", ["as_written", "document_first"])
async def test_judging_and_improving_read_on_from_what_there_is(layout):
    def reply(request):
        if "should_refine" in request.schema["properties"]:
            return {"should_refine": True, "improvements": "shorter"}
        return {"name": "somebody"}

    tools = CountingTools(reply)
    node = Map(
        name="m",
        prompt=template("Who is in this text?\n{{ input.text }}\nOne name."),
        schema=schema(name="string"),
        gleaning=Gleaning(validation_prompt=template("Is it right?", "output", "input"), num_rounds=2),
        layout=layout,
    )
    await run(node, rows_of({"text": document("d")}), tools)
    assert len(tools.requests) == 5
    assert {tools.times_read(f"dw{n}") for n in range(WORDS)} == {1}


@pytest.mark.parametrize(
    ("prompt", "layout", "left", "right"),
    [
        ("{{ left.text }} or {{ right.text }}?", "as_written", 1, 3),
        ("Same?\n{{ right.text }} or {{ left.text }}?", "as_written", 4, 1),
        ("Same?\n{{ right.text }} or {{ left.text }}?", "document_first", 1, 3),
    ],
)
async def test_one_side_of_a_join_is_read_once_for_all_it_is_compared_with(prompt, layout, left, right):
    tools = CountingTools(lambda request: {"same": False}, vectors=dict.fromkeys(ALL_TEXTS, [1.0, 0.0]))
    node = Equijoin(
        name="j", comparison_prompt=template(prompt, "left", "right"), layout=layout, blocking_threshold=0.5
    )
    lefts = rows_of(*({"text": text} for text in LEFT_TEXTS))
    rights = rows_of(*({"text": text} for text in RIGHT_TEXTS))
    await run_operator(node, (lefts, rights), tools)
    assert len(tools.requests) == 12
    assert {tools.times_read(f"l{n}w{word}") for n in range(3) for word in range(WORDS)} == {left}
    assert {tools.times_read(f"r{n}w{word}") for n in range(4) for word in range(WORDS)} == {right}


LEFT_TEXTS = [document(f"l{n}") for n in range(3)]
RIGHT_TEXTS = [document(f"r{n}") for n in range(4)]
ALL_TEXTS = [*LEFT_TEXTS, *RIGHT_TEXTS]


async def test_of_two_mentions_the_one_compared_more_often_goes_first_where_documents_do():
    """`hub` is the last row and is compared with each other one, which are not compared with each other."""
    texts = [document(f"s{n}") for n in range(5)] + [document("hub")]
    vectors = {text: [0.0] * 5 + [0.4] for text in texts[:5]}
    for number, text in enumerate(texts[:5]):
        vectors[text] = [0.9 if place == number else 0.0 for place in range(5)] + [0.43]
    vectors[texts[5]] = [0.0] * 5 + [1.0]
    times = {}
    for layout in ("as_written", "document_first"):
        tools = CountingTools(lambda request: {"same": False}, vectors=vectors)
        node = Resolve(
            name="r",
            schema=schema(text="string"),
            comparison_prompt=template("{{ input1.text }}\n\nor\n\n{{ input2.text }}?", "input1", "input2"),
            blocking_threshold=0.4,
            layout=layout,
        )
        await run(node, rows_of(*({"text": text} for text in texts)), tools)
        assert len(tools.requests) == 5
        times[layout] = tools.times_read("hubw0"), tools.times_read("s0w0")
    assert times == {"as_written": (5, 1), "document_first": (1, 1)}
