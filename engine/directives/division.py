"""Divide the fields, the examples and the instructions of one question among several."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from engine.language.schema import Enum, ListOf, Nullable, Quote, Record, Schema, Type
from engine.language.schema_types import bare_type

T = TypeVar("T")

FEWEST_KINDS = 4
"""Listed kinds from which on they are divided."""

LONGEST_KIND = 6
"""Words of a listed kind's name; what is longer is no name of one."""

KINDS_TOGETHER = 3

_ENTRY = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[-*•])[ \t]+(?P<kind>[^\n{}]{2,1000})$", re.MULTILINE)


def even_parts(names: Sequence[T], most: int) -> list[tuple[T, ...]]:
    """Divide names into at most so many runs of about equal length, in order."""
    count = min(len(names), most)
    ends = [round(len(names) * number / count) for number in range(count + 1)]
    return [tuple(names[start:end]) for start, end in zip(ends, ends[1:], strict=False)]


def answered_together(schema: Schema) -> list[tuple[str, ...]]:
    """Return the fields in order, in one run those answered together: a quote, and what it stands before."""
    runs: list[tuple[str, ...]] = []
    joins = False
    for field in schema.fields:
        if joins:
            runs[-1] = (*runs[-1], field.name)
        else:
            runs.append((field.name,))
        kind = bare_type(field.type)
        joins = isinstance(kind, Quote)
    return runs


def only_fields(schema: Schema, names: Collection[str]) -> Schema:
    """Return the schema of some fields, in its own order."""
    return Schema(tuple(f for f in schema.fields if f.name in names))


def divided_examples(
    examples: Sequence[Mapping[str, Any]], known: Sequence[str], schema: Schema
) -> tuple[dict[str, Any], ...]:
    """Return examples of a question about the fields of `schema`, when the fields `known` are answered already.

    An example that lacks one of them is left out.
    """
    divided = []
    for example in examples:
        output = example["output"]
        if set(known) | set(schema.names) <= set(output):
            inputs = {
                key: {**value, **{n: output[n] for n in known}} for key, value in example.items() if key != "output"
            }
            divided.append({**inputs, "output": {n: output[n] for n in schema.names}})
    return tuple(divided)


def listed_kinds(text: str) -> list[str]:
    """Return the entries of the lists in a prompt (`1. ...`, `- ...`), if there are enough to divide."""
    kinds = [match["kind"].strip() for match in _ENTRY.finditer(text)]
    return kinds if len(kinds) >= FEWEST_KINDS else []


def named_kinds(text: str) -> dict[str, str]:
    """Return the listed kinds by name (`1. Parties: who signed`), each with its entry.

    None unless all names are short, and each stands once: of two kinds with one name nobody could tell which is meant.
    """
    entries = listed_kinds(text)
    named = {entry.split(":")[0].strip().rstrip(".;,"): entry for entry in entries}
    are_names = all(name and len(name.split()) <= LONGEST_KIND for name in named)
    return named if are_names and len(named) == len(entries) else {}


def without_kinds(text: str, left_out: Collection[str]) -> str:
    """Leave entries out of the lists in a prompt."""
    kept = _ENTRY.sub(lambda match: "\0" if match["kind"].strip() in left_out else match[0], text)
    return re.sub(r"\0\n?", "", kept)


def grouped(kinds: Sequence[str], most: int) -> list[tuple[str, ...]]:
    """Divide kinds into groups of about three, at most so many groups."""
    return even_parts(kinds, min(most, math.ceil(len(kinds) / KINDS_TOGETHER)))


def choices_of_items(kind: Type) -> tuple[str, tuple[str, ...]]:
    """Return the field of a list's records that says which of several kinds each is, and the kinds; else nothing."""
    item = kind.item if isinstance(kind, ListOf) else kind
    for field in item.fields if isinstance(item, Record) else ():
        inner = bare_type(field.type)
        if isinstance(inner, Enum) and len(inner.values) >= FEWEST_KINDS:
            return field.name, tuple(map(str, inner.values))
    return "", ()


def only_kinds(kind: Type, chosen: Sequence[str]) -> Type:
    """Return the type of records whose kind is one of those chosen; the type as it is where none are."""
    named, choices = choices_of_items(kind)
    kept = tuple(choice for choice in choices if choice in chosen)
    if not kept or not isinstance(kind, Record):
        return kind
    fields = tuple(replace(f, type=_narrowed(f.type, kept)) if f.name == named else f for f in kind.fields)
    return replace(kind, fields=fields)


def _narrowed(kind: Type, kept: tuple[str, ...]) -> Type:
    if isinstance(kind, Nullable):
        return replace(kind, inner=_narrowed(kind.inner, kept))
    return Enum(tuple(kept))
