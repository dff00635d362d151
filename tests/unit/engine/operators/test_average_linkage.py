import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from engine.operators.average_linkage import average_linkage
from engine.operators.union_find import UnionFind


def unit(*angles):
    return np.array([[np.cos(a), np.sin(a)] for a in np.radians(angles)], np.float32)


def joined(vectors, at_least, clusters=None):
    """The clusters after all joins, each sorted."""
    clusters = clusters or UnionFind(len(vectors))
    for join in list(average_linkage(vectors, clusters, at_least)):
        assert clusters.join(join.left, join.right)
    return clusters.clusters()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("at_least", [-0.1, 0.1, 0.3, 0.6])
def test_it_groups_as_scipy_does(seed, at_least):
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(60, 6))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = fcluster(linkage(vectors, "average", metric="cosine"), 1 - at_least, "distance")
    expected = {tuple(np.flatnonzero(labels == label).tolist()) for label in set(labels)}
    assert {tuple(group) for group in joined(vectors.astype(np.float32), at_least)} == expected


def test_a_chain_of_neighbours_does_not_become_one():
    angles = range(0, 180, 20)  # each is 20 degrees from the next: a cosine of .94
    assert max(map(len, joined(unit(*angles), 0.9))) < 4


def test_the_most_alike_are_joined_first_and_the_cosine_is_the_mean_of_all_pairs():
    first, second = average_linkage(unit(0, 10, 40), UnionFind(3), 0.5)
    assert (first.left, first.right, pytest.approx(first.cosine)) == (0, 1, np.cos(np.radians(10)))
    mean = (np.cos(np.radians(40)) + np.cos(np.radians(30))) / 2
    assert (second.left, second.right) == (0, 2)
    assert second.cosine == pytest.approx(mean)


def test_the_border_is_inclusive():
    vectors = np.array([[1, 0], [0.5, 0.5]], np.float32)
    assert joined(vectors, 0.5) == [[0, 1]]
    assert joined(vectors, 0.5001) == [[0], [1]]


def test_what_is_kept_apart_never_meets_even_through_others():
    clusters = UnionFind(4)
    clusters.keep_apart(0, 3)
    assert joined(unit(0, 1, 10, 11), 0.5, clusters) == [[0, 1], [2, 3]]


def test_what_is_joined_already_counts_as_one():
    clusters = UnionFind(3)
    clusters.join(0, 2)
    # On average 1 is at 45 degrees from 0 and 2.
    assert joined(unit(0, 45, 90), 0.7, clusters) == [[0, 1, 2]]
    clusters = UnionFind(3)
    clusters.join(0, 2)
    assert joined(unit(0, 20, 120), 0.7, clusters) == [[0, 2], [1]]


def test_a_vector_of_zeros_is_like_no_other():
    vectors = np.array([[0, 0], [0, 0], [1, 0], [1, 0]], np.float32)
    assert joined(vectors, -1.0) == [[0], [1], [2, 3]]


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_is_joined_where_there_is_nothing(count):
    assert list(average_linkage(np.zeros((count, 3), np.float32), UnionFind(count), -1.0)) == []
