"""Value types that a Pydantic class of the program's own describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from engine.language.schema import Record, Schema
from engine.values.base import ORIGINAL, Normalised, ValueType
from engine.values.declared import TOKENS_OF_FIELD, refuse_fields, refuse_name, written_schema
from engine.values.registry import add, registered


@dataclass(frozen=True, slots=True)
class PydanticValue(ValueType):
    """A type that a Pydantic class describes: `model` validates, and may complete, what the model writes."""

    name = "pydantic"

    registered_name: str
    record: Record
    model: type[BaseModel]

    def __post_init__(self) -> None:
        refuse_fields(self.registered_name, self.record)

    @classmethod
    def of(cls, name: str, model: type[BaseModel]) -> PydanticValue:
        """Make the type of a class; raises PipelineError for one no reply can have."""
        return cls(name, Record(Schema.of(model).fields), model)

    @property
    def label(self) -> str:
        """Return the name under which it was registered."""
        return self.registered_name

    @property
    def part_names(self) -> tuple[str, ...]:
        """Return the names of the fields, those that the class computes too."""
        written = self.model.model_json_schema(mode="serialization").get("properties", {})
        return tuple(name for name in written if name != ORIGINAL)

    @property
    def tokens(self) -> int:
        """Return how many tokens the model writes for it, about."""
        return TOKENS_OF_FIELD * (len(self.record.fields) + 1)

    @property
    def description(self) -> str:
        """Return the documentation of the class."""
        return " ".join((self.model.__doc__ or "").split())

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes."""
        return written_schema(self.record)

    def read(self, written: Any) -> Normalised:
        """Validate by the class; what it refuses is a problem, and the value is not known."""
        if not isinstance(written, Mapping):
            return Normalised(None, str(written).strip() or None, "it has no fields")
        original = " ".join(str(written.get(ORIGINAL) or "").split()) or None
        try:
            made = self.model.model_validate({f.name: written.get(f.name) for f in self.record.fields})
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'it'}: {e['msg']}" for e in error.errors())
            return Normalised(None, original, problems)
        values = made.model_dump(mode="json")
        return Normalised({name: values.get(name) for name in self.part_names}, original)


def register(model: type[BaseModel], name: str = "") -> ValueType:
    """Add the type that a Pydantic class describes, under `name` or its own in lower case, for this process.

    Its validators read what a model writes. Schemas and pipelines then write the name. Adding the same class again
    changes nothing; raises UsageError where the name is taken, and PipelineError for a class no reply can have.
    """
    chosen = name or model.__name__.lower()
    kind = PydanticValue.of(chosen, model)
    if registered(chosen) != kind:
        refuse_name(chosen)
        add(chosen, kind)
    return kind
