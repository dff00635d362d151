"""The type tree of the schema language. `text()` writes each type so that parsing it gives the same tree."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from engine.language.schema_patterns import write_pattern
from engine.values.base import ValueType

ScalarName = Literal["string", "integer", "float", "boolean", "date", "datetime"]
NumberName = Literal["integer", "float"]

SYNONYMS: dict[str, ScalarName] = {
    "string": "string",
    "str": "string",
    "text": "string",
    "varchar": "string",
    "integer": "integer",
    "int": "integer",
    "float": "float",
    "number": "float",
    "decimal": "float",
    "boolean": "boolean",
    "bool": "boolean",
    "date": "date",
    "datetime": "datetime",
}

VALID_TYPES = (
    *SYNONYMS,
    *("string(pattern)", "string[2..80]", "integer(1..5)", "number(0..1)", "integer[1, 2, 4]"),
    *("amount", "date(order=DMY)", "date_range", "person", "address", "table", "iban"),
    *("list[T]", "list[T, 2..8]", "{name: T, ...}", "dict[T]", "enum[a, b, ...]"),
    *("quote", "quote(field)", "T?", "T or word", "T | T"),
)

_PLAIN = re.compile(r"[\w-]+(?: [\w-]+)*")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value. `date` is an ISO day, YYYY-MM-DD, and `datetime` a day and a time, both as strings."""

    name: ScalarName

    def text(self) -> str:
        """Write the type."""
        return self.name


@dataclass(frozen=True, slots=True)
class Text:
    """A string all of which matches the regular expression `pattern`, of `least` to `most` characters, inclusive."""

    pattern: str | None = None
    least: int = 0
    most: int | None = None

    def text(self) -> str:
        """Write the type, the pattern bare where that is unambiguous."""
        pattern = "" if self.pattern is None else f"({write_pattern(self.pattern)})"
        return f"string{pattern}{write_length(self)}"


@dataclass(frozen=True, slots=True)
class Number:
    """A number from `least` to `most`, inclusive but for the ends that are `above` least or `below` most."""

    name: NumberName
    least: float | None = None
    most: float | None = None
    above: bool = False
    below: bool = False

    def text(self) -> str:
        """Write the type."""
        low = f"{'' if self.least is None else self.least}{'<' if self.above else ''}"
        high = f"{'<' if self.below else ''}{'' if self.most is None else self.most}"
        return f"{self.name}({low}..{high})"


