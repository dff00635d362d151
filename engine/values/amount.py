"""amount: a sum of money with its currency, and what it is for each of (per claim)."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from engine.errors import UsageError
from engine.language.position import did_you_mean
from engine.text.dates import date_mentions
from engine.text.normalise import fold, plain
from engine.values.base import Normalised, ValueType
from engine.values.figures import (
    FIGURES,
    SCALES,
    WORD_NUMBER,
    Figure,
    plain_number,
    read_figure,
    read_words,
    read_words_in,
    with_decimals,
)

_UNIT = re.compile(
    r"(?:/|\b(?:per(?!\s?cent)|each|every|pro|je|an(?=\s+hour)"
    r"|a(?=\s+(?:day|week|month|year|quarter|night|claim|unit|piece|share)))\b)\s*[^,;()]{1,60}"
    r"|\b(?:monthly|weekly|yearly|annually|daily|hourly|quarterly)\b|\bp\.[am]\.",
    re.IGNORECASE,
)

_COUNTED = re.compile(
    r"\)?\s*(?:(?:calendar|business|working|consecutive)\s+)?"
    r"(?:days?|weeks?|months?|years?|hours?|minutes?|per\s?cent|times)\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"\b(?:sections?|articles?|clauses?|paragraphs?|exhibits?|schedules?|pages?|no\.?|#)\s*\(?$", re.IGNORECASE
)
_RANGE = re.compile(r"\d\s?-\s?\D{0,4}\d")
_DASH_BEFORE = re.compile(r"(?<![\w)\]\"'.%:-])-(\s*)$")
"""A dash before the sign of a sum, that is not joined to the word before it (Bail-$5,000)."""
_HUNDREDTHS = re.compile(
    rf",?\s+(?:and\s+)?(?:(?P<written>\d\d?|no)/100(?!\d)|(?P<cents>\d\d?|{WORD_NUMBER.pattern})\s+(?:cents?|pence)\b"
    r"|and\s+(?P<half>a)\s+half\b)"
)
"""What is written behind a sum and belongs to it: 'and 50/100', 'and fifty cents'."""

_LEFT = re.compile(
    r"\bhalf\s+a\s+(?:hundred|thousand|million|billion|dollar)\b|\band\s+(?:a|one)[\s-]half\b"
    r"|\band\s+[\w -]{1,40}?\bcents?\b|\d/100\b",
    re.IGNORECASE,
)
"""Parts of a sum that no rule has read."""

_CODES_THAT_ARE_WORDS = frozenset(
    ("all", "bam", "cad", "cop", "cup", "gel", "mad", "mop", "pen", "ron", "sos", "top", "try")
)
"""Codes of currencies that are no currency in small letters: the top 2, all 5."""


@dataclass(frozen=True, slots=True)
class _Sum:
    figure: Figure
    meant: tuple[str, ...]
    sign: str
    begin: int
    end: int
    is_negative: bool = False
    sign_problem: str | None = None


@dataclass(frozen=True, slots=True)
class Amount(ValueType):
    """A sum of money: `value`, `currency` (ISO 4217) and `unit`, such as `per claim`, or null.

    `currency` is the meaning of a sign that several currencies share ($), or of no sign; `decimal` (point or comma)
    is the mark that separates the fraction in 1.200.
    """

    name = "amount"
    parts = ("value", "currency", "unit")
    option_names = ("currency", "decimal")
    tokens = 10

    currency: str = ""
    decimal: str = ""

    def __post_init__(self) -> None:
        if self.currency and self.currency not in codes():
            raise UsageError(
                f"{self.currency!r} is no currency", advice="Write an ISO 4217 code in capitals: USD, EUR, GBP."
            )
        if self.decimal not in ("", "point", "comma"):
            advice = did_you_mean(self.decimal, ("point", "comma"))
            raise UsageError(f"{self.decimal!r} is no decimal mark", advice=advice)

    def read(self, written: Any) -> Normalised:
        """Read the one sum that the text names: figures before words, which must agree with them."""
        original = str(written).strip()
        text = plain(with_decimals(original))
        sums = _without_other_numbers(text, _sums(text, self.decimal))
        if not sums:
            is_range = _RANGE.search(text) is not None
            return Normalised(None, original, "it is a range of numbers" if is_range else "no number is written in it")
        if len({each.figure.number for each in sums}) > 1:
            amounts = ", ".join(text[each.begin : each.end].strip() for each in sums)
            return Normalised(None, original, f"it names {len(sums)} amounts: {amounts}")
        first = sums[0]
        if first.figure.number is None or first.sign_problem:
            return Normalised(None, original, first.figure.problem or first.sign_problem)
        unit = _UNIT.search(text, max(each.end for each in sums))
        if left := _LEFT.search(_without(text, sums)):
            return Normalised(None, original, f"it has a part that is not read: {left[0]}")
        code, problem = self._currency(text, sums, unit[0] if unit else "")
        number = -first.figure.number if any(each.is_negative for each in sums) else first.figure.number
        value = {"value": plain_number(number), "currency": code, "unit": unit[0].strip() if unit else None}
        return Normalised(value, original, problem or _accounting(text))

    def mentions(self, text: str) -> Sequence[tuple[int, int]]:
        """List the sums of a text that have a currency; one that is written in words and figures stands twice."""
        return [(each.begin, each.end) for each in _sums(text, self.decimal) if each.meant]

    def _currency(self, text: str, sums: Sequence[_Sum], unit: str) -> tuple[str | None, str | None]:
        """Return the currency that all mentions of the sum allow, and what is unclear about it."""
        declared = self.currency
        signed = [each for each in sums if each.meant]
        if not signed:
            bare = not re.search(r"[^\W\d_]", _without(text, sums).replace(unit, ""))
            problem = "no currency is written" if declared else "no currency is written, and none is declared"
            return (declared, None) if declared and bare else (None, problem)
        shared = [code for code in signed[0].meant if all(code in each.meant for each in signed)]
        if len(shared) == 1 or declared in shared:
            return (shared[0] if len(shared) == 1 else declared), None
        several = ", ".join(shared or [each.sign for each in signed])
        if not shared:
            return None, f"it names several currencies: {several}"
        return None, f"{signed[0].sign} may be {several}: declare which, as in amount(currency={shared[0]})"


def _without_other_numbers(text: str, sums: list[_Sum]) -> list[_Sum]:
    """Leave out numbers of something else where a sum with its currency is there: days, sections, parts of dates."""
    if not any(each.meant for each in sums):
        return sums
    days = [(day.begin, day.end) for day in date_mentions(text) if day.iso is None or len(day.iso) > len("2024")]
    return [each for each in sums if each.meant or not _is_of_something_else(text, each, days)]


def _is_of_something_else(text: str, number: _Sum, days: Sequence[tuple[int, int]]) -> bool:
    inside = any(begin <= number.begin and number.end <= end for begin, end in days)
    behind, before = _COUNTED.match(text, number.end), _NUMBERED.search(text, 0, number.begin)
    return inside or behind is not None or before is not None


def _without(text: str, sums: Sequence[_Sum]) -> str:
    """Cut sums, given in order of place, out of a text."""
    for each in reversed(sums):
        text = text[: each.begin] + text[each.end :]
    return text


def _accounting(text: str) -> str | None:
    """Note a sum that stands alone in parentheses."""
    return "it is in parentheses, as accounts write negative sums" if re.fullmatch(r"\([^()]*\)", text) else None


def _sums(text: str, decimal: str) -> list[_Sum]:
    """List the sums of a text with their currency signs, in order of place."""
    folded = fold(text) if len(fold(text)) == len(text) else text.lower()
    sums = [_written(m, text, decimal) for m in _figures().finditer(folded)]
    for m in WORD_NUMBER.finditer(folded):
        figure, begin = read_words_in(folded, m)
        inside = any(each.begin < m.end() and begin < each.end for each in sums)
        if figure is not None and not inside and _is_sum_in_words(folded, m, figure.number):
            behind = _behind().match(folded, m.end())
            name = behind["name"] if behind else ""
            if behind and behind["hundredths"] and figure.number is not None:
                figure = Figure(figure.number + _hundredths(behind["hundredths"]))
            sums.append(_Sum(figure, meanings(name), name, begin, behind.end() if behind else m.end()))
    return _signed(_completed(sorted(sums, key=lambda each: each.begin), folded), folded)


def _completed(sums: list[_Sum], folded: str) -> list[_Sum]:
    """Add to each sum the hundredths that are written behind it."""
    whole: list[_Sum] = []
    for each in sums:
        if whole and each.begin < whole[-1].end:
            continue  # these cents belong to the sum before
        more = _HUNDREDTHS.match(folded, each.end) if each.meant and each.figure.number is not None else None
        if more and each.figure.number is not None:
            number = each.figure.number + _hundredths("50" if more["half"] else more["written"] or more["cents"])
            each = replace(each, figure=Figure(number), end=more.end())  # noqa: PLW2901 - the same sum
        whole.append(each)
    return whole


def _hundredths(text: str) -> Decimal:
    number = Decimal(0) if text == "no" else Decimal(text) if text.isdigit() else read_words(text)
    return (number or Decimal(0)) / 100


def _signed(sums: list[_Sum], folded: str) -> list[_Sum]:
    """Take the word for a minus before a sum for one."""
    words = [re.search(r"\b(?:minus|negative)\s+$", folded[: each.begin]) for each in sums]
    return [replace(each, is_negative=True) if word else each for each, word in zip(sums, words, strict=True)]


def _written(match: re.Match[str], text: str, decimal: str) -> _Sum:
    """Read a sum in figures; a dash right before it is a minus, one with a space behind it may be a list's mark."""
    figure = read_figure(match["figure"], decimal, match["scale"] or "")
    minus = _DASH_BEFORE.search(text[: match.start()]) or re.search(r"-(\s*)$", match["minus"] or "")
    apart = minus is not None and bool(minus[1])
    problem = f"the dash before {match['figure']} may be a minus" if apart else None
    if match["tail"] == "-":
        problem = f"the dash behind {match['figure']} may be a minus"
    place = match.start(), match.end()
    return _Sum(
        figure, *_meaning(match, text), *place, is_negative=minus is not None and not apart, sign_problem=problem
    )


