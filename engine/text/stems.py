"""Words of a question and of lines, cut so that "effect" and "effective" are one."""

from __future__ import annotations

from engine.text.normalise import plain, words

_LETTERS = 5
"""Letters by which words are compared."""

_SHORTEST = 4
_SAYS_NOTHING = frozenset(
    {"what", "which", "when", "where", "does", "this", "that", "date", "dates", "with", "from"}
    | {"much", "many", "amount", "amounts"}
)


def stems(text: str) -> set[str]:
    """Return the beginnings of the words that say what a text is about; numbers and short words are left out.

    >>> sorted(stems("When does it take effect?"))
    ['effec', 'take']
    """
    content_words = (word for word in words(plain(text)) if len(word) >= _SHORTEST and word not in _SAYS_NOTHING)
    return {word[:_LETTERS] for word in content_words if not word.isdigit()}
