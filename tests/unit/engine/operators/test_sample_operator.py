import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_tools import ScriptedTools, rows_of, run, template, values_of

from engine.errors import PipelineError
from engine.operators.sample import NOT_SAMPLED, Sample, count_of, draw_by_size, shares


def sample(method="uniform", **settings):
    return Sample(name="some", method=method, **settings)


def numbered(count, **more):
    return rows_of(*({"n": n, **{k: v(n) for k, v in more.items()}} for n in range(count)))


async def taken(node, rows, tools=None):
    outcome = await run(node, rows, tools)
    assert not outcome.failed
    assert {r.reason for r in outcome.rejected} <= {NOT_SAMPLED}
    return [row.values["n"] for row in outcome.rows]


async def test_uniform_takes_so_many_in_the_order_of_the_rows():
    found = await taken(sample(samples=10, random_state=42), numbered(100))
    assert len(found) == 10
    assert found == sorted(set(found))
    assert found == await taken(sample(samples=10, random_state=42), numbered(100))
    assert found != await taken(sample(samples=10, random_state=43), numbered(100))


async def test_without_random_state_the_pipeline_s_seed_decides():
    tools, other = ScriptedTools(), ScriptedTools()
    other.seed = tools.seed + 1
    rows = numbered(100)
    assert await taken(sample(samples=10), rows, tools) == await taken(sample(samples=10), rows, tools)
    assert await taken(sample(samples=10), rows, tools) != await taken(sample(samples=10), rows, other)


async def test_each_row_is_as_likely_as_any_other():
    counts = Counter()
    for state in range(400):
        counts.update(await taken(sample(samples=2, random_state=state), numbered(8)))
    assert all(60 <= counts[n] <= 140 for n in range(8))  # 100 expected, standard deviation 8.7


@pytest.mark.parametrize(
    ("samples", "expected"), [(0.1, 10), (0.29, 29), (1.0, 100), (0.001, 0), (100, 100), (500, 100)]
)
async def test_numbers_and_fractions(samples, expected):
    assert len(await taken(sample("first", samples=samples), numbered(100))) == expected
    assert count_of(samples, 100) == expected


async def test_first_takes_the_first():
    assert await taken(sample("first", samples=3), numbered(5)) == [0, 1, 2]


async def test_what_is_not_taken_is_rejected():
    rows = numbered(3)
    outcome = await run(sample("first", samples=1), rows)
    assert [(r.row, r.reason) for r in outcome.rejected] == [(rows[1], "not sampled"), (rows[2], "not sampled")]


async def test_strata_keep_their_proportion():
    rows = numbered(100, kind=lambda n: "rare" if n % 5 == 0 else "usual")
    outcome = await run(sample(samples=0.1, stratify_key="kind"), rows)
    assert Counter(v["kind"] for v in values_of(outcome)) == {"rare": 2, "usual": 8}
    first = await taken(sample("first", samples=5, stratify_key=("kind",)), rows)
    assert first == [0, 1, 2, 3, 4]


async def test_samples_per_group():
    rows = numbered(12, a=lambda n: n % 2, b=lambda n: n % 3)
    outcome = await run(sample("first", samples=1, stratify_key=("a", "b"), samples_per_group=True), rows)
    assert [v["n"] for v in values_of(outcome)] == [0, 1, 2, 3, 4, 5]
    half = await taken(sample("first", samples=0.5, stratify_key=("a",), samples_per_group=True), rows)
    assert half == [0, 1, 2, 3, 4, 5]


async def test_strata_tell_text_from_numbers_and_take_lists():
    rows = rows_of({"n": 0, "k": 1}, {"n": 1, "k": "1"}, {"n": 2, "k": [1]}, {"n": 3, "k": None}, {"n": 4, "k": 1})
    assert await taken(sample("first", samples=1, stratify_key=("k",), samples_per_group=True), rows) == [0, 1, 2, 3]


async def test_a_row_without_the_stratum_fails():
    rows = rows_of({"n": 0, "k": 1}, {"n": 1})
    outcome = await run(sample("first", samples=1, stratify_key=("k",)), rows)
    assert [f.row for f in outcome.failed] == [rows[1]]
    assert "there is no field 'k'" in outcome.failed[0].error


async def test_no_rows_are_no_sample():
    for node in (sample(samples=3), sample("first", samples=0.5, stratify_key=("k",))):
        assert await taken(node, []) == []