def _is_sum_in_words(folded: str, match: re.Match[str], number: Decimal | None) -> bool:
    """Say whether words for a number are a sum: a currency follows them, or figures in parentheses, or it is large."""
    is_large = number is None or number >= 1000
    return bool(_behind().match(folded, match.end())) or is_large or folded.strip() == match[0]


def _meaning(match: re.Match[str], text: str) -> tuple[tuple[str, ...], str]:
    """Return what the sign beside a figure may mean, and the sign as written."""
    for group in ("codebefore", "before", "codeafter", "after"):
        if match[group]:
            sign = text[match.start(group) : match.end(group)]
            if group.startswith("code"):
                sign = sign if sign.casefold() in _CODES_THAT_ARE_WORDS else sign.upper()
            if meant := meanings(sign):
                return meant, text[match.start(group) : match.end(group)]
    return (), ""


@functools.cache
def _figures() -> re.Pattern[str]:
    names = "|".join(re.escape(name) + (r"(?![a-z])" if name[-1].isalpha() else "") for name in signs())
    code = "|".join(sorted(fold(c) for c in codes()))
    return re.compile(
        rf"(?:(?<![a-z])(?:(?P<codebefore>{code})\s?\$?|(?P<before>{names}))\s*(?:of\s+)?|(?<![\w.,/-]))(?P<minus>-\s?)?"
        rf"(?<![a-z]-)(?P<figure>{FIGURES})(?!\d)(?P<tail>[.,]?(?:-{{1,2}}|–|—)(?!\w))?"
        rf"(?:\s*(?P<scale>{SCALES})(?![a-z])\.?)?(?!\s*%)(?![-/]\d)"
        rf"(?:\s*(?:\([a-z ,-]+\)\s*)?(?:(?P<codeafter>{code})(?![a-z])|(?P<after>{names})))?"
    )


