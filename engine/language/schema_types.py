"""The type tree of the schema language. `text()` writes each type so that parsing it gives the same tree."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

ScalarName = Literal["string", "integer", "float", "boolean", "date"]

SYNONYMS: dict[str, ScalarName] = {
    "string": "string",
    "str": "string",
    "text": "string",
    "integer": "integer",
    "int": "integer",
    "float": "float",
    "number": "float",
    "boolean": "boolean",
    "bool": "boolean",
    "date": "date",
}

VALID_TYPES = (*SYNONYMS, "list[T]", "{name: T, ...}", "enum[a, b, ...]", "quote", "quote(field)", "T?", "T or word")

_PLAIN = re.compile(r"[\w-]+(?: [\w-]+)*")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value. `date` is an ISO day, YYYY-MM-DD, as a string."""

    name: ScalarName

    def text(self) -> str:
        """Write the type."""
        return self.name


@dataclass(frozen=True, slots=True)
class Enum:
    """One of the given strings, case kept."""

    values: tuple[str, ...]

    def text(self) -> str:
        """Write the type, values quoted where they need it."""
        return f"enum[{', '.join(map(write_word, self.values))}]"


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
class ListOf:
    """Any number of `item`, also none; at most `most`, inclusive, if that is given."""

    item: Type
    most: int | None = None

    def text(self) -> str:
        """Write the type."""
        return f"list[{self.item.text()}]" if self.most is None else f"list[{self.item.text()}, {self.most}]"


@dataclass(frozen=True, slots=True)
class Nullable:
    """`inner` or null; `inner` is not Nullable itself.

    The model writes `word` for null where it is given: small models say "Nothing" far more readily than null.
    """

    inner: Type
    word: str | None = None

    def text(self) -> str:
        """Write the type."""
        return f"{self.inner.text()}?" if self.word is None else f"{self.inner.text()} or {write_word(self.word)}"


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


Type = Scalar | Enum | Quote | ListOf | Nullable | Record


def write_word(word: str) -> str:
    """Write a name or enum value bare where that is unambiguous, else as a JSON string."""
    return word if _PLAIN.fullmatch(word) else json.dumps(word, ensure_ascii=False)


def quotes_in(kind: Type) -> Iterator[Quote]:
    """Walk over every quote in a type, in written order."""
    match kind:
        case Quote():
            yield kind
        case ListOf(item=inner) | Nullable(inner=inner):
            yield from quotes_in(inner)
        case Record(fields=fields):
            for field in fields:
                yield from quotes_in(field.type)
