"""rank, order and topk: orders worked out by hand from scripted ratings, picks and vectors."""

from __future__ import annotations

import collections
import re

import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, values_of

from engine.errors import PipelineError
from engine.operators.order import Order
from engine.operators.rank import Rank, Windows, windows_for
from models.errors import OutOfTokens


def ranker(**changes):
    return Rank(**{"name": "r", "prompt": "how loud it is", "input_keys": ("text",), **changes})


def loudness(text):
    return len(re.findall("!", text))


def documents(prompt):
    return re.split(r"Document \d+:\n", prompt.split("Answer with JSON")[0])[1:]


def by_loudness(request):
    """Rate by the number of exclamation marks, and pick the loudest."""
    shown = documents(prompt_of(request))
    names = list(request.schema["properties"])
    if names[0].startswith("rating"):
        return {name: str(min(7, 1 + loudness(text))) for name, text in zip(names, shown, strict=True)}
    order = sorted(range(len(shown)), key=lambda i: -loudness(shown[i]))
    return {name: str(order[i] + 1) for i, name in enumerate(names)}


def names_of(outcome):
    return [row["text"] for row in values_of(outcome)]


LOUD = rows_of({"text": "a!"}, {"text": "b!!!"}, {"text": "c"}, {"text": "d!!"})


async def test_rows_come_in_the_order_of_their_ratings_and_are_numbered_from_1():
    outcome = await run(ranker(rerank_call_budget=0), LOUD, ScriptedTools(by_loudness))
    assert values_of(outcome) == [
        {"text": "b!!!", "_rank": 1},
        {"text": "d!!", "_rank": 2},
        {"text": "a!", "_rank": 3},
        {"text": "c", "_rank": 4},
    ]


async def test_a_window_of_many_rows_is_fitted_in_few_steps():
    tools = ScriptedTools(by_loudness, context_tokens=2000)
    rows = rows_of(*({"text": f"{number} " + "word " * 20} for number in range(400)))
    tools.vectors = collections.defaultdict(lambda: [1, 0])
    written = []
    tools.count_tokens = lambda text: written.append(text) or len(text.split())
    outcome = await run(ranker(initial_ordering_method="embedding", rerank_call_budget=1, k=None), rows, tools)
    assert len(outcome.rows) == 400
    assert len(tools.requests) == 1
    assert sum(map(len, written)) < 40 * 400 * 110  # one by one, some 200 prompts of up to 400 rows would be counted


async def test_ascending_puts_the_least_first():
    outcome = await run(ranker(rerank_call_budget=0, direction="asc"), LOUD, ScriptedTools(by_loudness))
    assert names_of(outcome) == ["c", "a!", "d!!", "b!!!"]


async def test_rows_are_rated_in_batches_whose_failure_leaves_rows_to_be_rated_alone():
    def reply(request):
        if len(documents(prompt_of(request))) > 1:
            raise OutOfTokens("cut off", partial="{")
        return by_loudness(request)

    tools = ScriptedTools(reply)
    outcome = await run(ranker(rerank_call_budget=0, batch_size=3, num_calibration_docs=0), LOUD, tools)
    assert names_of(outcome) == ["b!!!", "d!!", "a!", "c"]
    assert [len(documents(prompt_of(r))) for r in tools.requests] == [3, 1, 1, 1, 1]


async def test_a_row_that_cannot_be_rated_fails_alone():
    def reply(request):
        if "d!!" in prompt_of(request):
            raise OutOfTokens("cut off", partial="{")
        return by_loudness(request)

    outcome = await run(ranker(rerank_call_budget=0, num_calibration_docs=0), LOUD, ScriptedTools(reply))
    assert names_of(outcome) == ["b!!!", "a!", "c"]
    assert [(f.row.values["text"], f.raw_reply) for f in outcome.failed] == [("d!!", "{")]


async def test_a_row_without_the_field_fails_and_the_others_are_ranked():
    rows = rows_of({"text": "a!"}, {"title": "x"}, {"text": "b!!"})
    outcome = await run(ranker(), rows, ScriptedTools(by_loudness))
    assert names_of(outcome) == ["b!!", "a!"]
    assert "there is no field 'text'" in outcome.failed[0].error


@pytest.mark.parametrize("rows", [[], rows_of({"text": "alone"})])
async def test_nothing_and_one_row_ask_nothing(rows):
    tools = ScriptedTools(by_loudness)
    outcome = await run(ranker(), rows, tools)
    assert [v["_rank"] for v in values_of(outcome)] == [1] * len(rows)
    assert not tools.requests


async def test_windows_bring_the_best_to_the_top():
    """All ratings are equal, so the order is the work of the comparisons alone."""

    def reply(request):
        found = by_loudness(request)
        return dict.fromkeys(found, "4") if "rating_1" in found else found

    outcome = await run(ranker(num_top_items_per_window=1), LOUD, ScriptedTools(reply))
    assert names_of(outcome)[0] == "b!!!"


async def test_no_more_windows_are_asked_about_than_the_budget_allows():
    def reply(request):
        found = by_loudness(request)
        return dict.fromkeys(found, "4") if "rating_1" in found else dict.fromkeys(found, "2")

    many = rows_of(*({"text": f"row {i}"} for i in range(40)))
    tools = ScriptedTools(reply)
    await run(ranker(rerank_call_budget=5, num_calibration_docs=0), many, tools)
    assert sum("compare" in r.purpose.task for r in tools.requests) == 5


