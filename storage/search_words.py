"""What a person types to search, as an expression of SQLite FTS5."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

_TERM = re.compile(r'"(?P<phrase>[^"]*)"(?P<star>\*?)|(?P<word>[^\s"]+)')


def match_expression(
    query: str, *, prefix: bool = False, similar: Callable[[str], Sequence[str]] = lambda word: ()
) -> str:
    """Write an FTS5 expression from a person's words: every term quoted, joined by AND; empty when there is no word.

    `similar` gives words that stand for a word as well.

    >>> match_expression('(Ramirez) "use of force" offic*')
    '"(Ramirez)" AND "use of force" AND "offic" *'
    >>> match_expression("Washington", similar=lambda word: ["wasbington"])
    '("Washington" OR "wasbington")'
    """
    terms = terms_of(query)
    if prefix and terms:
        terms[-1] = (terms[-1][0], True)
    return " AND ".join(_either(text, begins, similar) for text, begins in terms)


def terms_of(query: str) -> list[tuple[str, bool]]:
    """Return the words and phrases of a query, each with whether it is a word's beginning."""
    terms = []
    for match in _TERM.finditer(query):
        text = match["word"] if match["phrase"] is None else match["phrase"]
        begins = bool(match["star"]) or (match["word"] is not None and text.endswith("*"))
        clean = "".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in text.rstrip("*")).strip()
        if any(_is_word_character(c) for c in clean):
            terms.append((clean, begins))
    return terms


def words_of(text: str) -> list[str]:
    """Return the words of a text as the index has them: folded, without accents."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    words, word = [], ""
    for character in f"{plain} ":
        if _is_word_character(character):
            word += character
        elif word:
            words.append(word.casefold())
            word = ""
    return words


def _either(text: str, begins: bool, similar: Callable[[str], Sequence[str]]) -> str:
    written = f'"{text}" *' if begins else f'"{text}"'
    words = words_of(text)
    others = similar(words[0]) if len(words) == 1 else ()
    if not others:
        return written
    return "(" + " OR ".join([written, *(f'"{other}"' for other in others)]) + ")"


def _is_word_character(character: str) -> bool:
    """Follow FTS5's unicode61 tokenizer: letters, numbers and private use make words."""
    category = unicodedata.category(character)
    return category[0] in "LN" or category == "Co"
