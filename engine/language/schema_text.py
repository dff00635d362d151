"""Read a type written as text: `list[{name: string, role: enum[officer, witness]?, said: quote}]`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Literal, NoReturn, TypeVar

from engine.errors import UsageError
from engine.language.position import Where, did_you_mean, row_and_column
from engine.language.schema_limits import MAX_CHOICES, MAX_DEPTH, contradiction, is_unicode, plain_number
from engine.language.schema_patterns import LENGTH, bare_pattern_end
from engine.language.schema_types import (
    SYNONYMS,
    VALID_TYPES,
    DictOf,
    Enum,
    Field,
    ListOf,
    Nullable,
    Number,
    NumberName,
    Quote,
    Record,
    Scalar,
    ScalarName,
    Text,
    Type,
    Value,
    either,
    inclusive,
)
from engine.values.registry import names, value_type

MAX_TEXT = 1_000_000

_WORD = re.compile(r"[^\s\[\]{}(),:?\"'|]+")
_NAME = re.compile(r"[^\[\]{}(),:?\"']+")
_NULL_WORD = re.compile(r"[^\[\]{}(),:?\"'|]+")
_ENUM_VALUE = re.compile(r"[^,\]\n]+")
_TRUTH = re.compile(r"true|false")
_OR = re.compile(r"or\s+")
_OPTION = re.compile(r"[\w.-]+")
_DIGITS = re.compile(r"[0-9]{1,6}")
_DOUBLE_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SINGLE_QUOTED = re.compile(r"'([^']*)'")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_SHOWN_BEFORE = 60
_SHOWN = 120

_HINTS = {
    "list": "Write what the list holds: list[string], or list[{name: string}].",
    "array": "Write list[string], or list[{name: string}].",
    "enum": "Write the choices: enum[low, high].",
    "null": "Write T? for a value that may be missing: string?.",
    "none": "Write T? for a value that may be missing: string?.",
    "any": "A reply needs a definite type.",
    "tuple": "Write list[T, 2..2], or an object: {first: string, second: integer}.",
    "set": "Write list[T].",
    "optional": "Write T? for a value that may be missing: string?.",
    "time": 'Write datetime, or string("[0-2][0-9]:[0-5][0-9]").',
}
TYPE_NAMES = (*SYNONYMS, "list", "enum", "quote", "dict", "object")
"""The names of types of the schema language itself; value types have others (engine.values.registry)."""

T = TypeVar("T")
V = TypeVar("V", str, float)


def parse_type(text: str, where: Where, *, depth: int = 0) -> Type:
    """Parse one type; raises PipelineError at the place in the text where it goes wrong.

    `depth`: how many lists and objects it stands in.
    """
    return _Reader(text, where, depth).whole()


class _Scanner:
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
        at = self.at if at is None else at
        row, column = row_and_column(self.text, at)
        place = f"column {column}" if row == 1 else f"line {row}, column {column}"
        shown = f"{message} (at {place} of the type {_excerpt(self.text, at)!r})"
        raise self.where.error(shown, advice=advice, inside=(row, column))


class _Reader(_Scanner):
    """A recursive-descent reader over one type text."""

    def __init__(self, text: str, where: Where, depth: int) -> None:
        super().__init__(text, where)
        self.depth = depth

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
        kind = self.alternatives()
        self.depth -= 1
        start = self.at
        if not self.match(_OR):
            return kind
        if isinstance(kind, Nullable):
            self.fail("null is allowed already", advice="Write T? or T or word, not both.", at=start)
        return self.or_word(kind)

    def alternatives(self) -> Type:
        """Read `T`, `T?`, or several with `|` between them, of which one may be null."""
        start = self.at
        options = [self.one()]
        while self.take("|"):
            options.append(self.one())
        kinds = [option for option in options if option is not None]
        if not kinds:
            self.unknown("null", start)
        return either(kinds, nullable=len(kinds) < len(options))

    def one(self) -> Type | None:
        """Read one alternative; None is null."""
        self.blank()
        kind = self.record() if self.peek() == "{" else self.named()
        return Nullable(kind) if self.take("?") and kind is not None else kind

    def or_word(self, kind: Type) -> Nullable:
        """Read the word of `string or Nothing`."""
        self.blank()
        start = self.at
        word = self.word(_NULL_WORD, "the word that stands for a missing value")
        if isinstance(kind, Enum) and word in kind.values:
            self.fail(f"{word!r} is one of the choices already", at=start)
        return Nullable(kind, word)

    def named(self) -> Type | None:
        start = self.at
        word = self.match(_WORD)
        if word is None:
            self.fail(f"expected a type, found {self.found()}", advice=f"Valid types: {', '.join(VALID_TYPES)}.")
        name = word.lower()
        if name == "null":
            return None
        return self.scalar(SYNONYMS[name], start) if name in SYNONYMS else self.compound(name, word, start)

    def compound(self, name: str, word: str, start: int) -> Type:
        """Read the rest of a type that is made of others, or of the document's text."""
        if name in self.where.types or name in names():
            return self.value_type(name, start)
        if name == "list" and self.take("["):
            return self.list_of(start)
        if name == "enum" and self.take("["):
            return self.enum(start)
        if name in ("dict", "object"):
            return self.dict_of()
        return self.quote() if name == "quote" else self.unknown(word, start)

    def value_type(self, name: str, start: int) -> Value:
        """Read the options of a value type: `amount(currency=EUR)`; a type of the pipeline has none."""
        if name in self.where.types:
            return Value(self.where.types[name])
        options = dict(self.items(")", self.option)) if self.take("(") else {}
        try:
            return Value(value_type(name, **options))
        except UsageError as error:
            self.fail(str(error), advice=error.advice, at=start)

    def option(self) -> tuple[str, str]:
        """Read `currency=EUR`."""
        name = self.word(_OPTION, "the name of an option")
        self.need("=")
        return name, self.word(_OPTION, f"the value of {name}")

    def unknown(self, word: str, start: int) -> NoReturn:
        hint = _HINTS.get(word.lower())
        listing = f"Valid types: {', '.join(VALID_TYPES)}."
        guess = did_you_mean(word.lower(), (*TYPE_NAMES, *names(), *self.where.types)).partition("Valid here")[0]
        message = (
            f"type {word!r} is incomplete" if word.lower() in ("list", "enum", "null") else f"unknown type {word!r}"
        )
        self.fail(message, advice=f"{hint} {listing}" if hint else f"{guess}{listing}", at=start)

    def scalar(self, name: ScalarName, start: int) -> Type:
        """Read what may follow a plain type: its pattern, length, range or choices."""
        match name:
            case "string" if self.peek() in ("(", "["):
                return self.checked(self.string_type(), start)
            case "date" if self.peek() == "(":
                return self.value_type(name, start)
            case "integer" | "float" if self.take("("):
                return self.checked(self.range(name), start)
            case "integer" | "float" | "boolean" if self.take("["):
                return self.choices(name, start)
        return Scalar(name)

    def checked(self, kind: Type, start: int) -> Type:
        """Refuse a type that no value fits, or that no token mask can be made of."""
        if problem := contradiction(kind):
            self.fail(problem.message, advice=problem.advice, at=start)
        return kind

    def string_type(self) -> Text:
        pattern = self.pattern() if self.take("(") else None
        if not self.take("["):
            return Text(pattern)
        least, most = self.counts("characters")
        self.need("]")
        return Text(pattern, least, most)

    def pattern(self) -> str:
        """Read a regular expression in quotation marks, or bare up to the parenthesis that closes the type."""
        self.blank()
        start = self.at
        if self.at_quotation():
            pattern = self.string()
            self.need(")")
            return pattern
        end = bare_pattern_end(self.text, self.at)
        if end is None:
            self.fail("the pattern is not closed", advice="Put it in quotation marks: string('...').", at=start)
        pattern = self.text[start:end].strip()
        if not pattern:
            self.fail("the pattern is empty", at=start)
        if LENGTH.fullmatch(pattern):
            self.fail(
                f"{pattern!r} is read as a regular expression",
                advice=f"Write a length as string[{pattern}], and such a pattern in quotation marks.",
                at=start,
            )
        self.at = end + 1
        return pattern

    def range(self, name: NumberName) -> Number:
        """Read the range of `number(0..1)`; a `<` beside the dots leaves the end itself out."""
        least = self.number(whole=name == "integer")
        above = least is not None and self.take("<")
        if not self.take(".."):
            self.fail(f"expected a range, found {self.found()}", advice=f"For example: {name}(0..1), {name}(1..).")
        below = self.take("<")
        start = self.at
        most = self.number(whole=name == "integer")
        if most is None and (below or least is None):
            self.fail(f"expected a number, found {self.found()}", at=start)
        self.need(")")
        return inclusive(Number(name, least, most, above, below))

    def choices(self, name: Literal["integer", "float", "boolean"], start: int) -> Enum:
        """Read the values of `integer[1, 2, 4]`."""
        if name == "boolean":
            return Enum(self.distinct([w == "true" for w in self.items("]", self.truth)], start), name)
        return Enum(self.distinct(self.items("]", lambda: self.value(name)), start), name)

    def truth(self) -> str:
        self.blank()
        return self.match(_TRUTH) or self.fail(f"expected true or false, found {self.found()}")

    def value(self, name: NumberName) -> float:
        number = self.number(whole=name == "integer")
        return self.fail(f"expected a number, found {self.found()}") if number is None else number

    def enum(self, start: int) -> Enum:
        return Enum(self.distinct(self.items("]", self.choice), start))

    def choice(self) -> str:
        """Read one choice; the empty text is one too, in quotation marks."""
        self.blank()
        return self.string() if self.at_quotation() else self.word(_ENUM_VALUE, "a choice")

    def distinct(self, values: list[V], start: int) -> tuple[V, ...]:
        if not values:
            self.fail("an enum needs at least one choice", at=start)
        if len(set(values)) < len(values):
            self.fail(f"the choice {_repeated(values)!r} is written twice", at=start)
        if len(values) > MAX_CHOICES:
            self.fail(f"an enum has at most {MAX_CHOICES} choices, not {len(values)}", at=start)
        return tuple(values)

    def list_of(self, start: int) -> Type:
        """Read the rest of `list[T]`, `list[T, 8]` or `list[T, 2..8]`."""
        item = self.type()
        least, most = self.counts("items") if self.take(",") else (0, None)
        self.need("]")
        return self.checked(ListOf(item, most, least), start)

    def counts(self, what: str) -> tuple[int, int | None]:
        """Read `8` (at most), `2..8`, `2..` or `..8`."""
        self.blank()
        start = self.at
        low = self.match(_DIGITS)
        is_range = self.take("..")
        self.blank()
        high = self.match(_DIGITS) if is_range else low
        if not (low or high) or (high and int(high) < 1):
            self.fail(
                f"here comes the largest number of {what}, at least 1, or a range such as 2..8",
                advice="Both ends are included; 2.. has no upper end.",
                at=start,
            )
        return (int(low or 0) if is_range else 0), int(high) if high else None

    def dict_of(self) -> DictOf:
        """Read the rest of `dict[T]`; `dict` alone, and `object`, hold strings."""
        if not self.take("["):
            return DictOf(Scalar("string"))
        kind = self.type()
        self.need("]")
        return DictOf(kind)

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
            self.fail(f"the field {_repeated(names)!r} is written twice", at=start)
        return Record(tuple(fields))

    def field(self) -> Field:
        name = self.word(_NAME, "a field name")
        self.need(":")
        kind = self.type()
        self.blank()
        description = self.string() if self.at_quotation() else ""
        return Field(name, kind, description)


def _repeated(values: list[V]) -> V:
    seen: set[V] = set()
    return next(v for v in values if v in seen or seen.add(v))  # type: ignore[func-returns-value]


def _excerpt(text: str, at: int) -> str:
    if len(text) <= _SHOWN:
        return text
    begin = max(0, min(at - _SHOWN_BEFORE, len(text) - _SHOWN))
    end = begin + _SHOWN
    return ("..." if begin else "") + text[begin:end] + ("..." if end < len(text) else "")
