"""Searches that a person keeps in the case under a name: words, and filters of documents."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from engine.errors import UsageError
from engine.results.shown import SavedSearch
from storage.cache import Cache
from storage.case import Case
from storage.errors import CaseDamaged
from storage.listing import DocumentFilter
from storage.runs import Runs

LONGEST_NAME = 60
"""Characters."""
MOST_SEARCHES = 200
_KIND = "saved search"
"""Of the values of a case that hold them, by name in small letters."""


def saved_searches(cache: Cache) -> tuple[SavedSearch, ...]:
    """List the saved searches by name."""
    return tuple(_read(saved) for _, saved in sorted(cache.of_kind(_KIND).items()))


def find_search(cache: Cache, name: str) -> SavedSearch:
    """Return the saved search of a name, letters' case aside; raises UsageError naming those there are."""
    saved = cache.get(_KIND, _key(name))
    if saved is None:
        names = ", ".join(each.name for each in saved_searches(cache))
        raise UsageError(f"no search is saved as {name!r}", advice=f"Saved searches: {names or 'none'}.")
    return _read(saved)


def save_search(case: Case, search: SavedSearch) -> SavedSearch:
    """Keep a search, in place of one of the same name; return it as it is kept. Raises UsageError."""
    name = " ".join(search.name.split())
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise UsageError(
            f"a saved search has a name of 1 to {LONGEST_NAME} printable characters, not {search.name!r}",
            advice="Choose another.",
        )
    kept = SavedSearch(name, search.words.strip(), replace(search.only, asked_in=()))
    if not kept.words and kept.only == DocumentFilter():
        raise UsageError("there is nothing to save", advice="Type words to search for, or choose filters.")
    with case.transaction():  # what a person made is on the disk then
        others = case.cache.of_kind(_KIND).keys() - {_key(name)}
        if len(others) >= MOST_SEARCHES:
            raise UsageError(f"{MOST_SEARCHES} searches are saved already", advice="Remove one.")
        only = {part: value for part, value in asdict(kept.only).items() if value}
        case.cache.save(_KIND, _key(name), {"name": name, "words": kept.words, "only": only})
    return kept


def remove_search(case: Case, name: str) -> None:
    """Forget a saved search; raises UsageError where there is none of that name."""
    with case.transaction():
        if not case.cache.forget(_KIND, _key(name)):
            find_search(case.cache, name)


def documents_of(runs: Runs, search: SavedSearch) -> DocumentFilter | None:
    """Return the filter of a search as it is now, None for all documents; `new` is meant of the last run's question."""
    if search.only == DocumentFilter():
        return None
    if not search.only.new:
        return search.only
    from engine.results.same_question import runs_of_question  # noqa: PLC0415 - reads pipelines

    finished = [run.id for run in runs.all() if run.status == "finished"]
    asked_in = tuple(run.id for run in runs_of_question(runs, finished[-1])) if finished else ()
    return replace(search.only, asked_in=asked_in)


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _read(saved: Any) -> SavedSearch:
    """Read what `save_search` wrote; raises CaseDamaged, and UsageError for filters of a later version."""
    match saved:
        case {"name": str(name), "words": str(words), "only": dict(only)}:
            usual: dict[str, Any] = asdict(DocumentFilter())
            if unknown := only.keys() - usual.keys():
                raise UsageError(
                    f"the saved search {name!r} has filters that this version does not know: {', '.join(unknown)}",
                    advice="Use the version of Redwell that saved it, or remove it.",
                )
            parts: dict[str, Any] = {
                part: tuple(value) if isinstance(value, list) else value for part, value in only.items()
            }
            if all(_fits(part, value, usual[part]) for part, value in parts.items()):
                return SavedSearch(name, words, DocumentFilter(**parts))
    raise CaseDamaged("a saved search in the case cannot be read")


def _fits(part: str, value: Any, usual: Any) -> bool:
    of_items = int if part == "years" else str
    return type(value) is type(usual) and (not isinstance(value, tuple) or all(type(v) is of_items for v in value))
