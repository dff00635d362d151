"""Tell real text from a broken text layer."""

from __future__ import annotations

import re
import unicodedata

_MIN_LETTERS = 60
_MAX_BAD_SHARE = 0.04
_VOWELS = frozenset("aeiouyAEIOUY")
_COMMON = frozenset("etaoinsrlETAOINSRL")
"""In English, German, French, Spanish, Finnish, Turkish these nine make up 55 % to 75 % of the letters."""
_MANY_LETTERS = 150
_CID = re.compile(r"\(cid:\d+\)")
_WORD = re.compile(r"[A-Za-z]{2,}")
_MIXED_CASE = re.compile(r"[a-z][A-Z]")


def garbling(text: str) -> str | None:
    """Name what is wrong with a text layer, or return None when it reads as text.

    Broken encodings show as replacement characters, `(cid:12)`, private-use code points and control characters, or
    as letters in impossible proportions. Only Latin letters are counted; other scripts pass.
    """
    visible = [c for c in text if not c.isspace()]
    if not visible:
        return None
    cids = sum(len(m) for m in _CID.findall(text))
    bad = sum(1 for c in visible if _is_bad(c)) + cids
    if bad / len(visible) > _MAX_BAD_SHARE:
        return f"{100 * bad // len(visible)} % of its characters have no meaning"
    return _implausible_letters(text)


def plausible_characters(text: str) -> int:
    """Count the characters of words that look like words or numbers: the measure by which two readings compare."""
    return sum(len(word) for word in text.split() if _looks_like_a_word(word))


def _is_bad(character: str) -> bool:
    return character == "\ufffd" or unicodedata.category(character) in {"Cc", "Co", "Cn"}


def _implausible_letters(text: str) -> str | None:
    letters = [c for c in text if c.isascii() and c.isalpha()]
    alphabetic = sum(1 for c in text if c.isalpha())
    if len(letters) < _MIN_LETTERS or len(letters) < 0.8 * alphabetic:
        return None
    vowels = sum(1 for c in letters if c in _VOWELS) / len(letters)
    if not 0.22 <= vowels <= 0.62:
        return f"{100 * vowels:.0f} % of its letters are vowels"
    common = sum(1 for c in letters if c in _COMMON) / len(letters)
    if len(letters) >= _MANY_LETTERS and common < 0.4:
        return f"only {100 * common:.0f} % of its letters are the commonest of European languages"
    words = _WORD.findall(text)
    bad_words = sum(1 for w in words if len(w) > 3 and not _VOWELS & set(w) and not w.isupper())
    bad_words += sum(1 for w in words if len(_MIXED_CASE.findall(w)) >= 2)
    if words and bad_words / len(words) > 0.25:
        return f"{100 * bad_words // len(words)} % of its words are no words"
    return None


def _looks_like_a_word(word: str) -> bool:
    core = word.strip(".,;:!?()[]{}\"'“”‘’-–—/*§$%#&•")
    if not core:
        return False
    if any(_is_bad(c) for c in core) or _CID.search(core):
        return False
    letters = sum(1 for c in core if c.isalpha())
    if not core.isascii() or letters <= 2:
        return sum(1 for c in core if c.isalnum()) >= 0.5 * len(core)
    vowels = bool(_VOWELS & set(core)) or core.isupper()
    return vowels and sum(1 for c in core if c.isalnum()) >= 0.7 * len(core) and len(_MIXED_CASE.findall(core)) < 2
