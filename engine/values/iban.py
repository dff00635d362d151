"""iban: an account number by ISO 13616, checked by its length and its check digits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from engine.values.base import Normalised, ValueType

LENGTHS = {
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
        if problem := _problem(compact):
            return Normalised(None, original, problem)
        return Normalised({"iban": compact, "country": compact[:2]}, original)


def _problem(compact: str) -> str | None:
    if not _FORM.fullmatch(compact):
        return "it has not the form of an IBAN: a country, two check digits and the account"
    length = LENGTHS.get(compact[:2])
    if length is None:
        return f"no country with IBANs has the code {compact[:2]}"
    if len(compact) != length:
        return f"an IBAN of {compact[:2]} has {length} characters, not {len(compact)}"
    digits = "".join(str(int(character, 36)) for character in compact[4:] + compact[:4])
    return None if int(digits) % 97 == 1 else "its check digits do not fit"
