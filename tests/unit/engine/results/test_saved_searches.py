"""Searches that are kept in a case under a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import UsageError
from engine.results.saved_searches import (
    MOST_SEARCHES,
    SavedSearch,
    documents_of,
    find_search,
    remove_search,
    save_search,
    saved_searches,
)
from storage.case import Case
from storage.errors import CaseDamaged
from storage.listing import DocumentFilter
from storage.repair import repair_case
from storage.verification import verify_case

EVERY_FILTER = DocumentFilter(
    text="memo",
    kinds=("pdf", "mail"),
    tags=("to read",),
    years=(2021, 0),
    hidden=("white",),
    starred=True,
    warned=True,
    words="force",
    removed=True,
    new=True,
)


def test_a_search_comes_back_with_every_filter(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    with Case(path) as case:
        save_search(case, SavedSearch("  Use of  force ", ' "use of force" ', EVERY_FILTER))
        save_search(case, SavedSearch("a first one", "taser"))
    with Case(path, read_only=True) as case:
        assert saved_searches(case.cache) == (
            SavedSearch("a first one", "taser", DocumentFilter()),
            SavedSearch("Use of force", '"use of force"', EVERY_FILTER),
        )
        assert find_search(case.cache, "USE of force") == SavedSearch("Use of force", '"use of force"', EVERY_FILTER)
        assert verify_case(path).is_sound


def test_runs_are_not_kept_and_new_is_meant_of_the_last_one(tmp_path: Path) -> None:
    with Case(tmp_path / "c.redwell") as case:
        kept = save_search(case, SavedSearch("n", "x", DocumentFilter(new=True, asked_in=("7",))))
        assert kept.only == DocumentFilter(new=True)
        assert documents_of(case.runs, kept) == DocumentFilter(new=True)  # nothing ran
        run = case.runs.start(pipeline_yaml="operations: []", pipeline_digest="p", model_name="m", settings={})
        case.runs.finish(run, "finished")
        assert documents_of(case.runs, kept) == DocumentFilter(new=True, asked_in=(run,))
        assert documents_of(case.runs, SavedSearch("n", "x")) is None


def test_the_same_name_replaces_and_a_removed_one_is_gone(tmp_path: Path) -> None:
    with Case(tmp_path / "c.redwell") as case:
        save_search(case, SavedSearch("Force", "force"))
        save_search(case, SavedSearch("FORCE", "use of force"))
        assert saved_searches(case.cache) == (SavedSearch("FORCE", "use of force"),)
        remove_search(case, "force")
        assert saved_searches(case.cache) == ()
        with pytest.raises(UsageError, match="no search is saved as 'force'"):
            remove_search(case, "force")


@pytest.mark.parametrize(
    ("search", "said"),
    [
        (SavedSearch(" ", "x"), "a name of 1 to 60"),
        (SavedSearch("x" * 61, "x"), "a name of 1 to 60"),
        (SavedSearch("a\u202eb", "x"), "a name of 1 to 60"),
        (SavedSearch("empty", " ", DocumentFilter(asked_in=("1",))), "there is nothing to save"),
    ],
)
def test_what_cannot_be_kept_is_refused(tmp_path: Path, search: SavedSearch, said: str) -> None:
    with Case(tmp_path / "c.redwell") as case:
        with pytest.raises(UsageError, match=said):
            save_search(case, search)
        assert saved_searches(case.cache) == ()


def test_there_are_not_too_many(tmp_path: Path) -> None:
    with Case(tmp_path / "c.redwell") as case:
        with case.transaction():
            for number in range(MOST_SEARCHES):
                save_search(case, SavedSearch(f"s{number}", "x"))
        save_search(case, SavedSearch("s0", "y"))
        with pytest.raises(UsageError, match="200 searches are saved already"):
            save_search(case, SavedSearch("one more", "x"))


@pytest.mark.parametrize(
    "body",
    [
        "text",
        {"name": "n", "words": "x"},
        {"name": "n", "words": 3, "only": {}},
        {"name": "n", "words": "x", "only": {"years": ["2021"]}},
        {"name": "n", "words": "x", "only": {"starred": "yes"}},
        {"name": "n", "words": "x", "only": {"text": ["memo"]}},
    ],
)
def test_a_value_of_another_shape_is_damage(tmp_path: Path, body: object) -> None:
    with Case(tmp_path / "c.redwell") as case:
        case.cache.save("saved search", "n", body)
        with pytest.raises(CaseDamaged, match="cannot be read"):
            saved_searches(case.cache)


def test_filters_of_a_later_version_are_never_left_out(tmp_path: Path) -> None:
    with Case(tmp_path / "c.redwell") as case:
        case.cache.save("saved search", "n", {"name": "n", "words": "x", "only": {"languages": ["de"]}})
        with pytest.raises(UsageError, match="does not know: languages"):
            find_search(case.cache, "n")
        remove_search(case, "n")
        assert saved_searches(case.cache) == ()


def test_a_repaired_case_has_them_still(tmp_path: Path) -> None:
    with Case(tmp_path / "c.redwell") as case:
        save_search(case, SavedSearch("Force", "force", DocumentFilter(kinds=("pdf",))))
    repair_case(tmp_path / "c.redwell", tmp_path / "new.redwell")
    with Case(tmp_path / "new.redwell", read_only=True) as case:
        assert saved_searches(case.cache) == (SavedSearch("Force", "force", DocumentFilter(kinds=("pdf",))),)
