"""What a person types to search, as an expression of SQLite FTS5."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, Final

from storage.codec import text_of

MOST_PHRASE_WORDS = 12
"""Words of a phrase that is looked for across the end of a line."""
_ENDS: Final = "redwell_ends"
_TERM = re.compile(r'"(?P<phrase>[^"]*)"(?P<star>\*?)|(?P<word>[^\s"]+)')


def match_expression(
    query: str, *, prefix: bool = False, similar: Callable[[str], Sequence[str]] = lambda word: ()
) -> str:
    """Write an FTS5 expression from a person's words: every term quoted, joined by AND; empty when there is no word.

    With `prefix` the last word may go on, unless it stands in quotation marks that are closed. `similar` gives words
    that stand for a word as well.

    >>> match_expression('(Ramirez) "use of force" offic*')
    '"(Ramirez)" AND "use of force" AND "offic" *'
    >>> match_expression("Washington", similar=lambda word: ["wasbington"])
    '("Washington" OR "wasbington")'
    """
    terms = terms_of(query)
    if prefix and terms and not _ends_in_phrase(query):
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


def _ends_in_phrase(query: str) -> bool:
    return query.rstrip().endswith('"') and query.count('"') % 2 == 0


def lone_phrase(query: str) -> list[str]:
    """Return the words, as written, of a query that is one phrase of several words; none where it is anything else."""
    terms = terms_of(query)
    if len(terms) != 1 or '"' not in query or terms[0][1]:
        return []
    words = _written_words(terms[0][0])
    return words if 1 < len(words) <= MOST_PHRASE_WORDS else []


def cuts_of(phrase: Sequence[str]) -> list[tuple[str, str]]:
    """Return the ways in which a line can end within a phrase: the words before, and those in the next line."""
    return [(" ".join(phrase[:cut]), " ".join(phrase[cut:])) for cut in range(1, len(phrase))]


def ends_with(line: str, words: str) -> bool:
    """Say whether a line ends with words, be there punctuation behind them."""
    wanted = words_of(words)
    return words_of(line)[-len(wanted) :] == wanted


def ending(column: str) -> str:
    """Write in SQL what `ends_with` says of a text column and of the words that are the next parameter."""
    return f"{_ENDS}(CAST({column} AS BLOB), ?)"


def register(connection: Any) -> None:
    """Give a connection what `ending` needs. No schema may name it: other programs must be able to open a case."""
    connection.create_function(_ENDS, 2, _ends, deterministic=True)


def _ends(line: Any, words: str) -> bool:
    try:
        return ends_with(text_of(line), words)
    except UnicodeDecodeError:  # whoever reads the line is told that it is damaged
        return False


def _written_words(text: str) -> list[str]:
    """Return the words of a text as they are written, each with its accents."""
    words, word = [], ""
    for character in f"{text} ":
        if _is_word_character(character) or (word and unicodedata.combining(character)):
            word += character
        elif word:
            words.append(word)
            word = ""
    return words


def words_of(text: str) -> list[str]:
    """Return the words of a text as the index has them: folded, without accents."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return [word.casefold() for word in _written_words(plain)]


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
