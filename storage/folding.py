"""Text without regard to letters' case and to how accents are written, in every script; SQLite knows ASCII only."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

from storage.codec import storable, text_of

_FUNCTION: Final = "redwell_folded"


def folded(text: str) -> str:
    """Return a text that is the same for all texts that differ in letters' case alone.

    >>> folded("ÄRZTE")
    'ärzte'
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def folding(column: str) -> str:
    """Write in SQL what `folded` returns for a text column."""
    return f"{_FUNCTION}(CAST({column} AS BLOB))"


def register(connection: Any) -> None:
    """Give a connection what `folding` needs. No schema may name it: other programs must be able to open a case."""
    connection.create_function(_FUNCTION, 1, _folded_column, deterministic=True)


def _folded_column(value: Any) -> Any:
    try:
        return None if value is None else storable(folded(text_of(value)))
    except UnicodeDecodeError:  # whoever reads the column is told that it is damaged
        return value
