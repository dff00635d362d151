"""Read which currency a sign, code or name means: ISO 4217 codes and CLDR's names (through Babel), ambiguity kept."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from engine.text.normalise import fold

_DOLLARS = ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD", "MXN")
_CROWNS = ("SEK", "NOK", "DKK", "ISK", "CZK")
_SIGNS: Mapping[str, tuple[str, ...]] = {
    **{"$": _DOLLARS, "us$": ("USD",), "c$": ("CAD",), "ca$": ("CAD",), "cdn$": ("CAD",), "a$": ("AUD",)},
    **{"au$": ("AUD",), "nz$": ("NZD",), "hk$": ("HKD",), "s$": ("SGD",), "r$": ("BRL",), "mx$": ("MXN",)},
    **{"nt$": ("TWD",), "€": ("EUR",), "£": ("GBP",), "¥": ("JPY", "CNY"), "₹": ("INR",), "₽": ("RUB",)},
    **{"₩": ("KRW",), "₪": ("ILS",), "₺": ("TRY",), "₴": ("UAH",), "₫": ("VND",), "₦": ("NGN",), "฿": ("THB",)},
    **{
        "zł": ("PLN",),
        "kč": ("CZK",),
        "kr": _CROWNS,
        "kr.": _CROWNS,
        "sfr": ("CHF",),
        "sfr.": ("CHF",),
        "fr.": ("CHF",),
    },
    **{"rs": ("INR", "PKR", "LKR", "NPR"), "rs.": ("INR", "PKR", "LKR", "NPR"), "rmb": ("CNY",), "stg": ("GBP",)},
}
_NAMES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("dollar", "dollars"), _DOLLARS),
    **dict.fromkeys(("u.s. dollars", "u.s. dollar", "united states dollars", "us dollars", "us dollar"), ("USD",)),
    **dict.fromkeys(("pound", "pounds"), ("GBP", "EGP", "LBP", "SYP")),
    **dict.fromkeys(("pounds sterling", "pound sterling", "sterling"), ("GBP",)),
    **dict.fromkeys(("euro", "euros"), ("EUR",)),
    **dict.fromkeys(("yen",), ("JPY",)),
    **dict.fromkeys(("renminbi", "yuan"), ("CNY",)),
    **dict.fromkeys(("franc", "francs", "franken"), ("CHF", "XAF", "XOF", "XPF")),
    **dict.fromkeys(("rupee", "rupees"), ("INR", "PKR", "LKR", "NPR")),
    **dict.fromkeys(("peso", "pesos"), ("MXN", "ARS", "CLP", "COP", "PHP", "UYU")),
    **dict.fromkeys(("crown", "crowns", "kroner", "kronor"), _CROWNS),
}


@functools.cache
def codes() -> frozenset[str]:
    """Return the ISO 4217 codes."""
    from babel.numbers import list_currencies  # noqa: PLC0415 - for schemas with amounts only

    return frozenset(list_currencies())


@functools.cache
def _named() -> Mapping[str, tuple[str, ...]]:
    """Map signs and English names, folded, to the currencies they may mean, longest first."""
    from babel.numbers import get_currency_name  # noqa: PLC0415

    found: dict[str, tuple[str, ...]] = {}
    for code in sorted(codes()):
        for count in (1, 2):
            name = fold(get_currency_name(code, count=count, locale="en"))
            if name != fold(code) and "(" not in name:
                found.setdefault(name, (code,))
    found |= {fold(name): meant for name, meant in (*_SIGNS.items(), *_NAMES.items())}
    return dict(sorted(found.items(), key=lambda item: len(item[0]), reverse=True))


@functools.cache
def signs() -> tuple[str, ...]:
    """Return all signs and names, folded, longest first."""
    return tuple(_named())


def meanings(sign: str) -> tuple[str, ...]:
    """Return the currencies that a code (in capitals), sign or name may mean, the likeliest not before the others."""
    if sign in codes():
        return (sign,)
    return _named().get(fold(sign), ())
