import math

import numpy as np
import pytest
from scripted_tools import ScriptedTools, rows_of, run, values_of

from engine.errors import PipelineError
from engine.operators.dedup import LETTERS, LOOK_AHEAD, SKETCH, Dedup, ShingleIndex, shingles, signature, similarity

LETTER = "The officer stated that he did not see the complainant fall down the stairs of the station house."


def dedup(**settings):
    return Dedup(name="d", **settings)


def texts(*values):
    return rows_of(*({"text": v} for v in values))


async def kept(node, *values, tools=None):
    return [row["text"] for row in values_of(await run(node, texts(*values), tools))]


def jaccard(one, other):
    """Two texts' shared part of all their 5-letter pieces, by the definition."""
    a, b = ({t[i : i + LETTERS] for i in range(len(t) - LETTERS + 1)} for t in (one, other))
    return len(a & b) / len(a | b)


# Shingles


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LETTER, LETTER.lower()),
        (LETTER, LETTER + " Signed."),
        (LETTER, LETTER.replace("fall", "trip")),
        ("abcdef", "abcdeg"),
        (LETTER, "x" * 50),
    ],
)
def test_similarity_is_the_jaccard_similarity_of_the_shingles(one, other):
    assert similarity(shingles(one), shingles(other)) == pytest.approx(jaccard(one.lower(), other.lower()))


def test_case_and_white_space_do_not_count():
    assert similarity(shingles("A  b\nc d e"), shingles("a b c d E ")) == 1.0


def test_an_accent_may_be_a_character_of_its_own():
    assert similarity(shingles("Jos\u00e9 D\u00edaz"), shingles("Jose\u0301 Di\u0301az")) == 1.0


def test_texts_shorter_than_a_shingle_are_compared_whole():
    assert similarity(shingles("ab"), shingles("AB")) == 1.0
    assert similarity(shingles("ab"), shingles("abc")) == 0.0


def test_of_long_texts_the_similarity_is_estimated():
    random = np.random.default_rng(0)
    letters = "".join(random.choice(list("abcdefghijklmnopqrstuvwxyz"), 40_000))
    for part in (0.5, 0.8, 0.95):
        other = letters[: int(40_000 * part)] + "".join(random.choice(list("0123456789"), 40_000 - int(40_000 * part)))
        one, two = shingles(letters)[:SKETCH], shingles(other)[:SKETCH]
        assert similarity(one, two) == pytest.approx(jaccard(letters, other), abs=0.05)


def test_a_signature_holds_the_lowest_hash_of_each_bin():
    hashes = np.array([5, 7, (1 << 57) + 300, (127 << 57) + 0x1FFFF], np.uint64)
    found = signature(hashes)
    assert (found[0], found[1], found[127]) == (5, 300, 0xFFFF)
    assert np.count_nonzero(found) == 3


def test_the_most_similar_text_is_found_and_of_equal_ones_the_first():
    given = [LETTER + " One.", LETTER + " Two.", LETTER + " Two!", "else", LETTER + " Two."]
    index = ShingleIndex(given, 0.8)
    for item in (0, 1, 2, 3):
        index.add(item)
    assert index.find(4) == (1, 1.0)
    assert ShingleIndex(given, 0.8).find(4) is None


# The operator


async def test_near_duplicates_are_dropped_and_the_first_kept():
    rows = texts(LETTER, "Another letter altogether, about parking.", LETTER.replace("fall", "fell"), LETTER.upper())
    outcome = await run(dedup(), rows)
    assert values_of(outcome) == [{"text": LETTER}, {"text": "Another letter altogether, about parking."}]
    score = jaccard(LETTER.lower(), LETTER.replace("fall", "fell").lower())
    assert score >= 0.8
    assert [(r.row, r.reason) for r in outcome.rejected] == [
        (rows[2], f"dedup d: duplicate of row {rows[0].id} (similarity {score:.2f})"),
        (rows[3], f"dedup d: duplicate of row {rows[0].id} (similarity 1.00)"),
    ]
    assert outcome.rows[0].parents == (rows[0].id,)


async def test_the_threshold_decides():
    other = LETTER.replace("fall", "fell")
    score = jaccard(LETTER.lower(), other.lower())
    assert len(await kept(dedup(text_threshold=score - 0.001), LETTER, other)) == 1
    assert len(await kept(dedup(text_threshold=score + 0.001), LETTER, other)) == 2


