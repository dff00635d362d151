from __future__ import annotations

import numpy as np
import pytest

from engine.operators.cutting import pack
from engine.operators.vectors import representatives, text_to_embed


def test_the_text_of_a_row():
    values = {"a": "x", "b": None, "c": [1, "ü"], "d": 2.5, "e": [], "f": {}}
    assert text_to_embed(values, ("c", "b", "a", "z")) == "1, ü x"
    assert text_to_embed(values, values) == "x 1, ü 2.5"
    assert text_to_embed(values, ("e", "f")) == ""


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