@functools.cache
def _behind() -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in signs() if name[-1].isalpha())
    return re.compile(rf"\s+(?:and\s+(?P<hundredths>\d\d?|no)/100\s+)?(?:of\s+)?(?P<name>{names})(?![a-z])")


_DOLLARS = ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD", "MXN")
_CROWNS = ("SEK", "NOK", "DKK", "ISK", "CZK")
_SIGNS: Mapping[str, tuple[str, ...]] = {
    **{"$": _DOLLARS, "us$": ("USD",), "c$": ("CAD",), "ca$": ("CAD",), "cdn$": ("CAD",), "a$": ("AUD",)},
    **{"au$": ("AUD",), "nz$": ("NZD",), "hk$": ("HKD",), "s$": ("SGD",), "r$": ("BRL",), "mx$": ("MXN",)},
    **{"nt$": ("TWD",), "€": ("EUR",), "£": ("GBP",), "¥": ("JPY", "CNY"), "₹": ("INR",), "₽": ("RUB",)},
    **{"₩": ("KRW",), "₪": ("ILS",), "₺": ("TRY",), "₴": ("UAH",), "₫": ("VND",), "₦": ("NGN",), "฿": ("THB",)},
    **{"zł": ("PLN",), "kč": ("CZK",), "kr": _CROWNS, "kr.": _CROWNS},
    **dict.fromkeys(("sfr", "sfr.", "fr."), ("CHF",)),
    **{"rs": ("INR", "PKR", "LKR", "NPR"), "rs.": ("INR", "PKR", "LKR", "NPR"), "rmb": ("CNY",), "stg": ("GBP",)},
}
_NAMES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("dollar", "dollars"), _DOLLARS),
    **dict.fromkeys(("u.s. dollars", "u.s. dollar", "united states dollars", "us dollars", "us dollar"), ("USD",)),
    **dict.fromkeys(("pound", "pounds"), ("GBP", "EGP", "LBP", "SYP")),
    **dict.fromkeys(("pounds sterling", "pound sterling", "sterling"), ("GBP",)),
    **dict.fromkeys(("euro", "euros"), ("EUR",)),
    "yen": ("JPY",),
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

    names: dict[str, tuple[str, ...]] = {}
    for code in sorted(codes()):
        for count in (1, 2):
            name = fold(get_currency_name(code, count=count, locale="en"))
            if name != fold(code) and "(" not in name:
                names.setdefault(name, (code,))
    names |= {fold(name): meant for name, meant in (*_SIGNS.items(), *_NAMES.items())}
    return dict(sorted(names.items(), key=lambda item: len(item[0]), reverse=True))


@functools.cache
def signs() -> tuple[str, ...]:
    """Return all signs and names, folded, longest first."""
    return tuple(_named())


def meanings(sign: str) -> tuple[str, ...]:
    """Return the currencies that a code (in capitals), sign or name may mean, the likeliest not before the others."""
    if sign in codes():
        return (sign,)
    return _named().get(fold(sign), ())