async def test_the_longest_may_be_kept_in_its_place():
    longer = LETTER + " Signed."
    assert await kept(dedup(keep="longest"), LETTER, "Parking on the left side.", longer) == [
        "Parking on the left side.",
        longer,
    ]


async def test_a_count_says_for_how_many_rows_one_stands():
    outcome = await run(dedup(count_key="copies"), texts(LETTER, "x", LETTER, LETTER.lower()))
    assert values_of(outcome) == [{"text": LETTER, "copies": 3}, {"text": "x", "copies": 1}]


async def test_a_chain_of_likeness_does_not_drop_what_is_unlike_the_row_that_is_kept():
    chain = ["abcdefghijklmnopqrst", "efghijklmnopqrstuvwx", "ijklmnopqrstuvwxyz01"]
    assert jaccard(chain[0], chain[1]) == jaccard(chain[1], chain[2]) == 12 / 20
    assert jaccard(chain[0], chain[2]) == 8 / 24
    assert await kept(dedup(text_threshold=0.6), *chain) == [chain[0], chain[2]]


async def test_keys_choose_what_is_compared():
    rows = rows_of({"id": 1, "text": LETTER}, {"id": 2, "text": LETTER}, {"id": 2, "text": "x"})
    assert [r["id"] for r in values_of(await run(dedup(keys=("text",)), rows))] == [1, 2]
    assert len((await run(dedup(), rows_of({"id": "a"}, {"id": "b"}, {"id": "a"}))).rows) == 2


async def test_rows_without_text_are_kept():
    rows = rows_of({"text": None}, {"text": ""}, {"other": 1}, {"text": " \n"}, {"text": []})
    assert len((await run(dedup(keys=("text",)), rows)).rows) == 5
    assert (await run(dedup(), [])).rows == []


async def test_strange_texts():
    assert await kept(dedup(), "\ud800", "\ud800", "😀😀😀😀😀😀", "😀😀😀😀😀😀", "ﬁ", "\x00") == [
        "\ud800",
        "😀😀😀😀😀😀",
        "ﬁ",
        "\x00",
    ]


def circle(**degrees):
    return ScriptedTools(
        vectors={w: [math.cos(math.radians(d)), math.sin(math.radians(d))] for w, d in degrees.items()}
    )


async def test_by_embeddings():
    tools = circle(cat=0, dog=90, feline=10, kitten=20, hound=85)
    node = dedup(embedding_threshold=0.98)  # cos 11.5 degrees
    outcome = await run(node, texts("cat", "dog", "feline", "kitten", "hound"), tools)
    assert [row["text"] for row in values_of(outcome)] == ["cat", "dog", "kitten"]
    assert [r.reason.split("(")[1] for r in outcome.rejected] == ["similarity 0.98)", "similarity 1.00)"]
    assert tools.requests == []


async def test_by_text_or_embeddings():
    tools = circle(**{"cat": 0, "feline": 1, LETTER: 90, LETTER.upper(): 180})
    node = dedup(embedding_threshold=0.98, text_threshold=0.9)
    assert await kept(node, "cat", LETTER, "feline", LETTER.upper(), tools=tools) == ["cat", LETTER]


async def test_embeddings_of_more_rows_than_are_looked_up_at_once():
    count = LOOK_AHEAD * 2 + 3
    tools = circle(**{f"w{i}": (i // 2) * 360 / count for i in range(count)})
    outcome = await run(dedup(embedding_threshold=0.99999), texts(*(f"w{i}" for i in range(count))), tools)
    assert [row["text"] for row in values_of(outcome)] == [f"w{i}" for i in range(0, count, 2)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"text_threshold": 0.0}, "text_threshold must be above 0 and at most 1, not 0"),
        ({"embedding_threshold": 1.1}, "embedding_threshold must be above 0"),
        ({"count_key": ""}, "count_key is empty"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        dedup(**settings)


def test_it_needs_embeddings_only_if_told_so():
    assert not dedup().traits().embeds
    assert dedup(embedding_threshold=0.9).traits().embeds
    assert dedup().traits().reads_unknown
    assert dedup(keys=("text",)).traits().reads == {"text"}