@dataclass(frozen=True, slots=True)
class Enum:
    """One of the given values, all of one `kind`; of strings the case is kept."""

    values: tuple[str, ...] | tuple[float, ...]
    kind: Literal["string", "integer", "float", "boolean"] = "string"

    def text(self) -> str:
        """Write the type, values quoted where they need it."""
        if self.kind == "string":
            return f"enum[{', '.join(write_word(str(v)) for v in self.values)}]"
        return f"{self.kind}[{', '.join(json.dumps(v) for v in self.values)}]"


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence copied verbatim from input field `source`; None means the operator's main text.

    With `about`, the sentence names the person in that input field or follows one that does, if there are any such.
    """

    source: str | None = None
    about: str | None = None

    def text(self) -> str:
        """Write the type."""
        if self.source is None:
            return "quote"
        about = "" if self.about is None else f", {write_word(self.about)}"
        return f"quote({write_word(self.source)}{about})"


@dataclass(frozen=True, slots=True)
class Value:
    """A typed value: the model writes it as it stands in the document, and code reads it (engine.values)."""

    value_type: ValueType

    def text(self) -> str:
        """Write the type."""
        return self.value_type.text()


@dataclass(frozen=True, slots=True)
class ListOf:
    """From `least` to `most` of `item`, inclusive; None means any number."""

    item: Type
    most: int | None = None
    least: int = 0

    def text(self) -> str:
        """Write the type."""
        if self.least:
            return f"list[{self.item.text()}, {self.least}..{'' if self.most is None else self.most}]"
        return f"list[{self.item.text()}]" if self.most is None else f"list[{self.item.text()}, {self.most}]"


@dataclass(frozen=True, slots=True)
class DictOf:
    """An object whose names the model chooses; every value is a `value`."""

    value: Type

    def text(self) -> str:
        """Write the type."""
        return f"dict[{self.value.text()}]"


@dataclass(frozen=True, slots=True)
class Nullable:
    """`inner` or null; `inner` is not Nullable itself.

    The model writes `word` for null where it is given: small models say "Nothing" far more readily than null.
    """

    inner: Type
    word: str | None = None

    def text(self) -> str:
        """Write the type."""
        if self.word is not None:
            return f"{self.inner.text()} or {write_word(self.word)}"
        return f"{self.inner.text()} | null" if isinstance(self.inner, Either) else f"{self.inner.text()}?"


@dataclass(frozen=True, slots=True)
class Either:
    """A value of any one of `options`: two or more, none of them Either or Nullable."""

    options: tuple[Type, ...]

    def text(self) -> str:
        """Write the type."""
        return " | ".join(option.text() for option in self.options)


@dataclass(frozen=True, slots=True)
class Field:
    """A named value of an object; `description` tells the model what goes there."""

    name: str
    type: Type
    description: str = ""

    def text(self) -> str:
        """Write `name: type`, then the description as a JSON string if there is one."""
        note = f" {json.dumps(self.description, ensure_ascii=False)}" if self.description else ""
        return f"{write_word(self.name)}: {self.type.text()}{note}"


@dataclass(frozen=True, slots=True)
class Record:
    """An object with exactly these fields, generated in this order."""

    fields: tuple[Field, ...]

    def text(self) -> str:
        """Write the type."""
        return "{" + ", ".join(f.text() for f in self.fields) + "}"


Type = Scalar | Text | Number | Enum | Quote | Value | ListOf | DictOf | Nullable | Either | Record


def bare_type(kind: Type | None) -> Type | None:
    """Return a type without its null."""
    return kind.inner if isinstance(kind, Nullable) else kind


def either(options: list[Type], *, nullable: bool = False) -> Type:
    """Join alternatives to one type: no repeats, one inside the other flattened, null on the outside."""
    flat: list[Type] = []
    for option in options:
        nullable = nullable or isinstance(option, Nullable)
        kind = option.inner if isinstance(option, Nullable) else option
        flat += kind.options if isinstance(kind, Either) else [kind]
    distinct = tuple(dict.fromkeys(flat))
    joined = distinct[0] if len(distinct) == 1 else Either(distinct)
    return Nullable(joined) if nullable else joined


def is_integer(kind: Type) -> bool:
    """Say whether every value of a type is a whole number."""
    match kind:
        case Scalar(name=name) | Number(name=name) | Enum(kind=name):
            return name == "integer"
    return False


def inclusive(number: Number) -> Number:
    """Move the open ends of an integer range to the integers next to them."""
    if number.name != "integer":
        return number
    least = None if number.least is None else int(number.least) + number.above
    most = None if number.most is None else int(number.most) - number.below
    return Number("integer", least, most)


def _plain_types(kind: Type) -> Iterator[Type]:
    """Walk over the types in a type that are made of no others, in written order."""
    match kind:
        case ListOf(item=inner) | Nullable(inner=inner) | DictOf(value=inner):
            yield from _plain_types(inner)
        case Either(options=options):
            for option in options:
                yield from _plain_types(option)
        case Record(fields=fields):
            for field in fields:
                yield from _plain_types(field.type)
        case _:
            yield kind


def values_in(kind: Type) -> Iterator[ValueType]:
    """Walk over the value types in a type, in written order."""
    for plain in _plain_types(kind):
        if isinstance(plain, Value):
            inside = getattr(plain.value_type, "record", None)
            yield from values_in(inside) if isinstance(inside, Record) else ()
            yield plain.value_type


def stands_in_text(kind: Type) -> bool:
    """Return whether a value of this type can be looked for in a document; not so for choices and booleans alone."""
    return any(not isinstance(plain, Enum) and plain != Scalar("boolean") for plain in _plain_types(kind))


def write_word(word: str) -> str:
    """Write a name or enum value bare where that is unambiguous, else as a JSON string."""
    return word if _PLAIN.fullmatch(word) else json.dumps(word, ensure_ascii=False)


def write_length(kind: Text) -> str:
    """Write the bounds of a string's length; nothing where there are none."""
    if not kind.least and kind.most is None:
        return ""
    return f"[{kind.least or ''}..{'' if kind.most is None else kind.most}]"


def quotes_in(kind: Type) -> Iterator[Quote]:
    """Walk over every quote in a type, in written order."""
    return (plain for plain in _plain_types(kind) if isinstance(plain, Quote))
