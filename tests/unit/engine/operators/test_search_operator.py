import math

import pytest
from scripted_tools import ScriptedTools, rows_of, run, values_of

from engine.errors import PipelineError
from engine.operators.search import Search

ROWS = [
    {"text": "The officer used a baton.", "id": 1},
    {"text": "A parking complaint.", "id": 2},
    {"text": "Force was used, and force again.", "id": 3},
    {"text": "The dog was found.", "id": 4},
    {"text": "Noise at night.", "id": 5},
    {"text": "Lost keys.", "id": 6},
]
DEGREES = dict(zip([row["text"] for row in ROWS], (10, 120, 30, 100, 140, 160), strict=True)) | {"use of force": 0}


def search(**settings):
    return Search(name="find", **{"query": "use of force", "keys": ("text",), **settings})


def tools():
    return ScriptedTools(
        vectors={t: [math.cos(math.radians(d)), math.sin(math.radians(d))] for t, d in DEGREES.items()}
    )


async def ids(node, rows=ROWS):
    return [row["id"] for row in values_of(await run(node, rows_of(*rows), tools()))]


async def test_full_text_keeps_rows_that_share_words_with_the_query():
    # Two words of row 3 (use, force) are in the query, one of row 1 (use).
    assert await ids(search(mode="fts")) == [3, 1]
    outcome = await run(search(mode="fts", top_k=1), rows_of(*ROWS), tools())
    reasons = {r.row.values["id"]: r.reason for r in outcome.rejected}
    assert reasons[1].startswith("search find: not among the top 1 for 'use of force': rank 2, score ")
    assert reasons[2] == "search find: it has no word of 'use of force'"


async def test_embeddings_rank_by_meaning():
    assert await ids(search(mode="embedding", top_k=3)) == [1, 3, 4]
    outcome = await run(search(mode="embedding", top_k=1, score_key="score"), rows_of(*ROWS), tools())
    assert values_of(outcome) == [{**ROWS[0], "score": pytest.approx(math.cos(math.radians(10)))}]


async def test_hybrid_adds_both_rankings():
    # Row 3 is first and second, row 1 second and first; then the others by embedding alone.
    assert sorted(await ids(search(top_k=2))) == [1, 3]
    outcome = await run(search(top_k=3, score_key="s"), rows_of(*ROWS), tools())
    assert [row["s"] for row in values_of(outcome)] == pytest.approx([1 / 61 + 1 / 62, 1 / 61 + 1 / 62, 1 / 63])


async def test_rows_without_text_are_no_answer():
    rows = [{"text": None, "id": 1}, {"text": "", "id": 2}, {"id": 3}, ROWS[0] | {"id": 4}]
    for mode in ("fts", "embedding", "hybrid"):
        outcome = await run(search(mode=mode), rows_of(*rows), tools())
        assert [r.reason for r in outcome.rejected][:3] == ["search find: it has no text to search"] * 3
        assert [row["id"] for row in values_of(outcome)] == [4]


async def test_all_fields_are_searched_where_no_keys_are_given():
    rows = [{"a": "x", "b": "force"}, {"a": "y", "b": "z"}, {"a": "q", "b": "r"}]
    outcome = await run(search(keys=(), mode="fts"), rows_of(*rows))
    assert values_of(outcome) == [rows[0]]


async def test_nothing_to_search():
    for mode in ("fts", "embedding", "hybrid"):
        assert (await run(search(mode=mode), [], tools())).rows == []
        assert len((await run(search(mode=mode), rows_of({"text": ""}), tools())).rejected) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"query": " "}, "query is empty"),
        ({"top_k": 0}, "top_k must be at least 1"),
        ({"score_key": ""}, "score_key is"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        search(**settings)


def test_it_asks_no_model_and_needs_embeddings_unless_full_text():
    assert not search().traits().calls_model
    assert search().traits().embeds
    assert not search(mode="fts").traits().embeds
