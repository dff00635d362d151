"""Tell the encodings of Latin letters apart by the words they make: statistics of bytes mix them up in short texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations, pairwise

_WESTERN = (
    "[áéíóúüñ]",  # Spanish
    "[àáâãçéêíóôú]|õ(?=e)",  # Portuguese
    "[àâæçèéêëîïôœùûüÿ]",  # French
    "[àèéìíîòóùú]",  # Italian
    "[àçèéíïòóúü]",  # Catalan
    "[äöüß]",  # German
    "[áäèéëêïíóöúüç]",  # Dutch
    "[åäöéü]",  # Swedish, Finnish
    "[åæøéèòóôä]",  # Danish, Norwegian
    "[áðéíóúýæö]|^þ",  # Icelandic
    "[šž]",  # names from elsewhere
)
_OTHERS = {
    "cp1250": (
        "[ąćęłńóśźż]",  # Polish
        "[áčďéěíňóřšťúůýž]",  # Czech
        "[áäčďéíĺľňóôŕšťúýž]",  # Slovak
        "[áéíóöőúüű]",  # Hungarian
        "[čćđšž]",  # Croatian, Slovene
        "[ăâîşţ]",  # Romanian
    ),
    "cp1254": ("[âçğıîöşûüİ]",),  # Turkish
    "cp1257": ("[ąčęėįšųūž]", "[āčēģīķļņšūž]", "[äõöüšž]"),  # Lithuanian, Latvian, Estonian
    "iso8859_2": ("[ąćęłńóśźż]", "[áčďéěíňóřšťúůýž]", "[áéíóöőúüű]"),
}
"""The letters beyond ASCII of languages, by an encoding that holds them; those of Windows-1252 are `_WESTERN`.

A word is right that has letters of one language alone.
"""

_RUN = re.compile(r"[^\s\x00-/:-@\[-`{-\x7f\xa0…‘’“”–—«»•™§©®·]+")
"""A word or a number with the signs written to it."""

_SIGNS = re.compile(r"^[¿¡„‚‹]+|(?<![^\W\d])[£¥€¢](?![^\W\d_])|[ªº²³¹›‰†‡]$|(?<![^\W\d_])[¼½¾](?![^\W\d_])|[°±µ×÷¶€]")
"""Signs where they are written: '£500', '¿Qué', '2ª', 'm³', '5½'."""

_ALONE = frozenset("£¥€¼½¾°±µ×÷")
"""Signs that stand alone."""

_STRANGE = re.compile(r"\d|^[^\x00-\x7f]{2,}$|[^\x00-\x7f]{4}")
"""What a word of Latin letters hardly holds; letters beyond ASCII alone are the rule in other scripts."""


def latin_encoding(data: bytes) -> str | None:
    """Name the encoding in which most words with letters beyond ASCII are words of Latin letters; None if none is.

    It is Windows-1252 unless a language of another encoding explains more of the words that differ than any two of its
    own.
    """
    western = _decoded(data, "cp1252")
    best, most = None, 0
    if western is not None:
        runs = _runs(western)
        right = sum(map(any, _rated(runs, _WESTERN)))
        if 2 * right >= len(runs):
            best = "cp1252"
    for encoding, languages in _OTHERS.items():
        text = _decoded(data, encoding)
        if text is None:
            continue
        runs = _runs(text)
        right = max(map(sum, zip(*_rated(runs, languages), strict=True)), default=0)
        if right > most and 2 * right >= len(runs) and (western is None or _explains_more(text, languages, western)):
            best, most = encoding, right
    return best


def _explains_more(text: str, languages: Sequence[str], western: str) -> bool:
    """Say whether one language has more right words than any two Western ones, of those that the readings differ in."""
    ours = _rated(_runs(text, unlike=western), languages)
    theirs = _rated(_runs(western, unlike=text), _WESTERN)
    pairs = combinations(range(len(_WESTERN)), 2)
    most = max(sum(rating[one] or rating[other] for rating in theirs) for one, other in pairs)
    return max(map(sum, zip(*ours, strict=True)), default=0) > most


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _runs(text: str, unlike: str = "") -> list[str]:
    """Return the different runs beyond ASCII, without those that `unlike` has at the same place."""
    found = (match for match in _RUN.finditer(text) if not match[0].isascii())
    return list({match[0] for match in found if unlike[match.start() : match.end()] != match[0]})


def _rated(runs: Sequence[str], languages: Sequence[str]) -> list[list[bool]]:
    """Say of each run for each language whether it is right."""
    patterns = [re.compile(rf"(?:[\x00-\x7f]|{letters})*", re.IGNORECASE) for letters in languages]
    return [[_is_right(run, pattern) for pattern in patterns] for run in runs]


def _is_right(run: str, pattern: re.Pattern[str]) -> bool:
    bare = _SIGNS.sub("", run)
    if bare.isascii():
        return bool(bare) or run in _ALONE
    has_strange_case = any(one.islower() and two.isupper() and not two.isascii() for one, two in pairwise(bare))
    return not has_strange_case and not _STRANGE.search(bare) and pattern.fullmatch(bare) is not None