async def test_custom_takes_the_rows_that_are_listed():
    rows = rows_of({"n": 0, "id": 5}, {"n": 1, "id": 2}, {"n": 2, "id": 1}, {"n": 3, "id": "1"})
    node = sample("custom", samples=({"id": 1}, {"id": 5, "n": 0}))
    assert await taken(node, rows) == [0, 2]
    with pytest.raises(PipelineError, match=r'no row has the values \{"id":9\}'):
        await run(sample("custom", samples=({"id": 9},)), rows)


async def test_weight_size_prefers_long_documents():
    rows = rows_of(*({"n": n, "text": "x" * (9 if n == 0 else 1)} for n in range(10)))
    hits = sum([0 in await taken(sample(samples=1, weight="size", random_state=s), rows) for s in range(400)])
    assert 160 <= hits <= 240  # 9 of 18 characters: half of the draws


async def test_rows_without_text_are_taken_last():
    rows = rows_of({"n": 0}, {"n": 1, "t": "a"}, {"n": 2, "t": ""}, {"n": 3, "t": "b"})
    assert await taken(sample(samples=2, weight="size"), rows) == [1, 3]
    assert len(await taken(sample(samples=3, weight="size"), rows)) == 3


def outliers(**settings):
    return sample("outliers", embedding_keys=("t",), **settings)


def vectors():
    tools = ScriptedTools(
        vectors={"a": [1, 0], "b": [0.96, 0.28], "c": [0.96, -0.28], "far": [-1, 0], "center": [0, 1]}
    )
    return rows_of(*({"n": n, "t": t} for n, t in enumerate(["a", "b", "c", "far"]))), tools


async def test_outliers_are_those_far_from_the_middle():
    rows, tools = vectors()
    assert await taken(outliers(std=1.5), rows, tools) == [0, 1, 2]
    assert await taken(outliers(std=1.5, keep=True), rows, tools) == [3]
    assert await taken(outliers(outliers=1, keep=True), rows, tools) == [3]
    assert await taken(outliers(outliers=0.5), rows, tools) == [0, 2]


async def test_outliers_around_a_center_of_one_s_own():
    rows, tools = vectors()
    # Squared distances from (0, 1): a 2, b 1.44, c 2.56, far 2.
    assert await taken(outliers(outliers=1, keep=True, center={"t": "center"}), rows, tools) == [2]
    assert await taken(outliers(outliers=3, center={"t": "center"}), rows, tools) == [1]


async def test_custom_and_a_center_may_hold_lists_and_dictionaries():
    rows = rows_of({"n": 0, "t": {"a": [1, {"b": 2}]}}, {"n": 1, "t": ["x"]}, {"n": 2, "t": "x"})
    assert await taken(sample("custom", samples=({"t": {"a": [1, {"b": 2}]}}, {"t": ["x"]})), rows) == [0, 1]
    with pytest.raises(PipelineError, match=r'no row has the values \{"t":\{"a":\[2\]\}\}'):
        await run(sample("custom", samples=({"t": {"a": [2]}},)), rows)
    tools = ScriptedTools(vectors={'{"a":[1,{"b":2}]}': [1, 0], '["x"]': [0, 1], "x": [1, 0.1]})
    node = outliers(outliers=1, keep=True, center={"t": {"a": [1, {"b": 2}]}})
    assert await taken(node, rows, tools) == [1]


def ranked(method, **settings):
    query = settings.pop("query", "refund now")
    return sample(method, keys=("subject", "body"), query=template(query), **settings)


LETTERS = [
    {"n": 0, "subject": "Hello", "body": "how are you"},
    {"n": 1, "subject": "Refund", "body": "I want a refund now"},
    {"n": 2, "subject": None, "body": "the refund came"},
    {"n": 3},
]


async def test_top_fts_puts_the_best_first_with_rank_and_score():
    outcome = await run(ranked("top_fts", samples=2), rows_of(*LETTERS))
    values = values_of(outcome)
    assert [(v["n"], v["_some_rank"]) for v in values] == [(1, 1), (2, 2)]
    assert values[0]["_some_score"] > values[1]["_some_score"] > 0
    assert len(outcome.rejected) == 2


async def test_a_query_is_filled_in_from_the_first_row_of_each_group():
    rows = rows_of(
        {"n": 0, "g": 1, "q": "dog", "body": "cat"},
        {"n": 1, "g": 1, "q": "", "body": "dog"},
        {"n": 2, "g": 2, "q": "cat", "body": "dog"},
        {"n": 3, "g": 2, "q": "", "body": "cat"},
    )
    node = ranked("top_fts", query="{{ input.q }}", samples=1, stratify_key=("g",), samples_per_group=True)
    assert await taken(node, rows) == [1, 3]


