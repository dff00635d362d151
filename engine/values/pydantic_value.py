"""Value types that a Pydantic class of the program's own describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from engine.language.schema import Record, Schema
from engine.values.base import ORIGINAL, Normalised, ValueType
from engine.values.declared import OfFields, refuse_name
from engine.values.registry import add, registered


@dataclass(frozen=True, slots=True)
class PydanticValue(OfFields):
    """A type that a Pydantic class describes: `model` validates, and may complete, what the model writes."""

    name = "pydantic"

    model: type[BaseModel]

    @property
    def part_names(self) -> tuple[str, ...]:
        """Return the names of the fields, those that the class computes too."""
        written = self.model.model_json_schema(mode="serialization").get("properties", {})
        return tuple(name for name in written if name != ORIGINAL)

    @property
    def description(self) -> str:
        """Return the documentation of the class."""
        return " ".join((self.model.__doc__ or "").split())

    def read_fields(self, written: Mapping[str, Any]) -> Normalised:
        """Validate by the class; what it refuses is a problem, and the value is not known."""
        try:
            made = self.model.model_validate({f.name: written.get(f.name) for f in self.record.fields})
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'it'}: {e['msg']}" for e in error.errors())
            return Normalised(None, problem=problems)
        values = made.model_dump(mode="json")
        return Normalised({name: values.get(name) for name in self.part_names})


def register(model: type[BaseModel], name: str = "") -> ValueType:
    """Add the type that a Pydantic class describes, under `name` or its own in lower case, for this process.

    Its validators read what a model writes. Schemas and pipelines then write the name. Adding the same class again
    changes nothing; raises UsageError where the name is taken, and PipelineError for a class no reply can have.
    """
    chosen = name or model.__name__.lower()
    kind = PydanticValue(chosen, Record(Schema.of(model).fields), model)
    if registered(chosen) != kind:
        refuse_name(chosen)
        add(chosen, kind)
    return kind
