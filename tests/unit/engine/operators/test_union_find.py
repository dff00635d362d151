from hypothesis import given
from hypothesis import strategies as st

from engine.operators.union_find import UnionFind


def test_joins_are_transitive():
    clusters = UnionFind(4)
    assert clusters.join(0, 2)
    assert clusters.join(2, 3)
    assert not clusters.join(0, 3)
    assert clusters.relation(0, 3) == "joined"
    assert clusters.clusters() == [[0, 2, 3], [1]]


def test_what_is_kept_apart_never_meets_through_others():
    clusters = UnionFind(4)
    assert clusters.keep_apart(0, 1)
    assert clusters.join(0, 2)
    assert clusters.join(1, 3)
    assert clusters.relation(2, 3) == "forbidden"
    assert not clusters.join(2, 3)
    assert clusters.clusters() == [[0, 2], [1, 3]]


def test_what_is_joined_cannot_be_kept_apart():
    clusters = UnionFind(2)
    clusters.join(0, 1)
    assert not clusters.keep_apart(0, 1)


def test_a_copy_is_independent():
    clusters = UnionFind(3)
    clusters.keep_apart(0, 1)
    twin = clusters.copy()
    twin.join(1, 2)
    assert twin.relation(0, 2) == "forbidden"
    assert clusters.relation(0, 2) == "open"


pairs = st.lists(st.tuples(st.booleans(), st.integers(0, 7), st.integers(0, 7)), max_size=30)


@given(pairs)
def test_accepted_constraints_always_hold(steps):
    clusters = UnionFind(8)
    apart = []
    for joins, a, b in steps:
        if joins:
            clusters.join(a, b)
        elif clusters.keep_apart(a, b):
            apart.append((a, b))
    for a, b in apart:
        assert clusters.relation(a, b) == "forbidden"
    assert sorted(i for c in clusters.clusters() for i in c) == list(range(8))


def test_any_of_many_that_are_kept_apart_is_found_through_third_parties():
    clusters = UnionFind(6)
    clusters.keep_apart(0, 1)
    clusters.join(1, 2)
    clusters.join(3, 4)
    assert clusters.any_apart([5, 2, 0])
    assert not clusters.any_apart([0, 3, 4, 5])
    assert not clusters.any_apart([1, 2])
    assert not clusters.any_apart([])
