"""Fields that hold names of persons, by what they are called and by what is asked about them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.language.template_text import static_text
from engine.language.templates import Template

_PERSONS = frozenset({
    "agent", "attorney", "author", "captain", "complainant", "constable", "cop", "defendant", "deputy", "detective",
    "doctor", "employee", "informant", "inmate", "investigator", "journalist", "judge", "lawyer", "lieutenant", "nurse",
    "officer", "patient", "person", "physician", "plaintiff", "policeman", "prisoner", "prosecutor", "reporter",
    "sergeant", "sheriff", "signatory", "student", "suspect", "teacher", "trooper", "victim", "witness",
})  # fmt: skip
_PLURALS = {"people": "person", "witnesses": "witness", "signatories": "signatory", "deputies": "deputy"}
_NAMING = frozenset(("name", "names", "full"))
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def holds_persons(field: str, prompts: Iterable[Template | None] = ()) -> bool:
    """Say whether a field holds names of persons.

    One called after persons does (`officer`, `arresting_officer`, `officer_name`), one that says something else of
    them does not (`officer_badge`, `agent_count`). What is called `name` or `full_name` and no more may be anybody's
    or anything's: it holds persons where one of `prompts`, those that ask about it, speaks of persons.
    """
    words = _singular(field)
    while words and words[-1] in _NAMING:
        del words[-1]
    if words:
        return words[-1] in _PERSONS
    return any(not _PERSONS.isdisjoint(_singular(static_text(prompt))) for prompt in prompts if prompt)


def _singular(text: str) -> list[str]:
    """Return the words of a text or of an identifier, those for persons in the singular."""
    words = [word.casefold() for word in _WORDS.findall(text)]
    return [_PLURALS.get(word, word[:-1] if word[:-1] in _PERSONS else word) for word in words]
