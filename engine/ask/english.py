"""Singular and plural of English nouns: enough for the names of rows and columns."""

from __future__ import annotations

import re
from typing import Final

from engine.text.vocabulary import word_set

_IRREGULAR: Final = {
    "people": "person", "persons": "person", "men": "man", "women": "woman", "children": "child",
    "policemen": "policeman", "witnesses": "witness", "diagnoses": "diagnosis", "analyses": "analysis",
    "criteria": "criterion", "phenomena": "phenomenon", "lives": "life", "wives": "wife", "knives": "knife",
    "thieves": "thief", "parties": "party", "movies": "movie", "cookies": "cookie", "addresses": "address",
    "indices": "index", "appendices": "appendix", "feet": "foot", "teeth": "tooth", "data": "data",
    "media": "media", "buses": "bus", "statuses": "status", "viruses": "virus", "crises": "crisis",
}  # fmt: skip
_SAME: Final = word_set(
    "series species news evidence police staff personnel money information misconduct equipment advice feedback "
    "this its his was is has does us gps process access progress business address witness status bus loss boss class "
    "virus crisis diagnosis analysis basis thesis gas dress pass harness illness"
)


def singular(noun: str) -> str:
    """Return the singular of the last word: `license plates` is `license plate`."""
    *before, word = noun.split(" ")
    low = word.lower()
    if low in _SAME or len(low) < 4 and low not in _IRREGULAR:
        made = word
    elif low in _IRREGULAR:
        made = _IRREGULAR[low]
    elif low.endswith("ies"):
        made = word[:-3] + "y"
    elif re.search(r"(?:sh|ch|x|z|ss)es$", low):
        made = word[:-2]
    elif low.endswith("s") and not low.endswith(("ss", "us", "is")):
        made = word[:-1]
    else:
        made = word
    return " ".join((*before, made))


def plural(noun: str) -> str:
    """Return the plural of the last word: `party` is `parties`."""
    *before, word = noun.split(" ")
    low = word.lower()
    backwards = {one: many for many, one in _IRREGULAR.items() if many not in ("persons",)}
    if low in backwards:
        made = backwards[low]
    elif low in ("series", "species", "news", "evidence", "police", "staff", "personnel", "data", "media"):
        made = word
    elif low.endswith("y") and low[-2:-1] not in "aeiou":
        made = word[:-1] + "ies"
    elif low.endswith(("s", "sh", "ch", "x", "z")):
        made = word + "es"
    else:
        made = word + "s"
    return " ".join((*before, made))
