"""Turn YAML values into frozen dataclasses and back, by the types of their fields.

A field is read from the YAML key of its own name, or from `metadata={"yaml": "output.schema"}`. A prompt
(`Template`) says with `metadata={"variables": {"input1", "input2"}}` what it may use; without, `input`. A list of
expressions may be written as one text, an expression a line.
So a new operator needs nothing here.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from engine.errors import PipelineError, UsageError
from engine.language.expressions import Expression, as_expressions
from engine.language.position import Where, did_you_mean
from engine.language.problems import Gathered
from engine.language.schema import Schema
from engine.language.templates import INPUT, Template
from engine.plan.frozen import freeze, thaw
from engine.values.base import ValueType
from engine.values.registry import named_type

T = TypeVar("T")

YamlPath = tuple[str | int, ...]

_HINTS: dict[type, Mapping[str, Any]] = {}
_FIELDS: dict[type, Mapping[tuple[str, ...], Field[Any]]] = {}
"""What was read of classes: it takes a third of the time in which a pipeline is checked."""

_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def bind(
    cls: type[T], mapping: Any, where: Where, *, given: Mapping[str, Any] | None = None, ignored: Iterable[str] = ()
) -> T:
    """Make a `cls` from a YAML mapping.

    `given` are field values that come from elsewhere; `ignored` are top-level keys that others read.
    Raises PipelineError for unknown, missing and ill-typed keys, and for what `cls` itself refuses.
    """
    if not isinstance(mapping, Mapping):
        raise where.error(f"expected a mapping, not {describe_value(mapping)}", advice=_keys_advice(cls))
    given = dict(given or {})
    known = {path: field for path, field in yaml_fields(cls).items() if field.name not in given}
    gathered = Gathered()
    refused = {key: reason for key, reason in getattr(cls, "refused", {}).items() if key in mapping}
    for key, reason in refused.items():
        gathered.add(where.at(key).key_error(f"the key {key!r} is refused: {reason}", advice=f"Remove {key}."))
    for error in _unknown(mapping, known, where, frozenset([*ignored, *refused])):
        gathered.add(error)
    values = dict(given)
    hints = _hints(cls)
    for path, field in known.items():
        with gathered.part():
            if entry := _lookup(mapping, path):
                values[field.name] = convert(entry[0], hints[field.name], where.at(*path), field.metadata)
            elif is_required(field):
                raise where.error(f"the key {'.'.join(path)!r} is missing", advice=f"Add {'.'.join(path)}.")
    gathered.raise_any()
    return _construct(cls, values, where)


def unbind(value: Any) -> dict[str, Any]:
    """Write a dataclass as the mapping that `bind` reads back as it; fields at their default are left out."""
    written: dict[str, Any] = {}
    for path, field in yaml_fields(type(value)).items():
        item = getattr(value, field.name)
        if is_required(field) or item != _default(field):
            inner = written
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
            inner[path[-1]] = _plain(item)
    return written


def _hints(cls: type) -> Mapping[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


def yaml_fields(cls: type) -> Mapping[tuple[str, ...], Field[Any]]:
    """Map each YAML path to the dataclass field that is read from it."""
    if not is_dataclass(cls):
        raise TypeError(f"{cls.__name__} is not a dataclass")
    if cls not in _FIELDS:
        _FIELDS[cls] = {tuple(str(f.metadata.get("yaml", f.name)).split(".")): f for f in fields(cls) if f.init}
    return _FIELDS[cls]


def is_section(hint: Any) -> bool:
    """Say whether a type of a field is a dataclass whose fields are keys below the field's own."""
    return isinstance(hint, type) and is_dataclass(hint) and not issubclass(hint, Schema | Template | Expression)


def nested_types(cls: type) -> dict[str, type]:
    """Map the top-level YAML keys of a dataclass under which a further dataclass is written, to that one."""
    hints = _hints(cls)
    nested = {}
    for path, field in yaml_fields(cls).items():
        hint = hints[field.name]
        members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        for member in members if len(path) == 1 else ():
            if is_section(member):
                nested[path[0]] = member
    return nested


