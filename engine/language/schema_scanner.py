"""Step through a type text: words, strings, ranges, and errors at the place they are about."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from engine.errors import PipelineError
from engine.language.position import Where, row_and_column

MAX_TEXT = 1_000_000
MAX_EXACT = 2**53 - 1
"""Integers beyond it are not exact in every reader of JSON."""

_DOUBLE_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SINGLE_QUOTED = re.compile(r"'([^']*)'")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_SHOWN_BEFORE = 60
_SHOWN = 120

T = TypeVar("T")


class Scanner:
    """A reader over one text; `at` is the offset of the next character."""

    def __init__(self, text: str, where: Where) -> None:
        self.text = text
        self.where = where
        self.at = 0
        if len(text) > MAX_TEXT:
            raise where.error(f"the type is {len(text)} characters long; at most {MAX_TEXT} are read")

    def items(self, close: str, one: Callable[[], T]) -> list[T]:
        """Read comma-separated items up to `close`; a comma before `close` is allowed."""
        items: list[T] = []
        while not self.take(close):
            items.append(one())
            if not self.take(","):
                self.need(close)
                break
        return items

    def word(self, bare: re.Pattern[str], what: str) -> str:
        """Read a quoted string or a bare word; surrounding spaces are not part of it."""
        self.blank()
        start = self.at
        value = self.string() if self.at_quotation() else (self.match(bare) or "").strip()
        if not value:
            self.at = start
            self.fail(f"expected {what}, found {self.found()}")
        return value

    def string(self) -> str:
        """Read a string in quotation marks: double ones as in JSON, single ones as they stand."""
        start = self.at
        pattern = _DOUBLE_QUOTED if self.peek() == '"' else _SINGLE_QUOTED
        literal = self.match(pattern)
        if literal is None:
            self.fail("a quotation mark is not closed")
        value = literal[1:-1] if literal[0] == "'" else self._unescaped(literal, start)
        if not is_unicode(value):
            self.fail("half of a surrogate pair is no character", at=start)
        return value

    def _unescaped(self, literal: str, start: int) -> str:
        try:
            return str(json.loads(literal, strict=False))
        except json.JSONDecodeError:
            self.fail(f"{literal} is not a valid string", advice=r"Write \\ for a backslash.", at=start)

    def number(self, *, whole: bool) -> float | None:
        """Read a number if one stands here; `whole` refuses a fraction."""
        self.blank()
        start = self.at
        literal = self.match(_NUMBER)
        if literal is None:
            return None
        number = plain_number(literal)
        if number is None:
            self.fail(f"{literal} is too large a number", at=start)
        if whole and not isinstance(number, int):
            self.fail(f"{literal} is not a whole number", at=start)
        return number

    def blank(self) -> None:
        """Go past white space."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def at_quotation(self) -> bool:
        """Say whether a quoted string begins here."""
        return self.peek() in ('"', "'")

    def peek(self) -> str:
        """Return the next character, or nothing at the end."""
        return self.text[self.at : self.at + 1]

    def take(self, token: str) -> bool:
        """Go past white space and `token`, if that comes next."""
        self.blank()
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def need(self, token: str) -> None:
        """Go past `token`; raises PipelineError where something else stands."""
        if not self.take(token):
            self.fail(f"expected {token!r}, found {self.found()}")

    def match(self, pattern: re.Pattern[str]) -> str | None:
        """Go past what `pattern` matches here, and return it."""
        match = pattern.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match.group()

    def found(self) -> str:
        """Show the next character, for an error."""
        return repr(self.peek()) if self.peek() else "the end"

    def fail(self, message: str, *, advice: str = "", at: int | None = None) -> NoReturn:
        """Raise an error about the next character, or the one at offset `at`."""
        raise self._problem(message, advice, self.at if at is None else at)

    def _problem(self, message: str, advice: str, at: int) -> PipelineError:
        row, column = row_and_column(self.text, at)
        place = f"column {column}" if row == 1 else f"line {row}, column {column}"
        shown = f"{message} (at {place} of the type {_excerpt(self.text, at)!r})"
        return self.where.error(shown, advice=advice, inside=(row, column))


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


def _excerpt(text: str, at: int) -> str:
    if len(text) <= _SHOWN:
        return text
    begin = max(0, min(at - _SHOWN_BEFORE, len(text) - _SHOWN))
    end = begin + _SHOWN
    return ("..." if begin else "") + text[begin:end] + ("..." if end < len(text) else "")
