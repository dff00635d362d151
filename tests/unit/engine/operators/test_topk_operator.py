"""topk: the best rows by words, by meaning, or as the model compares them."""

from __future__ import annotations

import asyncio

import pytest
from scripted_tools import ScriptedTools, rows_of, run, values_of
from test_rank_operator import by_loudness

from engine.errors import PipelineError
from engine.language.templates import Template
from engine.operators.running import run_operator
from engine.operators.topk import TopK
from models.errors import ModelMissing

TICKETS = rows_of(
    {"subject": "refund refused", "team": "billing"},
    {"subject": "screen stays black", "team": "hardware"},
    {"subject": "refund late, refund wrong", "team": "billing"},
    {"subject": "black spots on the screen", "team": "hardware"},
)


def topk(**changes):
    given = {"name": "t", "method": "fts", "k": 2, "keys": ("subject",), "query": "refund", **changes}
    return TopK(**{**given, "query": Template(given["query"])})


def subjects(outcome):
    return [row["subject"] for row in values_of(outcome)]


async def test_the_rows_with_the_words_are_kept_the_others_rejected_with_the_reason():
    outcome = await run(topk(), TICKETS, ScriptedTools())
    assert set(subjects(outcome)) == {"refund refused", "refund late, refund wrong"}
    assert [r.row.values["subject"] for r in outcome.rejected] == ["screen stays black", "black spots on the screen"]
    assert "not among the 2 best of 4" in outcome.rejected[0].reason
    assert [row["_t_rank"] for row in values_of(outcome)] == [1, 2]


async def test_k_below_1_is_a_share():
    assert len((await run(topk(k=0.5), TICKETS, ScriptedTools())).rows) == 2
    assert len((await run(topk(k=0.01), TICKETS, ScriptedTools())).rows) == 1
    assert topk(k=0.29).count(100) == 29  # 0.29 * 100 is a little less


async def test_more_than_there_are_keeps_all():
    outcome = await run(topk(k=10), TICKETS, ScriptedTools())
    assert len(outcome.rows) == 4 and not outcome.rejected


async def test_k_rows_are_kept_of_each_group():
    outcome = await run(topk(k=1, query="screen refund", stratify_key=("team",)), TICKETS, ScriptedTools())
    assert [row["team"] for row in values_of(outcome)] == ["billing", "hardware"]


async def test_rows_with_one_query_compete():
    rows = rows_of(
        {"subject": "a dog", "question": "dog"},
        {"subject": "a cat", "question": "dog"},
        {"subject": "a dog", "question": "cat"},
        {"subject": "a cat", "question": "cat"},
    )
    outcome = await run(topk(k=1, query="{{ input.question }}"), rows, ScriptedTools())
    assert [(row["question"], row["subject"]) for row in values_of(outcome)] == [("dog", "a dog"), ("cat", "a cat")]


async def test_meaning_is_the_cosine_of_query_and_row():
    vectors = {"loud": [1, 0], "subject: a": [0.6, 0.8], "subject: b": [0.8, 0.6], "subject: c": [0, 1]}
    rows = rows_of({"subject": "a"}, {"subject": "b"}, {"subject": "c"})
    outcome = await run(topk(method="embedding", query="loud"), rows, ScriptedTools(vectors=vectors))
    assert [(row["subject"], row["_t_score"]) for row in values_of(outcome)] == [("b", 0.8), ("a", 0.6)]


async def test_the_model_compares():
    rows = rows_of({"subject": "a!"}, {"subject": "b!!!"}, {"subject": "c"})
    vectors = {"loud": [1, 0], **{f"subject: {r.values['subject']}": [0, 1] for r in rows}}
    tools = ScriptedTools(by_loudness, vectors=vectors)
    outcome = await run(topk(method="llm_compare", query="loud", k=1), rows, tools)
    assert subjects(outcome) == ["b!!!"]
    assert len(outcome.rejected) == 2


async def test_the_model_compares_what_keys_a_row_has():
    rows = rows_of({"subject": "a!"}, {"body": "b!!!"}, {"other": "c!!"})
    vectors = {"loud": [1, 0], "subject: a!": [0, 1], "body: b!!!": [0, 1]}
    node = topk(method="llm_compare", query="loud", k=1, keys=("subject", "body"))
    outcome = await run(node, rows, ScriptedTools(by_loudness, vectors=vectors))
    assert [row["body"] for row in values_of(outcome)] == ["b!!!"]
    assert [r.row for r in outcome.rejected] == rows[:1]
    assert [f.row for f in outcome.failed] == rows[2:]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 2.5}, "k must be"),
        ({"keys": ()}, "keys names no field"),
        ({"query": " "}, "query is empty"),
        ({"method": "llm_compare", "query": "{{ input.q }}"}, "one criterion must hold"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, told):
    with pytest.raises(PipelineError, match=told):
        topk(**changes)


async def test_a_row_without_the_field_fails():
    outcome = await run(topk(), rows_of({"subject": "refund"}, {"title": "x"}), ScriptedTools())
    assert len(outcome.rows) == 1
    assert "there is no field 'subject'" in outcome.failed[0].error


async def test_a_row_without_the_key_of_the_groups_fails_alone():
    rows = rows_of({"subject": "refund", "team": "billing"}, {"subject": "refund"})
    outcome = await run(topk(stratify_key=("team",)), rows, ScriptedTools())
    assert len(outcome.rows) == 1
    assert "there is no field 'team'" in outcome.failed[0].error


async def test_no_rows_give_no_rows():
    assert not (await run(topk(), [], ScriptedTools())).rows


async def test_of_several_keys_a_row_may_lack_some_but_not_all():
    rows = rows_of({"subject": "refund late"}, {"body": "refund refused"}, {"other": "refund"})
    outcome = await run(topk(k=5, keys=("subject", "body")), rows, ScriptedTools())
    assert {row.get("subject") or row.get("body") for row in values_of(outcome)} == {"refund late", "refund refused"}
    assert ["subject" in failed.error for failed in outcome.failed] == [True]


async def test_no_group_goes_on_when_the_model_of_one_is_missing():
    """What went on would ask a model that is being closed."""
    ended = []

    class Tools(ScriptedTools):
        async def embed(self, texts):
            if any("first" in text for text in texts):
                raise ModelMissing("there is no model 'minilm'")
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(texts)

    rows = rows_of({"text": "second", "kind": "b"}, {"text": "first", "kind": "a"})
    node = topk(method="embedding", query="loud", k=1, keys=("text",), stratify_key=("kind",))
    with pytest.raises(ModelMissing):
        await run_operator(node, rows, Tools())
    assert ended
