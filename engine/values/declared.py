"""Value types of the user's: fields under one name, declared in a pipeline (`types:`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import UsageError
from engine.language.schema import Field, Record, Scalar
from engine.language.schema_compile import compile_type, read_value
from engine.language.schema_types import quotes_in
from engine.values.base import NO_CONTEXT, ORIGINAL, PROBLEM, DocumentContext, Normalised, ValueType

_ORIGINAL_FIELD = Field(ORIGINAL, Scalar("string"))
TOKENS_OF_FIELD = 12


@dataclass(frozen=True, slots=True)
class Declared(ValueType):
    """A type of a pipeline: the model writes the text as it stands, then the fields of `record`.

    The fields may be value types themselves. `note` tells the model what it is.
    """

    name = "declared"

    declared_name: str
    record: Record
    note: str = ""

    def __post_init__(self) -> None:
        refuse_fields(self.declared_name, self.record)

    @property
    def label(self) -> str:
        """Return the name under which it was declared."""
        return self.declared_name

    @property
    def part_names(self) -> tuple[str, ...]:
        """Return the names of the fields."""
        return tuple(f.name for f in self.record.fields if f.name != ORIGINAL)

    @property
    def tokens(self) -> int:
        """Return how many tokens the model writes for it, about."""
        return TOKENS_OF_FIELD * (len(self.part_names) + 1)

    @property
    def description(self) -> str:
        """Return what the user says of it."""
        return self.note

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes."""
        return written_schema(self.record)

    def read(self, written: Any, document_context: DocumentContext = NO_CONTEXT) -> Normalised:
        """Read each field by its own type; what one cannot read is a problem of the whole."""
        if not isinstance(written, Mapping):
            return Normalised(None, str(written).strip() or None, "it has no fields")
        original = " ".join(str(written.get(ORIGINAL) or "").split()) or None
        values = read_value(self.record, {name: written.get(name) for name in self.part_names})
        return Normalised(values, original, "; ".join(_problems(values)) or None)


def written_schema(record: Record) -> dict[str, Any]:
    """Return the JSON Schema of what the model writes: the text as it stands, then the fields."""
    fields = record.fields if any(f.name == ORIGINAL for f in record.fields) else (_ORIGINAL_FIELD, *record.fields)
    compiled = compile_type(Record(fields), lambda quote: ())
    assert compiled is not None  # refuse_fields: nothing is quoted
    return compiled


def refuse_fields(name: str, record: Record) -> None:
    """Raise UsageError for fields that a type cannot have."""
    if any(quotes_in(record)):
        raise UsageError(
            f"the type {name!r} has a quote, which belongs to a row and not to a type",
            advice="Put the quote into output.schema, beside the field of this type.",
        )
    if any(f.name == PROBLEM for f in record.fields):
        raise UsageError(
            f"the type {name!r} has a field {PROBLEM!r}, which says here what could not be read",
            advice="Give the field another name.",
        )


def _problems(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems of the value types among a type's fields, with the field before each."""
    for name, value in values.items():
        inside: Iterable[Any] = value if isinstance(value, list) else [value]
        for item in inside:
            if isinstance(item, Mapping) and item.get(PROBLEM) and ORIGINAL in item:
                yield f"{name}: {item[PROBLEM]}"
