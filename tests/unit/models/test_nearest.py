"""The nearest of many vectors: by arithmetic on few, against a table of all pairs on many."""

from __future__ import annotations

import errno
import math
import os

import numpy as np
import pytest

from models import matrices, nearest
from models.matrices import new_matrix
from models.nearest import TARGET_RECALL, ClusteredIndex, ExactSearch, is_worthwhile, nearest_exact, prepare_search


def on_circle(*degrees):
    points = [[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees]
    return np.array(points, np.float32).reshape(-1, 2)


def drawn(count, seed=0, around=40, width=0.5):
    generator = np.random.default_rng(seed)
    middles = np.random.default_rng(99).standard_normal((around, 16))
    vectors = middles[generator.integers(around, size=count)] + width * generator.standard_normal((count, 16))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def of_table(queries, vectors, k):
    table = queries @ vectors.T
    return np.argsort(-table, axis=1, kind="stable")[:, :k]


def test_the_nearest_come_first():
    found = nearest_exact(on_circle(0, 100), on_circle(90, 10, -30), 2)
    assert found.indices.tolist() == [[1, 2], [0, 1]]
    assert found.cosines[0] == pytest.approx([math.cos(math.radians(10)), math.cos(math.radians(30))])


def test_of_equal_ones_the_first_comes_first_and_too_few_are_filled_up():
    vectors = np.concatenate([on_circle(90, 0, 0), np.zeros((1, 2), np.float32), on_circle(0)])
    assert nearest_exact(on_circle(0), vectors, 2).indices.tolist() == [[1, 2]]
    assert nearest_exact(on_circle(0), vectors, 9).indices.tolist() == [[1, 2, 4, 0, *[-1] * 5]]
    assert nearest_exact(np.zeros((1, 2), np.float32), vectors, 2).indices.tolist() == [[-1, -1]]


@pytest.mark.parametrize(("queries", "vectors"), [(0, 3), (3, 0), (0, 0)])
def test_nothing_to_search(queries, vectors):
    found = nearest_exact(on_circle(*range(queries)), on_circle(*range(vectors)), 2)
    assert found.indices.tolist() == [[-1, -1]] * queries


@pytest.mark.parametrize("k", [1, 3, 40])
def test_blocks_change_nothing(monkeypatch, k):
    monkeypatch.setattr(nearest, "ROWS", 7)
    monkeypatch.setattr(nearest, "COLUMNS", 13)
    queries, vectors = drawn(50, 1), drawn(200, 2)
    assert np.array_equal(nearest_exact(queries, vectors, k).indices, of_table(queries, vectors, k))
    ascending = vectors[np.argsort(vectors @ queries[0])]  # each block is better than the last
    found = nearest_exact(queries[:1], ascending, k).indices
    assert np.array_equal(found, of_table(queries[:1], ascending, k))


def test_an_index_finds_what_it_says():
    vectors, queries = drawn(3000, 1), drawn(300, 2)
    index = ClusteredIndex(vectors, lists=100)
    recall = index.tune(queries, 10)
    assert recall is not None
    found, true = index.search(queries, 10).indices, of_table(queries, vectors, 10)
    shared = sum(len(set(a) & set(b)) for a, b in zip(found.tolist(), true.tolist(), strict=True)) / true.size
    assert TARGET_RECALL <= recall <= 1
    assert abs(shared - recall) < 0.02
    twin = ClusteredIndex(vectors, lists=100)
    twin.tune(queries, 10)
    assert np.array_equal(found, twin.search(queries, 10).indices)


def test_the_cosines_of_an_index_are_exact_and_its_neighbours_distinct():
    vectors, queries = drawn(2000, 1), drawn(50, 2)
    found = ClusteredIndex(vectors, lists=60).search(queries, 5)
    for query, places, cosines in zip(queries, found.indices, found.cosines, strict=True):
        assert len(set(places.tolist())) == 5
        assert cosines == pytest.approx(vectors[places] @ query, abs=1e-6)


def test_an_index_of_equal_or_empty_vectors_still_answers():
    same = np.repeat(on_circle(10), 500, axis=0)
    same[0] = 0
    index = ClusteredIndex(same, lists=20)
    index.probes = 20
    found = index.search(on_circle(10), 500)
    assert sorted(found.indices[0].tolist()) == [-1, *range(1, 500)]
    assert found.cosines[0, :499] == pytest.approx(np.ones(499), abs=1e-6)


def test_vectors_without_any_order_are_searched_exactly(monkeypatch):
    monkeypatch.setattr(nearest, "EXACT_UP_TO", 100)
    monkeypatch.setattr(nearest, "is_worthwhile", lambda queries, vectors: True)
    noise = np.random.default_rng(0).standard_normal((2000, 100)).astype(np.float32)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    assert isinstance(prepare_search(noise, noise[:50], 10), ExactSearch)
    near = drawn(2000, 1, around=10, width=0.1)
    assert prepare_search(near, near[:50], 1).recall is not None
    assert prepare_search(near, near[:50], 1, exact=True).recall is None
    monkeypatch.setattr(nearest, "EXACT_UP_TO", 2000)
    assert prepare_search(near, near[:50], 1).recall is None


def test_few_queries_are_not_worth_an_index():
    assert not is_worthwhile(100, 1_000_000)
    assert is_worthwhile(100_000, 1_000_000)


def test_a_large_matrix_is_a_file_without_a_name(tmp_path):
    matrix = new_matrix(1000, 10, folder=tmp_path, in_memory_bytes=1000)
    assert isinstance(matrix, np.memmap)
    assert not list(tmp_path.iterdir()) or os.name == "nt"
    assert matrix.shape == (1000, 10)
    assert not matrix.any()
    matrix[999] = 1
    assert matrix.sum() == 10
    assert not isinstance(new_matrix(10, 10, folder=tmp_path, in_memory_bytes=400), np.memmap)


def test_a_full_disk_costs_memory_not_the_process(tmp_path, monkeypatch):
    def full(file, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(matrices, "_fill", full)
    matrix = new_matrix(1000, 10, folder=tmp_path, in_memory_bytes=1000)
    assert not isinstance(matrix, np.memmap)
    assert matrix.shape == (1000, 10)
