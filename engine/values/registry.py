"""The value types there are, by name: those of this package, and those that a program adds."""

from __future__ import annotations

import functools
import pkgutil
import re

from engine.errors import UsageError
from engine.language.position import did_you_mean
from engine.values.base import ValueType

_BUILT_IN = {
    "amount": "amount:Amount", "date": "date:Date", "date_range": "date:DateRange", "person": "kinds:Person",
    "address": "kinds:Address", "table": "kinds:Table", "iban": "kinds:Iban", "boolean": "kinds:Boolean",
    "number": "kinds:PlainNumber", "text": "kinds:PlainText",
}  # fmt: skip
"""The module and the class of each type of this package; it is imported when a schema names the type."""

_registered: dict[str, ValueType] = {}


def value_type(name: str, /, **options: str) -> ValueType:
    """Return the value type of a name, with options; raises UsageError for names and options that are not there.

    Types that a pipeline declares under `types` are not here but in its schemas.
    """
    if name in _registered:
        if options:
            raise UsageError(f"the value type {name!r} has no options")
        return _registered[name]
    if name not in _BUILT_IN:
        raise UsageError(f"there is no value type {name!r}", advice=did_you_mean(name, names()))
    made = _class_of(name)
    known = made.option_names
    for option in options:
        if option not in known:
            advice = did_you_mean(option, known) if known else "Write the name alone."
            raise UsageError(f"the value type {name!r} has no option {option!r}", advice=advice)
    return made(**options)


_WRITTEN = re.compile(r"(?P<name>[a-z_][a-z0-9_]*)\s*(?:\((?P<options>[^()]*)\))?")
_OPTION = re.compile(r"\s*(?P<key>[a-z_]+)\s*=\s*(?P<value>[^,\s]+)\s*")


def named_type(written: str) -> ValueType:
    """Find the type that is written with its options: `date`, `amount(currency=USD)`; raises UsageError."""
    match = _WRITTEN.fullmatch(written.strip())
    if match is None:
        raise UsageError(f"there is no value type {written!r}", advice=did_you_mean(written, names()))
    options = [_OPTION.fullmatch(option) for option in (match["options"] or "").split(",") if option.strip()]
    if None in options:
        raise UsageError(f"{written!r}: an option is written name=value", advice="For example date(order=DMY).")
    return value_type(match["name"], **{option["key"]: option["value"] for option in options if option is not None})


def names() -> tuple[str, ...]:
    """Return the names of all value types."""
    return (*_BUILT_IN, *_registered)


def add(name: str, kind: ValueType) -> None:
    """Add a type under a free name, for this process."""
    _registered[name] = kind


def registered(name: str) -> ValueType | None:
    """Return the type that was added under a name."""
    return _registered.get(name)


@functools.cache
def _class_of(name: str) -> type[ValueType]:
    kind: type[ValueType] = pkgutil.resolve_name(f"engine.values.{_BUILT_IN[name]}")
    return kind
