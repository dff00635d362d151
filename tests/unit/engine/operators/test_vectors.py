from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_tools import ScriptedTools

from engine.operators.packing import pack
from engine.operators.vectors import PIECE_BYTES, embed_whole, pieces, representatives, text_to_embed


@given(st.text(max_size=300).map(lambda t: t * 7))
def test_pieces_join_to_the_text_and_are_short(text):
    cut = list(pieces(text))
    assert "".join(cut) == text
    assert max(len(piece.encode(errors="replace")) for piece in cut) <= PIECE_BYTES
    assert len(cut) == 1 or all(cut)


def test_pieces_are_cut_at_white_space():
    assert {len(piece) for piece in pieces("officer " * 1000)} == {744, 8000 % 744}  # 93 words of 8 characters


async def test_a_long_text_has_the_mean_of_its_pieces_by_length():
    long, short = "a" * 186 + " ", "b" * 186 + " "
    text = long * 4 + short  # 748 bytes of one, then 187 of the other: 4 to 1
    assert [len(piece) for piece in pieces(text)] == [748, 187]
    tools = ScriptedTools(vectors={long * 4: [1, 0], short: [0, 1], "c": [0.6, 0.8]})
    vectors = await embed_whole([text, "c"], tools)
    assert vectors == pytest.approx(np.array([[4, 1], [0.6 * 17**0.5, 0.8 * 17**0.5]]) / 17**0.5)


async def test_nothing_and_no_text():
    assert len(await embed_whole([], ScriptedTools())) == 0
    assert list(pieces("")) == [""]


def test_the_text_of_a_row():
    values = {"a": "x", "b": None, "c": [1, "ü"], "d": 2.5}
    assert text_to_embed(values, ("c", "b", "a", "z")) == '[1,"ü"] x'
    assert text_to_embed(values, ()) == 'x [1,"ü"] 2.5'


def test_representatives_stand_for_each_group_and_repeat():
    generator = np.random.default_rng(1)
    middles = np.eye(5, 8)
    vectors = np.concatenate([m + generator.normal(scale=0.02, size=(20, 8)) for m in middles]).astype(np.float32)
    for seed in range(5):
        chosen = representatives(vectors, 5, seed)
        assert [i // 20 for i in chosen] == [0, 1, 2, 3, 4]
        assert representatives(vectors, 5, seed) == chosen


def test_representatives_of_few_different_vectors_are_those_and_the_first_others():
    vectors = np.array([[1, 0], [1, 0], [0, 1], [1, 0]], np.float32)
    assert representatives(vectors, 2, 0) == [0, 2]
    assert representatives(vectors, 3, 0) == [0, 1, 2]
    assert representatives(vectors, 4, 0) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("sizes", "room", "most", "batches"),
    [
        ([], 10, None, []),
        ([5, 5, 5], 10, None, [(0, 2), (2, 3)]),
        ([1] * 7, 10, 3, [(0, 3), (3, 6), (6, 7)]),
        ([99, 1, 1], 10, None, [(0, 1), (1, 3)]),
    ],
)
def test_pack(sizes, room, most, batches):
    assert pack(len(sizes), lambda start, stop: sum(sizes[start:stop]) <= room, most) == batches