async def test_a_group_whose_query_cannot_be_filled_in_fails_alone():
    rows = rows_of({"n": 0, "g": 1}, {"n": 1, "g": 1, "q": "dog"}, {"n": 2, "g": 2, "q": "cat", "body": "cat"})
    node = ranked("top_fts", query="{{ input.q }}", samples=1, stratify_key=("g",), samples_per_group=True)
    outcome = await run(node, rows)
    assert [row["n"] for row in values_of(outcome)] == [2]
    assert [f.row for f in outcome.failed] == rows[:2]
    assert "there is no field 'q'" in outcome.failed[0].error


async def test_top_embedding_compares_with_the_query():
    tools = ScriptedTools(
        vectors={"refund now": [1, 0], "Hello how are you": [0, 1], "Refund I want a refund now": [1, 0],
                 "the refund came": [0.6, 0.8], "": [-1, 0]}
    )  # fmt: skip
    outcome = await run(ranked("top_embedding", samples=0.5), rows_of(*LETTERS), tools)
    assert [(v["n"], v["_some_rank"], round(v["_some_score"], 3)) for v in values_of(outcome)] == [
        (1, 1, 1.0),
        (2, 2, 0.6),
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "uniform"}, "method uniform needs samples"),
        ({"samples": 0}, "samples is a number of rows from 1, or a fraction"),
        ({"samples": -1}, "not -1"),
        ({"samples": 1.5}, "not 1.5"),
        ({"samples": 0.0}, "not 0.0"),
        ({"samples": True}, "not True"),
        ({"samples": ({"id": 1},)}, "samples is a number of rows"),
        ({"method": "custom", "samples": 3}, "method custom needs samples, a list"),
        ({"method": "custom", "samples": ()}, "a list of what to look for"),
        ({"method": "custom", "samples": ({},)}, "a list of what to look for"),
        ({"method": "custom", "samples": ({"a": 1},), "stratify_key": ("k",)}, "custom cannot be stratified"),
        ({"samples": 3, "samples_per_group": True}, "samples_per_group needs stratify_key"),
        ({"samples": 3, "random_state": -1}, "random_state is -1"),
        ({"method": "first", "samples": 3, "weight": "size"}, "weight belongs to method uniform"),
        ({"samples": 3, "std": 2.0}, "belong to method outliers"),
        ({"samples": 3, "keys": ("a",)}, "belong to top_embedding and top_fts"),
        ({"method": "top_fts", "samples": 3}, "method top_fts needs keys and query"),
        ({"method": "outliers", "std": 1.0}, "needs embedding_keys"),
        ({"method": "outliers", "embedding_keys": ("a",)}, "needs either std or samples"),
        ({"method": "outliers", "embedding_keys": ("a",), "std": 1.0, "outliers": 3}, "needs either std or samples"),
        ({"method": "outliers", "embedding_keys": ("a",), "std": 0.0}, "std must be above 0"),
        ({"method": "outliers", "embedding_keys": ("a",), "std": 1.0, "samples": 3}, "takes its number from"),
        ({"method": "outliers", "embedding_keys": ("a", "b"), "std": 1.0, "center": {"a": "x"}}, "center lacks b"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        Sample(name="some", **{"method": "uniform", **settings})


def test_traits():
    assert sample("outliers", embedding_keys=("t",), std=1.0).traits().embeds
    traits = ranked("top_fts", samples=1, query="{{ input.q }}", stratify_key=("g",)).traits()
    assert traits.reads == {"subject", "body", "q", "g"}
    assert traits.writes == {"_some_rank", "_some_score"}
    assert not traits.row_local


@given(st.integers(0, 60), st.lists(st.integers(1, 20), min_size=1, max_size=8))
def test_shares_add_up_and_are_within_one_of_the_proportion(count, sizes):
    found = shares(count, sizes)
    assert sum(found) == min(count, sum(sizes))
    assert all(0 <= f <= size for f, size in zip(found, sizes, strict=True))
    if count <= sum(sizes):
        assert all(abs(f - count * size / sum(sizes)) < 1 for f, size in zip(found, sizes, strict=True))


@given(st.lists(st.integers(0, 5), max_size=12), st.integers(0, 12), st.integers(0, 99))
def test_a_draw_by_size_takes_so_many_different_rows(sizes, count, seed):
    rows = rows_of(*({"t": "x" * size} for size in sizes))
    found = draw_by_size(rows, min(count, len(rows)), random.Random(seed))
    assert found == sorted(set(found))
    assert len(found) == min(count, len(rows))