def convert(value: Any, hint: Any, where: Where, metadata: Mapping[str, Any]) -> Any:
    """Convert one YAML value to the type of its field; raises PipelineError naming what was expected."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _convert_union(value, arguments, where, metadata)
    if origin is Literal:
        return _convert_choice(value, arguments, where)
    if origin is tuple:
        return _convert_tuple(value, arguments, where, metadata)
    if isinstance(origin or hint, type) and issubclass(origin or hint, Mapping):
        return _convert_mapping(value, arguments[1] if arguments else Any, where, metadata)
    return _convert_single(value, hint, where, metadata)


def _convert_single(value: Any, hint: Any, where: Where, metadata: Mapping[str, Any]) -> Any:
    if hint is Any:
        return freeze(value)
    if hint is Template:
        text = _convert_plain(value, str, where)
        return Template.parse(text, variables=metadata.get("variables", INPUT), where=where)
    if hint is Schema:
        return Schema.parse(value, where=where)
    if isinstance(hint, type) and issubclass(hint, Expression):
        return hint.parse(_convert_plain(value, str, where), where=where)
    if isinstance(hint, type) and (hint is ValueType or is_dataclass(hint)):
        return _convert_value_type(value, where) if hint is ValueType else bind(hint, value, where)
    return _convert_plain(value, hint, where)


def _convert_value_type(value: Any, where: Where) -> ValueType:
    """Find a value type: one that the pipeline declares, or one of the program's."""
    written: str = _convert_plain(value, str, where)
    if written in where.types:
        return where.types[written]
    try:
        return named_type(written)
    except UsageError as error:
        raise where.error(str(error), advice=error.advice) from error


def describe_value(value: Any) -> str:
    """Name a value in an error message: one of YAML, or what Python gave in its place."""
    match value:
        case None:
            said = "nothing"
        case bool():
            said = str(value).lower()
        case Mapping():
            said = "a mapping"
        case list():
            said = "a list"
        case str():
            said = f"the text {value[:60]!r}"
        case int() | float():
            said = f"the number {value}"
        case type() | types.FunctionType():
            said = f"the {'class' if isinstance(value, type) else 'function'} {value.__name__}"
        case _:
            said = f"a value of type {type(value).__name__}"
    return said


def _convert_plain(value: Any, hint: Any, where: Where) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, hint) and not (isinstance(value, bool) and hint is not bool):
        return value
    advice = "Put it in quotation marks." if hint is str and isinstance(value, bool | int | float) else ""
    if hint is str and callable(value):
        advice = "Write it as text: only the code of a code operator may be a function."
    raise where.error(f"expected {_NAMES[hint]}, not {describe_value(value)}", advice=advice)


def _convert_union(value: Any, members: tuple[Any, ...], where: Where, metadata: Mapping[str, Any]) -> Any:
    if value is None and type(None) in members:
        return None
    candidates = [m for m in members if m is not type(None)]
    for member in candidates[:-1]:
        try:
            return convert(value, member, where, metadata)
        except PipelineError:
            continue  # another member of the union may fit; the last one reports
    return convert(value, candidates[-1], where, metadata)


def _convert_choice(value: Any, choices: tuple[Any, ...], where: Where) -> Any:
    if value in choices and type(value) in {type(c) for c in choices}:
        return value
    raise where.error(
        f"{describe_value(value)} is not one of the choices", advice=did_you_mean(str(value), [str(c) for c in choices])
    )


def _convert_tuple(value: Any, arguments: tuple[Any, ...], where: Where, metadata: Mapping[str, Any]) -> Any:
    is_open = len(arguments) == 2 and arguments[1] is Ellipsis
    if is_open and arguments[0] is str and isinstance(value, str):
        return (value,)  # `reduce_key: officer` is `reduce_key: [officer]`
    if is_open and isinstance(arguments[0], type) and issubclass(arguments[0], Expression) and isinstance(value, str):
        return tuple(arguments[0].parse(text, where=where) for text in as_expressions(value))
    if not isinstance(value, list):
        raise where.error(f"expected a list, not {describe_value(value)}", advice="Write [one, two].")
    if not is_open and len(value) != len(arguments):
        raise where.error(f"expected a list of {len(arguments)}, not of {len(value)}")
    hints = [arguments[0]] * len(value) if is_open else list(arguments)
    gathered = Gathered()
    converted = []
    for index, (item, hint) in enumerate(zip(value, hints, strict=True)):
        with gathered.part():
            converted.append(convert(item, hint, where.at(index), metadata))
    gathered.raise_any()
    return tuple(converted)


