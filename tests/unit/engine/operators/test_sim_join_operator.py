import math

import pytest
from join_rows import join, reasons, side
from scripted_tools import ScriptedTools, values_of

import models.nearest
from engine.errors import PipelineError
from engine.operators.sim_join import SimJoin
from models.nearest import ROWS

DEGREES = {"cat": 0, "kitten": 30, "dog": 90, "puppy": 80, "feline": 10, "canine": 95}


def tools(**degrees):
    return ScriptedTools(
        vectors={w: [math.cos(math.radians(d)), math.sin(math.radians(d))] for w, d in (DEGREES | degrees).items()}
    )


def sim_join(**settings):
    return SimJoin(name="near", **{"left_key": "animal", "right_key": "word", **settings})


ANIMALS = [{"animal": "cat"}, {"animal": "dog"}]
WORDS = [{"word": w} for w in ("kitten", "puppy", "feline", "canine")]


async def test_each_left_row_gets_its_nearest_right_row():
    lefts, rights = side("l", *ANIMALS), side("r", *WORDS)
    given = tools()
    outcome = await join(sim_join(), lefts, rights, given)
    assert values_of(outcome) == [
        {"animal": "cat", "word": "feline", "similarity": pytest.approx(math.cos(math.radians(10)), abs=1e-4)},
        {"animal": "dog", "word": "canine", "similarity": pytest.approx(math.cos(math.radians(5)), abs=1e-4)},
    ]
    assert [row.parents for row in outcome.rows] == [(lefts[0].id, rights[2].id), (lefts[1].id, rights[3].id)]
    assert given.requests == []
    assert reasons(outcome)[0] == ({"word": "kitten"}, "sim_join near: not among the 1 most similar of any left row")


async def test_k_rows_best_first():
    outcome = await join(sim_join(k=3, score_key="cosine"), ANIMALS[:1], WORDS, tools())
    assert [row["word"] for row in values_of(outcome)] == ["feline", "kitten", "puppy"]
    assert "cosine" in values_of(outcome)[0]
    assert len((await join(sim_join(k=9), ANIMALS, WORDS, tools())).rows) == 8


async def test_what_is_not_similar_enough_is_no_match():
    node = sim_join(k=4, min_similarity=0.9)  # cos 25.8 degrees
    outcome = await join(node, [*ANIMALS, {"animal": "fish"}], WORDS, tools(fish=180))
    assert [row["word"] for row in values_of(outcome)] == ["feline", "canine", "puppy"]
    assert ({"animal": "fish"}, "sim_join near: none of 4 right rows is similar enough") in reasons(outcome)
    kept = await join(sim_join(min_similarity=0.9, how="left"), [{"animal": "fish"}], WORDS, tools(fish=180))
    assert values_of(kept) == [{"animal": "fish", "word": None, "similarity": None}]


@pytest.mark.parametrize("empty", [None, "", "  ", []])
async def test_an_empty_key_is_like_nothing(empty):
    outcome = await join(
        sim_join(), [{"animal": empty}, {"animal": "cat"}], [{"word": empty}, {"word": "dog"}], tools()
    )
    assert [(row["animal"], row["word"]) for row in values_of(outcome)] == [("cat", "dog")]
    assert reasons(outcome) == [
        ({"animal": empty}, "sim_join near: animal is empty"),
        ({"word": empty}, "sim_join near: word is empty"),
    ]


async def test_a_missing_key_or_another_kind_of_value():
    outcome = await join(
        sim_join(), [{"x": 1}, {"animal": ["cat", "dog"]}], [{"word": 7}], tools(**{"cat, dog": 3, "7": 1})
    )
    assert [row["word"] for row in values_of(outcome)] == [7]
    assert len(outcome.rejected) == 1


async def test_empty_sides():
    assert len((await join(sim_join(), [], WORDS, tools())).rejected) == 4
    assert len((await join(sim_join(), ANIMALS, [], tools())).rejected) == 2
    assert (await join(sim_join(), [], [], tools())).rows == []


async def test_equal_scores_take_the_first_and_fields_of_both_sides_two_names():
    node = sim_join(left_key="w", right_key="w")
    outcome = await join(node, [{"w": "cat"}], [{"w": "dog", "n": 1}, {"w": "dog", "n": 2}], tools())
    assert values_of(outcome) == [{"w_left": "cat", "w_right": "dog", "n": 1, "similarity": 0.0}]


async def test_many_rows():
    many = {f"w{i}": i * 360 / (ROWS + 10) for i in range(ROWS + 10)}
    rows = [{"animal": w} for w in many]
    outcome = await join(sim_join(), rows, [{"word": w} for w in many], tools(**many))
    assert all(row["animal"] == row["word"] for row in values_of(outcome))
    assert len(outcome.rows) == ROWS + 10


@pytest.mark.parametrize("exact", [False, True])
async def test_an_index_says_that_it_may_miss_some(monkeypatch, exact):
    monkeypatch.setattr(models.nearest, "EXACT_UP_TO", 100)
    monkeypatch.setattr(models.nearest, "is_worthwhile", lambda queries, vectors: True)
    many = {f"w{i}": i * 360 / 500 for i in range(500)}
    outcome = await join(
        sim_join(exact=exact), [{"animal": w} for w in many], [{"word": w} for w in many], tools(**many)
    )
    assert all(row["animal"] == row["word"] for row in values_of(outcome))
    told = [(d.verdict, d.by, d.detail) for d in outcome.decisions]
    expected = "an index over 500 right rows finds about 100.0% of the most similar ones"
    assert told == ([] if exact else [("approximate", "index", expected)])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"min_similarity": 2.0}, "is a cosine"),
        ({"score_key": ""}, "score_key must not be empty"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        sim_join(**settings)


def test_traits():
    traits = sim_join().traits()
    assert (traits.inputs, traits.reads, traits.reads_right, traits.writes) == (2, {"animal"}, {"word"}, {"similarity"})
    assert traits.embeds
    assert not traits.calls_model
