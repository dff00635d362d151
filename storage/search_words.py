"""What a person types to search, as an expression of SQLite FTS5."""

from __future__ import annotations

import re
import unicodedata

_TERM = re.compile(r'"(?P<phrase>[^"]*)"(?P<star>\*?)|(?P<word>[^\s"]+)')


def match_expression(query: str, *, prefix: bool = False) -> str:
    """Write an FTS5 expression from a person's words: every term quoted, joined by AND; empty when there is no word.

    >>> match_expression('(Ramirez) "use of force" offic*')
    '"(Ramirez)" AND "use of force" AND "offic" *'
    """
    terms = []
    for match in _TERM.finditer(query):
        text = match["word"] if match["phrase"] is None else match["phrase"]
        begins = bool(match["star"]) or (match["word"] is not None and text.endswith("*"))
        clean = "".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in text.rstrip("*")).strip()
        if any(_is_word_character(c) for c in clean):
            terms.append((clean, begins))
    if prefix and terms:
        terms[-1] = (terms[-1][0], True)
    return " AND ".join(f'"{text}" *' if begins else f'"{text}"' for text, begins in terms)


def _is_word_character(character: str) -> bool:
    """Follow FTS5's unicode61 tokenizer: letters, numbers and private use make words."""
    category = unicodedata.category(character)
    return category[0] in "LN" or category == "Co"