def _convert_mapping(value: Any, item_hint: Any, where: Where, metadata: Mapping[str, Any]) -> Any:
    if not isinstance(value, Mapping):
        raise where.error(f"expected a mapping, not {describe_value(value)}", advice="Write key: value.")
    gathered = Gathered()
    converted = {}
    for key, item in value.items():
        with gathered.part():
            if not isinstance(key, str):
                raise where.at(key).key_error(f"a key must be text, not {describe_value(key)}", advice="Quote it.")
            converted[key] = convert(item, item_hint, where.at(key), metadata)
    gathered.raise_any()
    return freeze(converted)


def _construct(cls: type[T], values: dict[str, Any], where: Where) -> T:
    try:
        return cls(**values)
    except PipelineError as error:
        if error.line is not None:
            raise
        path = where.positions.operators.get(error.operator)
        blamed = replace(where, path=path, operator=error.operator) if path else where
        raise blamed.error(error.args[0], advice=error.advice) from error
    except ValueError as error:
        raise where.error(str(error)) from error


def _lookup(mapping: Mapping[Any, Any], path: tuple[str, ...]) -> list[Any]:
    """Return the value at `path` in a list, or an empty list when it is not written."""
    value: Any = mapping
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return []
        value = value[key]
    return [value]


def _unknown(
    mapping: Mapping[Any, Any], known: Mapping[tuple[str, ...], Field[Any]], where: Where, ignored: frozenset[str]
) -> Iterator[PipelineError]:
    """Give an error for each key that nothing reads."""
    for key, value in mapping.items():
        if key in ignored or (key,) in known:
            continue
        below = {path[1:]: field for path, field in known.items() if path[0] == key}
        if not below:
            valid = sorted({path[0] for path in known} | ignored)
            yield where.at(key).key_error(f"unknown key {key!r}", advice=did_you_mean(str(key), valid))
        elif not isinstance(value, Mapping):
            inner = ", ".join(sorted(path[0] for path in below))
            yield where.at(key).error(
                f"expected a mapping, not {describe_value(value)}", advice=f"Valid here: {inner}."
            )
        else:
            yield from _unknown(value, below, where.at(key), frozenset())


def is_required(field: Field[Any]) -> bool:
    """Say whether a field of a dataclass has no default."""
    return field.default is MISSING and field.default_factory is MISSING


def _default(field: Field[Any]) -> Any:
    factory: Callable[[], Any] | Any = field.default_factory
    return field.default if factory is MISSING else factory()


def _keys_advice(cls: type) -> str:
    keys = ", ".join(sorted(".".join(path) for path in yaml_fields(cls)))
    return f"Valid keys: {keys}."


def _plain(value: Any) -> Any:
    match value:
        case Template() | Expression():
            return value.text
        case Schema() | ValueType():
            return value.to_yaml() if isinstance(value, Schema) else value.text().removesuffix("()")
        case tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return {key: _plain(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return unbind(value)
    return thaw(value)


def templates_of(node: Any) -> Iterator[tuple[YamlPath, Template]]:
    """Give every prompt of a node with its YAML path, at any depth."""
    return parts_of(node, Template)


def parts_of(node: Any, wanted: type[T]) -> Iterator[tuple[YamlPath, T]]:
    """Give every value of one type in a node, with its YAML path."""
    for path, field in yaml_fields(type(node)).items():
        yield from ((path + inner, part) for inner, part in _inside(getattr(node, field.name), wanted))


def _inside(value: Any, wanted: type[T]) -> Iterator[tuple[YamlPath, T]]:
    if isinstance(value, wanted):
        yield (), value
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from (((index, *inner), part) for inner, part in _inside(item, wanted))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (((key, *inner), part) for inner, part in _inside(item, wanted))
    elif is_dataclass(value) and not isinstance(value, Template | Schema | Expression | type):
        yield from parts_of(value, wanted)