async def test_a_pick_that_is_named_twice_counts_once():
    def reply(request):
        found = by_loudness(request)
        return dict.fromkeys(found, "4") if "rating_1" in found else dict.fromkeys(found, "3")

    outcome = await run(ranker(rerank_call_budget=1), LOUD, ScriptedTools(reply))
    assert names_of(outcome) == ["c", "a!", "b!!!", "d!!"]


async def test_a_window_that_fails_leaves_its_order_and_says_so():
    def reply(request):
        if "rating_1" not in request.schema["properties"]:
            raise OutOfTokens("cut off", partial="{")
        return by_loudness(request)

    outcome = await run(ranker(rerank_call_budget=1), LOUD, ScriptedTools(reply))
    assert names_of(outcome) == ["b!!!", "d!!", "a!", "c"]
    assert [(d.verdict, d.by) for d in outcome.decisions] == [("undecided", "error")]


async def test_rows_that_no_window_reaches_are_told():
    many = rows_of(*({"text": f"row {i}"} for i in range(40)))
    node = ranker(rerank_call_budget=2, window_size=4, num_calibration_docs=0)
    outcome = await run(node, many, ScriptedTools(by_loudness))
    assert outcome.decisions[0].left == "places 7 to 40"


def test_windows_overlap_and_reach_all_rows_within_the_budget():
    # Windows of 4 that overlap by half reach 10 rows in 4 calls: 0-3, 2-5, 4-7, 6-9.
    assert windows_for(10, 4, 3, 0.5) == Windows(size=4, step=2, count=4)
    assert Windows(4, 2, 4).bounds(10) == [(6, 10), (4, 8), (2, 6), (0, 4)]
    assert windows_for(10, 1, 3, 0.5) == Windows(size=10, step=5, count=1)
    assert windows_for(10, 2, 3, 0.5, largest=4) == Windows(size=4, step=2, count=2)


async def test_the_first_order_may_be_by_embedding():
    vectors = {"how loud it is": [1, 0], "text: a": [0.6, 0.8], "text: b": [1, 0], "text: c": [0, 1]}
    rows = rows_of({"text": "a"}, {"text": "b"}, {"text": "c"})
    tools = ScriptedTools(vectors=vectors)
    outcome = await run(ranker(initial_ordering_method="embedding", rerank_call_budget=0), rows, tools)
    assert names_of(outcome) == ["b", "a", "c"]
    assert not tools.requests


async def test_ratings_of_a_sample_are_carried_over_to_what_is_like_it():
    rows = rows_of(*({"text": f"loud! {i}"} for i in range(15)), *({"text": f"quiet {i}"} for i in range(15)))
    vectors = {f"text: {r.values['text']}": [1, 0] if "!" in r.values["text"] else [0, 1] for r in rows}
    tools = ScriptedTools(by_loudness, vectors=vectors)
    node = ranker(initial_ordering_method="calibrated_embedding", rerank_call_budget=0, num_calibration_docs=0)
    outcome = await run(node, rows, tools)
    assert len(tools.requests) == 20
    assert [("!" in name) for name in names_of(outcome)] == [True] * 15 + [False] * 15


async def test_rows_beyond_a_sample_that_cannot_be_rated_fail_too():
    def fail(request):
        raise OutOfTokens("cut off", partial="{")

    rows = rows_of(*({"text": f"loud {i}"} for i in range(30)))
    node = ranker(initial_ordering_method="calibrated_embedding", num_calibration_docs=0)
    outcome = await run(node, rows, ScriptedTools(fail))
    assert len(outcome.failed) == 30
    assert sum("none of the rows of the sample could be rated" in f.error for f in outcome.failed) == 10
    assert all("cut off" in f.error for f in outcome.failed)


async def test_order_is_rank():
    outcome = await run(Order(name="r", prompt="loud", rerank_call_budget=0), LOUD, ScriptedTools(by_loudness))
    assert names_of(outcome) == ["b!!!", "d!!", "a!", "c"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"prompt": "  "}, "no criterion"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"overlap_fraction": 1.0}, "overlap_fraction"),
        ({"call_budget": 3, "rerank_call_budget": 4}, "given twice"),
        ({"k": 0}, "k must be at least 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, told):
    with pytest.raises(PipelineError, match=told):
        ranker(**changes)


async def test_expected_ratings_break_ties_of_equal_numbers():
    class Sure(ScriptedTools):
        async def ask(self, request):
            reply = await super().ask(request)
            sure = {"4": 0.5, "7": 0.5} if "b" in prompt_of(request) else {"4": 0.9, "7": 0.1}
            return type(reply)(reply.value, reply.text, alternatives={"/rating_1": sure})

    rows = rows_of({"text": "a"}, {"text": "b"}, {"text": "c"})
    tools = Sure(lambda request: {"rating_1": "4"})
    outcome = await run(
        Rank(name="r", prompt="loud", rerank_call_budget=0, num_calibration_docs=0, input_keys=("text",)), rows, tools
    )
    assert names_of(outcome) == ["b", "a", "c"]
