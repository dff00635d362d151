"""Value types that a pipeline declares (`types:`): fields under one name, read from YAML and written back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.errors import OutsideBorders, PipelineError, UsageError
from engine.language.binding import parts_of
from engine.language.position import Where, did_you_mean
from engine.language.schema import Field, Record, Scalar, Schema
from engine.language.schema_compile import compile_type, read_value
from engine.language.schema_text import TYPE_NAMES
from engine.language.schema_types import quotes_in
from engine.language.yaml_reader import MAX_CHARACTERS, read_yaml
from engine.plan.borders import Borders
from engine.plan.node import Node
from engine.values.base import ORIGINAL, PROBLEM, Normalised, ValueType
from engine.values.registry import names
from models.paths import expanded

_ORIGINAL_FIELD = Field(ORIGINAL, Scalar("string"))
_TOKENS_OF_FIELD = 12
_KEYS = ("fields", "description")


@dataclass(frozen=True, slots=True)
class OfFields(ValueType):
    """A type under a name that a user gives: the model writes the text as it stands, then the fields of `record`."""

    own_name: str
    record: Record

    def __post_init__(self) -> None:
        if any(quotes_in(self.record)):
            raise UsageError(
                f"the type {self.own_name!r} has a quote, which belongs to a row and not to a type",
                advice="Put the quote into output.schema, beside the field of this type.",
            )
        if any(f.name == PROBLEM for f in self.record.fields):
            raise UsageError(
                f"the type {self.own_name!r} has a field {PROBLEM!r}, which says here what could not be read",
                advice="Give the field another name.",
            )

    @property
    def label(self) -> str:
        """Return the name that the user gave it."""
        return self.own_name

    @property
    def part_names(self) -> tuple[str, ...]:
        """Return the names of the fields."""
        return tuple(f.name for f in self.record.fields if f.name != ORIGINAL)

    @property
    def tokens(self) -> int:
        """Return how many tokens the model writes for it, about."""
        return _TOKENS_OF_FIELD * (len(self.record.fields) + 1)

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes."""
        fields = self.record.fields
        has_original = any(f.name == ORIGINAL for f in fields)
        compiled = compile_type(Record(fields if has_original else (_ORIGINAL_FIELD, *fields)), lambda quote: ())
        assert compiled is not None  # nothing is quoted
        return compiled

    def read(self, written: Any) -> Normalised:
        """Read the fields that the model wrote."""
        if not isinstance(written, Mapping):
            return Normalised(None, str(written).strip() or None, "it has no fields")
        original = " ".join(str(written.get(ORIGINAL) or "").split()) or None
        return replace(self.read_fields(written), original=original)

    @abstractmethod
    def read_fields(self, written: Mapping[str, Any]) -> Normalised:
        """Read the fields without the text that they were read from."""


@dataclass(frozen=True, slots=True)
class Declared(OfFields):
    """A type of a pipeline. The fields may be value types themselves; `description` tells the model what it is."""

    name = "declared"

    description: str = ""

    def read_fields(self, written: Mapping[str, Any]) -> Normalised:
        """Read each field by its own type; what one cannot read is a problem of the whole."""
        values = read_value(self.record, {name: written.get(name) for name in self.part_names})
        return Normalised(values, problem="; ".join(_problems(values)) or None)


def _problems(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems of the value types among a type's fields, with the field before each."""
    for name, value in values.items():
        inside: Iterable[Any] = value if isinstance(value, list) else [value]
        for item in inside:
            if isinstance(item, Mapping) and item.get(PROBLEM) and ORIGINAL in item:
                yield f"{name}: {item[PROBLEM]}"


def refuse_name(name: str, declared: Mapping[str, ValueType] | None = None) -> None:
    """Raise UsageError for a name that a new type cannot have."""
    if not name.isidentifier() or name != name.lower():
        raise UsageError(
            f"{name!r} is no name of a value type", advice="Use small letters, digits and underscores: clause_ref."
        )
    if name in TYPE_NAMES or name in names() or name in (declared or {}):
        raise UsageError(f"there is a type {name!r} already", advice="Choose another name.")


def read_types(value: Any, where: Where, directory: Path, borders: Borders) -> dict[str, ValueType]:
    """Read `types`: a mapping of names to `{fields, description}`, or the path of a YAML file that holds one.

    A type may use those before it. A path is relative to `directory`, the folder of the pipeline, and lies inside
    its `borders`. Raises PipelineError.
    """
    if isinstance(value, str):
        value, where = _from_file(directory / expanded(value), where, borders)
    if not isinstance(value, Mapping):
        raise where.error(
            "types is a mapping of names to types, or the path of a YAML file with one",
            advice="For example types: {clause_ref: {fields: {article: string, section: string?}}}.",
        )
    types: dict[str, ValueType] = {}
    for name, entry in value.items():
        inside = replace(where.at(name), types=types)
        _check_name(name, inside, types)
        types = {**types, name: _read_type(name, entry, inside)}
    return types


def _from_file(path: Path, where: Where, borders: Borders) -> tuple[Any, Where]:
    try:
        borders.check_read(path, "the file of types")
    except OutsideBorders as error:
        raise where.placed(error) from error
    if path.exists() and not path.is_file():
        raise where.error(f"cannot read the types in {path}: it is no regular file", advice="Check the path.")
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MAX_CHARACTERS + 1)
    except OSError as error:
        raise where.error(f"cannot read the types in {path}: {error.strerror}", advice="Check the path.") from error
    except UnicodeDecodeError as error:
        raise where.error(f"{path} is not UTF-8 text", advice="Save it as UTF-8.") from error
    value, positions = read_yaml(text, str(path))
    return value, Where(positions)


def _check_name(name: Any, where: Where, types: Mapping[str, ValueType]) -> None:
    if not isinstance(name, str):
        raise where.key_error(f"the name of a type is text, not {name!r}")
    try:
        refuse_name(name, types)
    except UsageError as error:
        raise where.key_error(str(error), advice=error.advice) from error


def _read_type(name: str, entry: Any, where: Where) -> Declared:
    example = f"Write {name}: {{fields: {{name: type, ...}}, description: what it is}}."
    if not isinstance(entry, Mapping) or "fields" not in entry:
        raise where.error(f"the type {name!r} has no fields", advice=example)
    for key in entry:
        if key not in _KEYS:
            raise where.at(key).key_error(f"unknown key {key!r}", advice=did_you_mean(str(key), _KEYS))
    note = entry.get("description", "")
    if not isinstance(note, str):
        raise where.at("description").error("a description is text", advice=example)
    schema = Schema.parse(entry["fields"], where=where.at("fields"))
    try:
        return Declared(name, Record(schema.fields), note)
    except UsageError as error:
        raise where.at("fields").error(str(error), advice=error.advice) from error


def written_types(nodes: Iterable[Node]) -> dict[str, Any]:
    """Write the declared types that schemas of these nodes use, as `read_types` reads them, used ones before users.

    Raises PipelineError where two have one name.
    """
    types: dict[str, Declared] = {}
    for node in nodes:
        for _, schema in parts_of(node, Schema):
            for kind in schema.value_types:
                if isinstance(kind, Declared) and types.setdefault(kind.label, kind) != kind:
                    raise PipelineError(
                        f"two different types are named {kind.label!r}",
                        operator=node.name,
                        advice="Give one of them another name.",
                    )
    return {name: _written(kind) for name, kind in types.items()}


def _written(kind: Declared) -> dict[str, Any]:
    fields = Schema(kind.record.fields).to_yaml()
    return {"description": kind.description, "fields": fields} if kind.description else {"fields": fields}
