import math

import numpy as np
import pytest

from engine.text.ranking import (
    PIECE_CHARACTERS,
    best,
    embed_whole,
    fused,
    pieces,
    rank,
    rank_by_embedding,
    rank_by_text,
    ranks,
)


def embedder(vectors):
    async def embed(texts):
        return np.array([vectors[text] for text in texts], np.float32)

    return embed


def bm25(term_counts, lengths, matching):
    """Okapi BM25 of one word with the constants that SQLite documents: k1 = 1.2, b = 0.75."""
    idf = math.log((len(lengths) - matching + 0.5) / (matching + 0.5))
    mean = sum(lengths) / len(lengths)
    return [
        idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / mean))
        for count, length in zip(term_counts, lengths, strict=True)
    ]


def test_full_text_scores_are_bm25():
    texts = ["force used", "force and force again", "traffic stop", "noise", "parking", "lost dog"]
    assert rank_by_text("force", texts) == pytest.approx(bm25([1, 2, 0, 0, 0, 0], [2, 4, 2, 1, 1, 2], 2), rel=1e-6)


def test_any_word_matches_under_any_case_accent_or_inflection():
    texts = ["Beschwerde über José", "officers complained", "nothing", "nor here", "nor there", "and so on"]
    scores = rank_by_text("JOSE complaining", texts)
    assert [score > 0 for score in scores] == [True, True, False, False, False, False]


@pytest.mark.parametrize("query", ["", "  ", '" OR *', "_", "😀", "\ud800", "text:", "a\x00b"])
def test_a_query_is_never_an_expression(query):
    assert rank_by_text(query, ["one", "two"]) == [0.0, 0.0]


def test_a_query_may_be_a_whole_document():
    query = " ".join(f"word{n}" for n in range(5000))
    assert rank_by_text(query, ["word3", "other", "another"])[0] > 0
    assert rank_by_text("x", []) == []


def test_texts_may_hold_what_sqlite_refuses():
    assert rank_by_text("dog", ["dog \ud800", "cat\x00", "", "bird"])[0] > 0


async def test_embedding_scores_are_cosines():
    embed = embedder({"q": [1, 0], "same": [1, 0], "near": [0.6, 0.8], "other": [0, 1]})
    assert await rank_by_embedding("q", ["near", "same", "other"], embed) == pytest.approx([0.6, 1, 0])
    assert await rank_by_embedding("q", [], embed) == []


async def test_a_long_text_scores_by_its_best_piece():
    head, tail = "a" * (PIECE_CHARACTERS - 1) + " ", "tail"
    embed = embedder({"q": [1, 0], head: [0, 1], tail: [1, 0], "x": [0.6, 0.8]})
    assert await rank_by_embedding("q", [head + tail, "x"], embed) == pytest.approx([1, 0.6])


async def test_a_long_text_has_the_mean_direction_of_its_pieces():
    head, tail = "a" * (PIECE_CHARACTERS - 1) + " ", "tail"
    vectors = await embed_whole(["x", head + tail], embedder({head: [0, 1], tail: [1, 0], "x": [0.6, 0.8]}))
    assert vectors == pytest.approx(np.array([[0.6, 0.8], [math.sqrt(0.5), math.sqrt(0.5)]]))


@pytest.mark.parametrize("text", ["", "short", "word " * 700, "x" * 2000, "ü\n" * 1000 + "end", " " * 3000])
def test_pieces_leave_nothing_out_but_white_space(text):
    cut = pieces(text)
    assert cut
    assert all(0 < len(piece) <= PIECE_CHARACTERS for piece in cut) or cut == [""]
    assert "".join(cut).split() == text.split()


def test_fusion_adds_reciprocal_ranks():
    # Text: first, none, second. Embedding: second, first, third.
    assert fused([3.0, 0.0, 1.0], [0.5, 0.9, 0.1]) == pytest.approx([1 / 61 + 1 / 62, 1 / 61, 1 / 62 + 1 / 63])
    assert fused([], []) == []


def test_equal_scores_share_a_rank_and_the_first_comes_first():
    assert ranks([1.0, 2.0, 1.0, 0.0]) == [2, 1, 2, 4]
    assert best([1.0, 2.0, 1.0, 0.0], 2) == [1, 0]
    assert best([1.0], 0) == []


async def test_rank_chooses_the_method():
    embed = embedder({"dog": [1, 0], "a dog": [0, 1], "a hound": [0.8, 0.6], "cat": [0.6, 0.8]})
    texts = ["a dog", "a hound", "cat"]
    by_text, by_embedding, both = [await rank(method, "dog", texts, embed) for method in ("fts", "embedding", "hybrid")]
    assert [best(scores, 1) for scores in (by_text, by_embedding, both)] == [[0], [1], [0]]
