"""Full-text indexes of a case: which texts a query finds, in which order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.case import Case

TEXTS = ["the café on the quay", "the quay", "a dog and a cat", "THE DOG"]


@pytest.fixture
def indexed(case: Case) -> Case:
    case.text_indexes.save("kb", "d1", TEXTS)
    return case


def found(case: Case, query: str, *, digest: str = "d1", limit: int = 9) -> list[int]:
    return [position for position, _ in case.text_indexes.search("kb", digest, query, limit)]


def test_any_word_will_do_and_the_shorter_text_is_better(indexed: Case) -> None:
    # BM25: of two texts that hold a word once, the shorter one ranks higher.
    assert found(indexed, "dog") == [3, 2]
    assert found(indexed, "cafe, please!") == [0]
    assert set(found(indexed, "cat quay")) == {0, 1, 2}
    assert found(indexed, "dog", limit=1) == [3]


@pytest.mark.parametrize("query", ["", "  ", '"', "***", "NEAR(", "()", "\0"])
def test_a_query_without_words_finds_nothing(indexed: Case, query: str) -> None:
    assert found(indexed, query) in ([], found(indexed, "near"))


def test_scores_fall(indexed: Case) -> None:
    scores = [score for _, score in indexed.text_indexes.search("kb", "d1", "the quay café", 9)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0


def test_a_new_digest_replaces_the_index_of_that_name_alone(indexed: Case) -> None:
    indexed.text_indexes.save("other", "x", ["dog"])
    indexed.text_indexes.save("kb", "d2", ["a horse"])
    assert found(indexed, "dog") == []
    assert found(indexed, "horse", digest="d2") == [0]
    assert indexed.text_indexes.search("other", "x", "dog", 9)[0][0] == 0
    indexed.text_indexes.save("kb", "d2", ["not read again"])
    assert found(indexed, "horse", digest="d2") == [0]


def test_an_index_survives_closing_and_may_be_empty(tmp_path: Path) -> None:
    with Case(tmp_path / "c.redwell") as case:
        case.text_indexes.save("kb", "d1", TEXTS)
        case.text_indexes.save("none", "d0", [])
    with Case(tmp_path / "c.redwell", read_only=True) as case:
        assert found(case, "dog") == [3, 2]
        assert case.text_indexes.search("none", "d0", "dog", 9) == []


@given(st.text(max_size=400))
@settings(max_examples=200, deadline=None)
def test_no_query_is_an_error(tmp_path_factory: pytest.TempPathFactory, query: str) -> None:
    with Case(tmp_path_factory.mktemp("c") / "c.redwell") as case:
        case.text_indexes.save("kb", "d1", [query.encode("utf-8", "replace").decode(), "dog"])
        found(case, query + " dog")
