"""Read one number as documents write it: separators of several countries, scales, and words, ambiguity kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from engine.text.numbers import WORD_NUMBERS

FIGURES = r"\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d[\d.,]*\d|\d|\.\d+"
_INDIAN = re.compile(r"\d{1,2}(?:,\d\d)+,\d{3}(?:\.\d+)?")
_SCALES = {
    **{"hundred": 2, "thousand": 3, "tausend": 3, "mille": 3, "k": 3, "lakh": 5, "lakhs": 5, "million": 6},
    **{"millions": 6, "millionen": 6, "mio": 6, "mn": 6, "mm": 6, "m": 6, "crore": 7, "crores": 7},
    **{"billion": 9, "billions": 9, "bn": 9, "milliarden": 9, "milliards": 9, "mrd": 9, "trillion": 12},
}
SCALES = "|".join(sorted(_SCALES, key=len, reverse=True))

_UNITS = {word: number for word, number in WORD_NUMBERS.items() if number < 20}
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_STEPS = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
WORD_NUMBER = re.compile(
    r"\b(?:(?:{0})(?:[\s-]+(?:and\s+)?|\b))*(?:{0})\b".format(
        "|".join(sorted((*_UNITS, *_TENS, "hundred", *_STEPS), key=len, reverse=True))
    )
)

_PARTS = {
    **{"half": Decimal("0.5"), "one half": Decimal("0.5"), "a half": Decimal("0.5"), "quarter": Decimal("0.25")},
    **{"a quarter": Decimal("0.25"), "one quarter": Decimal("0.25"), "three quarters": Decimal("0.75")},
}
_PART_BEFORE = re.compile(
    r"(?:\b(?P<whole>[a-z-]+|\d+)\s+and\s+(?P<more>a half|one[ -]half|a quarter|one[ -]quarter|three[ -]quarters)"
    r"|\b(?P<part>(?:a |one[ -])?half|(?:a |one[ -])?quarter|three[ -]quarters)(?:\s+of)?\s+an?)\s+$"
)
_VAGUE_BEFORE = re.compile(r"\b(?:several|few|some|many|couple|couple of|dozens?|dozens of|tens of|hundreds of)\s+$")
_SIGNED_FRACTION = re.compile(rf"(?<![\d.,])(\d*)\s?([½¼¾])|(?<![\d.,/])(\d+) ([13])/([24])(?=\s*(?:{SCALES})\b)")


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, None where it can be read in two ways; `problem` says which."""

    number: Decimal | None
    problem: str | None = None


def read_figure(text: str, decimal: str = "", scale: str = "") -> Figure:
    """Read digits with separators, times a scale word. `decimal` says which mark separates the fraction.

    Where it is not declared, what only one reading allows is taken (1.200,50 and 1,200.50 and 12.5), a comma before
    three digits parts thousands, as in English, and a single point before three digits is a problem.
    """
    compact = re.sub(r"[ \u00a0\u202f'’]", "", text)
    compact = f"0{compact}" if compact.startswith(".") else compact
    if problem := _ambiguous(compact, decimal):
        return Figure(None, problem)
    mark = {"point": ".", "comma": ","}.get(decimal) or _fraction_mark(compact)
    other = "," if mark == "." else "."
    whole, _, fraction = compact.rpartition(mark) if mark and compact.count(mark) == 1 else (compact, "", "")
    if mark and compact.count(mark) > 1 and decimal:
        return Figure(None, f"{text} has several decimal {decimal}s")
    groups = (whole or compact).split(other if mark else "," if "," in compact else ".")
    grouped = len(groups) == 1 or all(len(group) == 3 for group in groups[1:]) or _INDIAN.fullmatch(compact)
    if not grouped or not all(part.isdigit() for part in (*groups, *([fraction] if fraction else ()))):
        return Figure(None, f"{text} is no number in any usual form")
    number = Decimal("".join(groups) + (f".{fraction}" if fraction else ""))
    return Figure(number * (10 ** _SCALES[scale]) if scale else number)


def _ambiguous(compact: str, decimal: str) -> str | None:
    if not decimal and re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", compact):
        whole, _, rest = compact.partition(".")
        return f"{compact} may be {whole}{rest} or {whole} and a fraction: declare decimal=point or decimal=comma"
    return None


def _fraction_mark(compact: str) -> str:
    """Find the mark that must separate the fraction; "" where there is none."""
    last = max(compact.rfind("."), compact.rfind(","))
    if last < 0:
        return ""
    mark, behind = compact[last], len(compact) - last - 1
    both = "." in compact and "," in compact
    if both:
        return mark
    if compact.count(mark) > 1:
        return ""
    return "" if behind == 3 and mark == "," else mark


def read_words(text: str) -> Decimal | None:
    """Read a number in English words ('two hundred fifty thousand'), folded; None for what is no number."""
    total = current = 0
    tokens = [token for token in re.split(r"[\s-]+", text) if token and token != "and"]
    for token in tokens:
        if token in _STEPS:
            total, current = total + max(current, 1) * _STEPS[token], 0
        elif token == "hundred":
            current = max(current, 1) * 100
        elif token in _UNITS or token in _TENS:
            current += _UNITS.get(token, _TENS.get(token, 0))
        else:
            return None
    return Decimal(total + current) if tokens else None


def read_words_in(text: str, match: re.Match[str]) -> tuple[Figure | None, int]:
    """Read a WORD_NUMBER of a folded text with what stands before a 'million' alone; return it and where it begins."""
    number, begin = read_words(match[0]), match.start()
    if number is None or not re.match(r"hundred|thousand|million|billion|trillion", match[0]):
        return (None if number is None else Figure(number)), begin
    if vague := _VAGUE_BEFORE.search(text, 0, begin):
        return Figure(None, f"{text[vague.start() : match.end()]} is no number in particular"), vague.start()
    part = _PART_BEFORE.search(text, 0, begin)
    if part is None:
        return Figure(number), begin
    share = _PARTS[(part["more"] or part["part"]).replace("-", " ")]
    whole = part["whole"]
    count = Decimal(0) if whole is None else Decimal(whole) if whole.isdigit() else read_words(whole)
    if count is None:
        return Figure(None, f"{text[part.start() : match.end()]} is no number in any usual form"), part.start()
    return Figure(number * (count + share)), part.start()


def with_decimals(text: str) -> str:
    """Write '2½' and '2 1/2 million' as 2.5."""

    def decimals(match: re.Match[str]) -> str:
        if match[2]:
            return f"{match[1] or 0}{ {'½': '.5', '¼': '.25', '¾': '.75'}[match[2]] }"
        return f"{match[3]}{str(Decimal(match[4]) / Decimal(match[5])).removeprefix('0')}"

    return _SIGNED_FRACTION.sub(decimals, text)


def plain_number(number: Decimal) -> int | float:
    """Return a number as JSON holds it: whole where it is."""
    return int(number) if number == number.to_integral_value() else float(number)
