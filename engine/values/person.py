"""person: a name as records write it, in its parts: 'Sgt. Daniel R. Alvarez Jr. #4417', 'ALVAREZ, DANIEL'."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from engine.text.name_finder import parse_name
from engine.text.normalise import fold, plain
from engine.text.person_names import BADGE, NO_NAMES, PARTICLES, RANKS, SUFFIXES
from engine.values.base import NO_CONTEXT, DocumentContext, Normalised, ValueType

LONGEST = 200
"""Characters of a name as a model may copy it."""

_DEGREES = frozenset(("esq", "md", "phd", "rn", "dds", "cpa", "jd"))
_LETTERS = re.compile(r"[^\W\d_]")
_NAME_WORD = re.compile(r"[^\W\d_][\w'’.-]*")


@dataclass(frozen=True, slots=True)
class Person(ValueType):
    """A person's name: `last`, `first`, `middle`, `suffix`, `rank` (or title) and `badge`, as written, or null."""

    name = "person"
    parts = ("last", "first", "middle", "suffix", "rank", "badge")

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes: the name as it stands, with rank and badge."""
        return {"type": "string", "minLength": 1, "maxLength": LONGEST}

    def read(self, written: Any, document_context: DocumentContext = NO_CONTEXT) -> Normalised:
        """Tell the parts apart by the rules by which records write names; two people are a problem, not a person."""
        original = str(written).strip()
        text = plain(original)
        badge, rest = _take_badge(text)
        parts = [words for part in rest.split(",") if (words := _NAME_WORD.findall(part))]
        if "&" in rest or ";" in rest or any(fold(word) == "and" for words in parts for word in words):
            return Normalised(None, original, "it names several people")
        suffix, rank = _take(parts, SUFFIXES.keys() | _DEGREES), _take(parts, RANKS, leading=True)
        parts = [words for words in parts if words]
        if not parts or len(parts) > 2 or len(parts[0]) + len(parts[-1]) > 12:
            problem = "it is no name of a person" if parts else "no name is written in it"
            known = {**dict.fromkeys(self.parts), "suffix": suffix, "rank": rank, "badge": badge}
            return Normalised(known if badge or rank else None, original, problem)
        if parse_name(" ".join(word for words in reversed(parts) for word in words)) is None:
            return Normalised(None, original, "it does not look like the name of a person")
        first, middle, last = _split(parts)
        if fold(last) in NO_NAMES or not _LETTERS.match(last):
            return Normalised(None, original, "it names nobody")
        alone = "only one name is written; it is taken for the last" if not first and not rank else None
        value = {"last": last, "first": first, "middle": middle, "suffix": suffix, "rank": rank, "badge": badge}
        return Normalised(value, original, alone)


def _take_badge(text: str) -> tuple[str | None, str]:
    match = BADGE.search(text)
    if match is None:
        return None, text
    return next(group for group in match.groups() if group), f"{text[: match.start()]} {text[match.end() :]}"


def _take(parts: list[list[str]], known: Collection[str], *, leading: bool = False) -> str | None:
    """Take the words that are `known` out of the parts: all before the name (`leading`), else wherever they stand."""
    taken: list[str] = []
    for words in parts:
        while leading and words and _key(words[0]) in known:
            taken.append(words.pop(0))
        if not leading:
            found = [
                word for position, word in enumerate(words) if _key(word) in known and (position or len(parts) > 1)
            ]
            taken += found
            words[:] = [word for word in words if word not in found]
    return " ".join(taken) or None


def _split(parts: list[list[str]]) -> tuple[str | None, str | None, str]:
    """Return first, middle and last name of 'Last, First Middle' or 'First Middle Last', particles with the last."""
    if len(parts) == 2:
        surname, given = parts[0], parts[1]
    else:
        words = parts[0]
        at = len(words) - 1
        while at > 1 and fold(words[at - 1]).rstrip(".") in PARTICLES:
            at -= 1
        surname, given = words[at:], words[:at]
    return (given[0] if given else None), (" ".join(given[1:]) or None), " ".join(surname)


def _key(word: str) -> str:
    return fold(word).replace(".", "").replace("'", "").replace("’", "")
