"""What the schema language refuses: types no value fits, and types no token mask can be made of."""

from __future__ import annotations

import math
import re
import warnings
from functools import lru_cache
from typing import Any, NamedTuple

from engine.language.position import Where
from engine.language.schema_compile import compile_leaf
from engine.language.schema_patterns import written_out
from engine.language.schema_types import ListOf, Number, Text, Type

MAX_EXACT = 2**53 - 1
"""Integers beyond it are not exact in every reader of JSON."""

MAX_DEPTH = 40
MAX_TYPES = 2000
"""Types in one schema: a definition that is referred to counts each time."""

MAX_CHOICES = 10_000
MAX_PATTERN = 20_000
_PATTERN_ADVICE = "The whole value is matched. A pattern has no look-around, back references or anchors inside."


class Contradiction(NamedTuple):
    """Why a type cannot be used, and what to write instead."""

    message: str
    advice: str = ""


def contradiction(kind: Type) -> Contradiction | None:
    """Say why no reply can have this type; None when one can. What the type holds is not looked at.

    Patterns and ranges are put to the engine of the token masks, which is loaded only for that.
    """
    match kind:
        case ListOf(least=least, most=most) if most is not None and least > most:
            return Contradiction(f"no list has at least {least} and at most {most} items")
        case Text(least=least, most=most) if most is not None and least > most:
            return Contradiction(f"no string has at least {least} and at most {most} characters")
        case Number():
            return _range_problem(kind) or _mask_problem(kind)
        case Text():
            return _pattern_problem(kind.pattern or "") or _mask_problem(kind)
    return None


def _range_problem(kind: Number) -> Contradiction | None:
    ends = [end for end in (kind.least, kind.most) if end is not None]
    if any(abs(end) > MAX_EXACT for end in ends):
        return Contradiction(
            f"a range ends at {MAX_EXACT} or before: a reply holds no greater number",
            "Leave that end open, or ask for a string.",
        )
    if len(ends) == 2 and (ends[0] > ends[1] or (ends[0] == ends[1] and (kind.above or kind.below))):
        return Contradiction(
            f"no number is in the range {kind.text()}", f"Write the smaller end first: {kind.name}(1..5)."
        )
    return None


def _pattern_problem(pattern: str) -> Contradiction | None:
    """Refuse what Python reads differently from the mask's engine, for a reply is checked in Python too."""
    if written_out(pattern) > MAX_PATTERN:
        return Contradiction(
            f"the pattern {pattern[:80]!r} is longer than {MAX_PATTERN} with its repetitions written out",
            "Repeat less, or bound the whole by a length: string(pattern)[..200].",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            re.compile(f"(?:{pattern})")
    except (re.error, FutureWarning, OverflowError, RecursionError) as error:
        return Contradiction(f"the pattern {pattern!r} is no regular expression: {error}")
    return None


@lru_cache(maxsize=256)
def _mask_problem(kind: Text | Number) -> Contradiction | None:
    from models.guides import find_refusal  # noqa: PLC0415 - it imports the mask engine

    refusal = find_refusal(compile_leaf(kind))
    if refusal is None:
        return None
    if isinstance(kind, Number):
        return Contradiction(
            f"no token mask can be made of {kind.text()}: {refusal}", "Use fewer digits for the ends of the range."
        )
    return Contradiction(f"no token mask can be made of {kind.text()}: {refusal}", _PATTERN_ADVICE)


def require_name(name: Any, where: Where) -> None:
    """Refuse what cannot be the name of a field."""
    if not isinstance(name, str) or not name.strip():
        raise where.key_error(f"a field name must be text, not {name!r}", advice="Put it in quotation marks.")
    if not is_unicode(name):
        raise where.key_error(f"the field name {name!r} holds half of a surrogate pair, which is no character")


def plain_number(literal: str | float) -> float | None:
    """Read a number, as an int where it is whole, and 0 for -0; None for one that no float holds."""
    try:
        number = int(literal) if isinstance(literal, str) else literal
    except ValueError:
        number = float(literal)
    if isinstance(number, int):
        return number if abs(number) <= MAX_EXACT else None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) <= MAX_EXACT else number


def is_unicode(text: str) -> bool:
    """Say whether a text can be written as UTF-8: it holds no half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
