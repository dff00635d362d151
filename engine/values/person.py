"""person: a name as records write it, in its parts: 'Sgt. Daniel R. Alvarez Jr. #4417', 'ALVAREZ, DANIEL'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.text.person_names import looks_like_name, parse_name, split_name
from engine.values.base import Normalised, ValueType


@dataclass(frozen=True, slots=True)
class Person(ValueType):
    """A person's name: `last`, `first`, `middle`, `suffix`, `rank` (or title) and `badge`, as written, or null."""

    name = "person"
    parts = ("last", "first", "middle", "suffix", "rank", "badge")
    longest = 200

    def read(self, written: Any) -> Normalised:
        """Tell the parts apart by the rules by which records write names; two people are a problem, not a person."""
        original = str(written).strip()
        words = split_name(original)
        if words.several:
            return Normalised(None, original, "it names several people")
        first, middle = (words.given[0] if words.given else None), " ".join(words.given[1:]) or None
        suffix, rank = " ".join(words.suffixes) or None, " ".join(words.titles) or None
        beside = {"suffix": suffix, "rank": rank, "badge": words.badge}
        name = parse_name(original)
        if name is None and not words.given:
            known = {**dict.fromkeys(self.parts), **beside}
            return Normalised(known if words.badge or rank else None, original, "no name is written in it")
        if name is None or not looks_like_name(words):
            return Normalised(None, original, "it does not look like the name of a person")
        alone = "only one name is written; it is taken for the last" if not first and not rank else None
        value = {"last": " ".join(words.surname), "first": first, "middle": middle, **beside}
        return Normalised(value, original, alone)
