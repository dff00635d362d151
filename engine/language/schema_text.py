"""Read a type written as text: `list[{name: string, role: enum[officer, witness]?, said: quote}]`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from engine.errors import PipelineError
from engine.language.position import Where, did_you_mean, row_and_column
from engine.language.schema_types import (
    SYNONYMS,
    VALID_TYPES,
    Enum,
    Field,
    ListOf,
    Nullable,
    Quote,
    Record,
    Scalar,
    Type,
)

MAX_DEPTH = 40
MAX_TEXT = 20_000

_WORD = re.compile(r"[^\s\[\]{}(),:?\"']+")
_NAME = re.compile(r"[^\[\]{}(),:?\"']+")
_ENUM_VALUE = re.compile(r"[^,\]\n]+")
_DOUBLE_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SINGLE_QUOTED = re.compile(r"'([^']*)'")

_HINTS = {
    "list": "Write what the list holds: list[string], or list[{name: string}].",
    "array": "Write list[string], or list[{name: string}].",
    "dict": "Write the fields: {name: string, age: integer}.",
    "object": "Write the fields: {name: string, age: integer}.",
    "enum": "Write the choices: enum[low, high].",
    "null": "Write T? for a value that may be missing: string?.",
    "none": "Write T? for a value that may be missing: string?.",
    "any": "A reply needs a definite type.",
}
_OR = re.compile(r"or\s+")
_DIGITS = re.compile(r"[0-9]{1,6}")

_NAMES = (*SYNONYMS, "list", "enum", "quote")

T = TypeVar("T")


def parse_type(text: str, where: Where) -> Type:
    """Parse one type; raises PipelineError at the place in the text where it goes wrong."""
    return _Reader(text, where).whole()


class _Reader:
    """A recursive-descent reader over one type text; `at` is the offset of the next character."""

    def __init__(self, text: str, where: Where) -> None:
        self.text = text
        self.where = where
        self.at = 0
        self.depth = 0
        if len(text) > MAX_TEXT:
            raise where.error(f"the type is {len(text)} characters long; at most {MAX_TEXT} are read")

    def whole(self) -> Type:
        kind = self.type()
        self.blank()
        if self.at < len(self.text):
            self.fail(f"unexpected {self.text[self.at]!r} after the type {kind.text()}")
        return kind

    def type(self) -> Type:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"the type is nested more than {MAX_DEPTH} deep")
        self.blank()
        kind = self.record() if self.peek() == "{" else self.named()
        self.depth -= 1
        if self.take("?"):
            return Nullable(kind)
        if self.match(_OR):
            return self.or_word(kind)
        return kind

    def or_word(self, kind: Type) -> Nullable:
        """Read the word of `string or Nothing`."""
        start = self.at
        word = self.word(_NAME, "the word that stands for a missing value")
        if isinstance(kind, Enum) and word in kind.values:
            self.fail(f"{word!r} is one of the choices already", at=start)
        return Nullable(kind, word)

    def named(self) -> Type:
        start = self.at
        word = self.match(_WORD)
        if word is None:
            self.fail(f"expected a type, found {self.found()}", advice=f"Valid types: {', '.join(VALID_TYPES)}.")
        name = word.lower()
        if name == "list" and self.take("["):
            item = self.type()
            most = self.most_items() if self.take(",") else None
            self.need("]")
            return ListOf(item, most)
        if name == "enum" and self.take("["):
            return self.enum(start)
        if name == "quote":
            return self.quote()
        if name in SYNONYMS:
            return Scalar(SYNONYMS[name])
        return self.unknown(word, start)

    def most_items(self) -> int:
        """Read the bound of `list[T, 8]`."""
        self.blank()
        start = self.at
        digits = self.match(_DIGITS) or ""
        if not digits or int(digits) < 1:
            self.fail("after the comma comes the largest number of items, at least 1", at=start)
        return int(digits)

    def unknown(self, word: str, start: int) -> NoReturn:
        hint = _HINTS.get(word.lower())
        listing = f"Valid types: {', '.join(VALID_TYPES)}."
        guess = did_you_mean(word.lower(), _NAMES).partition("Valid here")[0]
        message = f"type {word!r} is incomplete" if word.lower() in ("list", "enum") else f"unknown type {word!r}"
        self.fail(message, advice=f"{hint} {listing}" if hint else f"{guess}{listing}", at=start)

    def enum(self, start: int) -> Enum:
        values = self.items("]", lambda: self.word(_ENUM_VALUE, "a choice"))
        if not values:
            self.fail("an enum needs at least one choice", at=start)
        if len(set(values)) < len(values):
            twice = next(v for v in values if values.count(v) > 1)
            self.fail(f"the choice {twice!r} is written twice", at=start)
        return Enum(tuple(values))

    def quote(self) -> Quote:
        if not self.take("("):
            return Quote()
        source = self.word(_NAME, "the field to quote from")
        about = self.word(_NAME, "the field that names a person") if self.take(",") else None
        self.need(")")
        return Quote(source, about)

    def record(self) -> Record:
        start = self.at
        self.need("{")
        fields = self.items("}", self.field)
        if not fields:
            self.fail("an object needs at least one field", at=start)
        names = [f.name for f in fields]
        if len(set(names)) < len(names):
            twice = next(n for n in names if names.count(n) > 1)
            self.fail(f"the field {twice!r} is written twice", at=start)
        return Record(tuple(fields))

    def field(self) -> Field:
        name = self.word(_NAME, "a field name")
        self.need(":")
        kind = self.type()
        self.blank()
        description = self.string() if self.at_quotation() else ""
        return Field(name, kind, description)

    def items(self, close: str, one: Callable[[], T]) -> list[T]:
        """Read comma-separated items up to `close`; a comma before `close` is allowed."""
        found: list[T] = []
        while not self.take(close):
            found.append(one())
            if not self.take(","):
                self.need(close)
                break
        return found

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
        start = self.at
        pattern = _DOUBLE_QUOTED if self.peek() == '"' else _SINGLE_QUOTED
        literal = self.match(pattern)
        if literal is None:
            self.fail("a quotation mark is not closed")
        if literal[0] == "'":
            return literal[1:-1]
        try:
            return str(json.loads(literal, strict=False))
        except json.JSONDecodeError:
            self.fail(f"{literal} is not a valid string", advice=r"Write \\ for a backslash.", at=start)

    def blank(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def at_quotation(self) -> bool:
        return self.peek() in ('"', "'")

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, token: str) -> bool:
        self.blank()
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def need(self, token: str) -> None:
        if not self.take(token):
            self.fail(f"expected {token!r}, found {self.found()}")

    def match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found.group()

    def found(self) -> str:
        return repr(self.peek()) if self.peek() else "the end"

    def fail(self, message: str, *, advice: str = "", at: int | None = None) -> NoReturn:
        raise self.problem(message, advice, self.at if at is None else at)

    def problem(self, message: str, advice: str, at: int) -> PipelineError:
        row, column = row_and_column(self.text, at)
        place = f"column {column}" if row == 1 else f"line {row}, column {column}"
        shown = f"{message} (at {place} of the type {_shorten(self.text)!r})"
        return self.where.error(shown, advice=advice, inside=(row, column))


def _shorten(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."
