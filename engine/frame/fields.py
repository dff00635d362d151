"""The fields of a pipeline's rows with their types, as far as they are known without running it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from engine.documents.options import ParseOptions
from engine.documents.tables import READ_IN_CHILD, table_rows
from engine.errors import DocumentError, PipelineError
from engine.frame.merging import Part
from engine.language.checks import field_flow
from engine.language.position import Where
from engine.language.schema import ListOf
from engine.language.schema_text import parse_type
from engine.operators.unnest import Unnest
from engine.plan.node import Node
from engine.plan.plan import Dataset
from engine.plan.sources import kind_of_source

UNKNOWN = "any"
ROWS_LOOKED_AT = 100

_DOCUMENT = {"filename": "string", "path": "string", "text": "string", "pages": "integer", "kind": "string"}
_JSON = {str: "string", bool: "boolean", int: "integer", float: "float"}


def field_types(part: Part) -> dict[str, str]:
    """Map each field of the result to its type as a schema writes it, `any` where only a run can tell.

    A data file is looked into for the fields of its first rows; nothing is run and no document is read.
    """
    flows = {dataset.name: _source_types(dataset, part) for dataset in part.plan.datasets}
    for step in part.plan.steps:
        types = {name: type for source in step.inputs for name, type in flows[source].items()}
        for node in part.plan.nodes(step):
            types = _after(node, types)
        flows[step.name] = types
    result_types = flows[part.plan.steps[-1].name]
    known = field_flow(part.plan, source_fields={d.name: flows[d.name] for d in part.plan.datasets})
    names = known[part.plan.steps[-1].name]
    if names is None:
        return result_types
    return {
        **{k: v for k, v in result_types.items() if k in names},
        **dict.fromkeys(sorted(names - set(result_types)), UNKNOWN),
    }


def _source_types(dataset: Dataset, part: Part) -> dict[str, str]:
    parsed = {step.target_field: "string" if step.reads_documents else UNKNOWN for step in dataset.parsing}
    return _read_types(dataset, part) | parsed


def _read_types(dataset: Dataset, part: Part) -> dict[str, str]:
    """Tell the types of a dataset's fields before its parsing functions."""
    if rows := [*part.data.get(dataset.name, ()), *dataset.data]:
        return types_of(rows)
    kind = kind_of_source(dataset, part.directory)
    if kind in ("folder", "case"):
        return _DOCUMENT
    path = dataset.location(part.directory)
    if kind != "file" or path.suffix.lower() in READ_IN_CHILD:
        return {}
    try:
        return types_of(islice((row for _, row in table_rows(path, ParseOptions())), ROWS_LOOKED_AT))
    except DocumentError:
        return {}  # a run says what is wrong with the file; here its fields are just not known


def types_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Tell the type of each field from rows."""
    types: dict[str, str] = {}
    for row in rows:
        for name, value in row.items():
            types[name] = _common(types.get(name), _type_of(value))
    return types


def _common(known: str | None, new: str) -> str:
    if known is None or known == new:
        return new
    if "null" in (known, new):
        return f"{(known if new == 'null' else new).removesuffix('?')}?"
    bare = {known.removesuffix("?"), new.removesuffix("?")}
    mark = "?" if known.endswith("?") else ""
    if bare == {"integer", "float"}:
        return f"float{mark}"
    return f"{bare.pop()}{mark}" if len(bare) == 1 else UNKNOWN


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        inner = types_of([{"item": item} for item in value]).get("item", UNKNOWN)
        return f"list[{inner}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_type_of(item)}" for name, item in value.items()) + "}"
    return _JSON.get(type(value), UNKNOWN)


def _after(node: Node, types: Mapping[str, str]) -> dict[str, str]:
    traits = node.traits()
    kept = {n: t for n, t in types.items() if (traits.keeps_others or n in traits.writes) and n not in traits.removes}
    kept |= {name: type.text() for name, type in node.written_types().items()}
    if isinstance(node, Unnest):
        kept |= _unnested(node.unnest_key, types)
    return {**kept, **{name: kept.get(name, UNKNOWN) for name in node.written_fields()}}


def _unnested(key: str, types: Mapping[str, str]) -> dict[str, str]:
    try:
        kind = parse_type(types.get(key, ""), Where())
    except PipelineError:
        return {key: UNKNOWN}
    return {key: kind.item.text() if isinstance(kind, ListOf) else UNKNOWN}
