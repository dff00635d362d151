"""Forms of a text, from faithful to forgiving: collapsed, plain, its words, and their stems."""

from __future__ import annotations

import functools
import re
import unicodedata

from engine.text.blocks import collapse

_LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′´`", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣-", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", None),
    }
)
_RAISED = re.compile(
    r"(?P<unit>(?<![^\W\d_])(?:[ckm]?m|ft|in|yd|mi)[²³])(?![⁰¹²³⁴-⁹])|(?P<part>[⁰¹²³⁴-⁹]+)(?=[/⁄][\d₀-₉])|⁻?[⁰¹²³⁴-⁹]+"
)
"""Raised digits: of a unit, of a fraction, or of a footnote or a power."""
_TEN_BEFORE = re.compile(r"(?:(?P<times>(?:[×·*]|(?<![^\W\d_])x)\s?)|(?<![\w.,$€£¥]))10$")
_MONTH_BEFORE = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? 10$", re.IGNORECASE)
_EXPONENTS = frozenset("³⁶⁹") | {"¹²"}
"""Those of a thousand, a million and so on; others stand rather for a footnote."""
_WORD = re.compile(r"[^\W_]+(?:(?<=\d)[.,:/-](?=\d)[^\W_]+)*|%")
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese, Korean, as ranges of a regular expression."""
_UNSPACED = re.compile(f"[{UNSPACED}]")
LETTER_FOR_DIGIT = {"0": "o", "1": "l", "5": "s", "8": "b"}
"""Letters that OCR reads as digits."""

_CONFUSED = str.maketrans(
    {
        **LETTER_FOR_DIGIT,
        **{"6": "g", "9": "g", "2": "z", "q": "o", "i": "l", "j": "l", "|": "l", "c": "e", "v": "u"},
        **{"m": "rn", "w": "uu", "d": "el", "h": "ll"},
    }
)
_UNSEEN = str.maketrans("", "", ",-")

_STEM_LETTERS = 5
"""Letters by which words of a question and of lines are compared, so that "effect" and "effective" are one."""

_SHORTEST_STEM = 4
_SAYS_NOTHING = frozenset(
    {"what", "which", "when", "where", "does", "this", "that", "date", "dates", "with", "from"}
    | {"much", "many", "amount", "amounts"}
)


def plain(text: str) -> str:
    """Collapse whitespace and write quotes, dashes, ligatures and wide letters the plain way; case is kept.

    The raised numbers of footnotes are left out: `$120¹` is not `$1201`. Those of a power of ten stay: `10⁶` is `10^6`.
    """
    if text.isascii():
        return collapse(text)
    text = _RAISED.sub(_lowered, text)
    return collapse(unicodedata.normalize("NFKC", text.translate(_LOOKALIKES)).translate(_LOOKALIKES))


def _lowered(match: re.Match[str]) -> str:
    """Return how raised digits are written plainly."""
    if match["unit"] or match["part"]:
        return match["unit"] or f" {match['part']}"
    before = match.string[max(0, match.start() - 20) : match.start()]
    ten = _TEN_BEFORE.search(before)
    is_exponent = match[0] in _EXPONENTS and not _MONTH_BEFORE.search(before)
    is_power = ten is not None and (ten["times"] or match[0].startswith("⁻") or is_exponent)
    return f"^{match[0]}" if is_power else ""


def fold(text: str) -> str:
    """Drop case and accents of a plain text."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def words(text: str) -> list[str]:
    """List the folded words of a plain text: runs of letters and digits, and '%'.

    A number stays one word with its points, colons and slashes ('3.25', '11:30', '3/3/2019') but loses its commas
    and hyphens, so that '1,200' is '1200' and a case number broken at its hyphen is still the same letters.
    """
    return [word.translate(_UNSEEN) for word in _WORD.findall(fold(text))]


@functools.lru_cache(maxsize=50_000)
def misreading(word: str) -> str:
    """Write letters and digits that OCR confuses as one of them: folded words that differ only so become equal."""
    return word.translate(_CONFUSED)


def is_unspaced(character: str) -> bool:
    """Say whether a character is of a script in which no space need stand between words (Chinese, Thai), or particles.

    Korean writes its particles to the word before them.
    """
    return _UNSPACED.match(character) is not None


def stems(text: str) -> set[str]:
    """Return the beginnings of the words that say what a text is about; numbers and short words are left out.

    >>> sorted(stems("When does it take effect?"))
    ['effec', 'take']
    """
    content_words = (word for word in words(plain(text)) if len(word) >= _SHORTEST_STEM and word not in _SAYS_NOTHING)
    return {word[:_STEM_LETTERS] for word in content_words if not word.isdigit()}
