"""The value types that are read in few lines: boolean, number, text, person, address, table, iban."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.text.normalise import plain, words
from engine.text.numbers import parse_number
from engine.text.person_names import looks_like_name, parse_name, split_name
from engine.values.base import ORIGINAL, Normalised, ValueType, closed_object
from engine.values.figures import plain_number


@dataclass(frozen=True, slots=True)
class Boolean(ValueType):
    """Yes or no."""

    name = "boolean"
    tokens = 1

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes."""
        return {"type": "boolean"}

    def read(self, written: Any) -> Normalised:
        """Take it as it is."""
        if isinstance(written, bool):
            return Normalised(written)
        return Normalised(None, str(written), f"{written!r} is neither true nor false")


@dataclass(frozen=True, slots=True)
class PlainNumber(ValueType):
    """A number that is no sum of money: a count, a share, an age."""

    name = "number"
    longest = 40

    def read(self, written: Any) -> Normalised:
        """Read digits, or a word up to twenty."""
        original = " ".join(str(written).split())
        number = parse_number(plain(original))
        if number is None:
            return Normalised(None, original, f"{original!r} is no number")
        return Normalised(plain_number(number), original)


@dataclass(frozen=True, slots=True)
class PlainText(ValueType):
    """A text, of which code knows no more than the model."""

    name = "text"
    tokens = 20

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes."""
        return {"type": "string"}

    def read(self, written: Any) -> Normalised:
        """Take it without the space around it."""
        text = str(written).strip()
        return Normalised(text, text) if text else Normalised(None, None, "nothing is written")


@dataclass(frozen=True, slots=True)
class Person(ValueType):
    """A person's name: `last`, `first`, `middle`, `suffix`, `rank` (or title) and `badge`, as written, or null."""

    name = "person"
    parts = ("last", "first", "middle", "suffix", "rank", "badge")
    longest = 200

    def read(self, written: Any) -> Normalised:
        """Tell the parts apart by the rules by which records write names; two people are a problem, not a person."""
        original = str(written).strip()
        split = split_name(original)
        if split.several:
            return Normalised(None, original, "it names several people")
        first, middle = (split.given[0] if split.given else None), " ".join(split.given[1:]) or None
        suffix, rank = " ".join(split.suffixes) or None, " ".join(split.titles) or None
        beside = {"suffix": suffix, "rank": rank, "badge": split.badge}
        name = parse_name(original)
        if name is None and not split.given:
            known = {**dict.fromkeys(self.parts), **beside}
            return Normalised(known if split.badge or rank else None, original, "no name is written in it")
        if name is None or not looks_like_name(split):
            return Normalised(None, original, "it does not look like the name of a person")
        alone = "only one name is written; it is taken for the last" if not first and not rank else None
        value = {"last": " ".join(split.surname), "first": first, "middle": middle, **beside}
        return Normalised(value, original, alone)


@dataclass(frozen=True, slots=True)
class Address(ValueType):
    """A postal address: `street`, `postal_code`, `city`, `region` and `country`, each as it stands or null."""

    name = "address"
    parts = ("street", "postal_code", "city", "region", "country")
    tokens = 70

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes: the address as it stands, then its parts."""
        part = {"anyOf": [{"type": "string"}, {"type": "null"}]}
        return closed_object({ORIGINAL: {"type": "string"}, **dict.fromkeys(self.parts, part)})

    def read(self, written: Any) -> Normalised:
        """Keep the parts that stand in the address as it was copied; leave out the others and say so."""
        if not isinstance(written, Mapping):
            return Normalised(None, str(written).strip() or None, "it has no parts")
        original = " ".join(str(written.get(ORIGINAL) or "").split())
        parts = {name: " ".join(str(written.get(name) or "").split()) or None for name in self.parts}
        kept = {name: part if part and _stands_in(part, original) else None for name, part in parts.items()}
        added = [f"{name} {parts[name]!r}" for name in self.parts if parts[name] and not kept[name]]
        if not any(kept.values()):
            return Normalised(None, original or None, "no part of it stands in the address as it was copied")
        return Normalised(kept, original, f"not in the address: {', '.join(added)}" if added else None)


def _stands_in(part: str, original: str) -> bool:
    """Say whether the words of a part follow one another in the address."""
    wanted, written = words(plain(part)), words(plain(original))
    return bool(wanted) and any(written[i : i + len(wanted)] == wanted for i in range(len(written)))


@dataclass(frozen=True, slots=True)
class Table(ValueType):
    """A table of the document: its `headers`, and `rows` of as many cells each."""

    name = "table"
    parts = ("headers", "rows")
    tokens = 120

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes."""
        cells = {"type": "array", "items": {"type": "string"}}
        return closed_object({"headers": cells, "rows": {"type": "array", "items": cells}})

    def read(self, written: Any) -> Normalised:
        """Take the cells without the space around them; a row that does not fit the headers is a problem, and kept."""
        if not isinstance(written, Mapping):
            return Normalised(None, str(written), "it has no headers and rows")
        headers = [str(cell).strip() for cell in written.get("headers") or ()]
        rows = [[str(cell).strip() for cell in row] for row in written.get("rows") or ()]
        if not any(rows):
            return Normalised({"headers": headers, "rows": rows}, None, "the table has no rows")
        misfits = [f"row {n} has {len(row)}" for n, row in enumerate(rows, start=1) if len(row) != len(headers)]
        problem = f"there are {len(headers)} headers, but {', '.join(misfits[:5])} cells" if misfits else None
        return Normalised({"headers": headers, "rows": rows}, None, problem)


