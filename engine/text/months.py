"""The names of months and currencies in several languages, from CLDR (through Babel)."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from engine.text.normalise import fold

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "sv", "da")
"""Languages whose months are known. Those whose dates are written in other scripts or orders are not among them."""

_ALSO = {"sept": 9, "setembre": 9}


@functools.cache
def month_numbers() -> Mapping[str, int]:
    """Map names of months, folded and without a final point, to 1..12; names that mean two months are left out."""
    from babel import Locale  # noqa: PLC0415 - 20 ms, for schemas with dates only

    found: dict[str, set[int]] = {name: {number} for name, number in _ALSO.items()}
    for language in LANGUAGES:
        locale = Locale(language)
        for form in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in locale.months[form][width].items():
                    found.setdefault(fold(name).rstrip("."), set()).add(number)
    return {name: min(numbers) for name, numbers in found.items() if len(numbers) == 1 and not name.isdigit()}
