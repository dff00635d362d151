"""Fields that hold names of persons, by what they are called."""

from __future__ import annotations

_PERSONS = ("officer", "person", "name", "witness", "author", "suspect", "employee", "defendant", "plaintiff")
"""Part of the name is enough."""


def holds_persons(field: str) -> bool:
    """Say whether a field is called as those are that hold names of persons."""
    return any(word in field.casefold() for word in _PERSONS)