_LENGTHS = {
    "NO": 15,
    **dict.fromkeys(("BE", "BI"), 16),
    **dict.fromkeys(("DK", "FK", "FI", "FO", "GL", "NL", "SD"), 18),
    **dict.fromkeys(("MK", "SI"), 19),
    **dict.fromkeys(("AT", "BA", "EE", "KZ", "LT", "LU", "MN", "XK"), 20),
    **dict.fromkeys(("CH", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "BH", "CR", "DE", "GB", "GE", "IE", "ME", "RS", "VA"), 22),
    **dict.fromkeys(("AE", "GI", "IL", "IQ", "OM", "SO", "TL"), 23),
    **dict.fromkeys(("AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG"), 24),
    **dict.fromkeys(("LY", "PT", "ST"), 25),
    **dict.fromkeys(("IS", "TR"), 26),
    **dict.fromkeys(("DJ", "FR", "GR", "IT", "MC", "MR", "SM"), 27),
    **dict.fromkeys(("AL", "AZ", "BY", "CY", "DO", "GT", "HN", "HU", "LB", "NI", "PL", "SV"), 28),
    **dict.fromkeys(("BR", "EG", "PS", "QA", "UA"), 29),
    **dict.fromkeys(("JO", "KW", "MU", "YE"), 30),
    **dict.fromkeys(("MT", "SC"), 31),
    "LC": 32,
    "RU": 33,
}
"""Characters of an IBAN by country (SWIFT's IBAN registry)."""

_LABEL = re.compile(r"^\s*(?:iban(?:\s*(?:no|number|nr)\.?)?)\s*[:#]?\s*", re.IGNORECASE)
_FORM = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{1,30}")


@dataclass(frozen=True, slots=True)
class Iban(ValueType):
    """An international bank account number: `iban` without spaces, and the `country` it names."""

    name = "iban"
    parts = ("iban", "country")
    longest = 60
    tokens = 20

    def read(self, written: Any) -> Normalised:
        """Check form, length for the country, and check digits (remainder 1 by 97)."""
        original = str(written).strip()
        compact = re.sub(r"[\s.\-–]", "", _LABEL.sub("", original)).upper()
        if problem := _iban_problem(compact):
            return Normalised(None, original, problem)
        return Normalised({"iban": compact, "country": compact[:2]}, original)


def _iban_problem(compact: str) -> str | None:
    if not _FORM.fullmatch(compact):
        return "it has not the form of an IBAN: a country, two check digits and the account"
    length = _LENGTHS.get(compact[:2])
    if length is None:
        return f"no country with IBANs has the code {compact[:2]}"
    if len(compact) != length:
        return f"an IBAN of {compact[:2]} has {length} characters, not {len(compact)}"
    digits = "".join(str(int(character, 36)) for character in compact[4:] + compact[:4])
    return None if int(digits) % 97 == 1 else "its check digits do not fit"
