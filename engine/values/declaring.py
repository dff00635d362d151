"""The `types` of a pipeline: read from YAML, in the file or in one of its own, and written back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.errors import OutsideBorders, PipelineError, UsageError
from engine.language.binding import parts_of
from engine.language.position import Where, did_you_mean
from engine.language.schema import Record, Schema
from engine.language.yaml_reader import MAX_CHARACTERS, read_yaml
from engine.plan.borders import Borders
from engine.plan.node import Node
from engine.values.base import ValueType
from engine.values.declared import Declared
from engine.values.registry import refuse_name

_KEYS = ("fields", "description")


def read_types(value: Any, where: Where, directory: Path, borders: Borders) -> dict[str, ValueType]:
    """Read `types`: a mapping of names to `{fields, description}`, or the path of a YAML file that holds one.

    A type may use those before it. A path is relative to `directory`, the folder of the pipeline, and lies inside
    its `borders`. Raises PipelineError.
    """
    if isinstance(value, str):
        value, where = _from_file(directory / Path(value).expanduser(), where, borders)
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
    found: dict[str, Declared] = {}
    for node in nodes:
        for _, schema in parts_of(node, Schema):
            for kind in schema.value_types:
                if isinstance(kind, Declared) and found.setdefault(kind.label, kind) != kind:
                    raise PipelineError(
                        f"two different types are named {kind.label!r}",
                        operator=node.name,
                        advice="Give one of them another name.",
                    )
    return {name: _written(kind) for name, kind in found.items()}


def _written(kind: Declared) -> dict[str, Any]:
    fields = Schema(kind.record.fields).to_yaml()
    return {"description": kind.note, "fields": fields} if kind.note else {"fields": fields}
