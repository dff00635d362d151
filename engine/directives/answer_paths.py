"""The texts that an answer holds, field by field, with what is known of how they look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from engine.directives.base import Facts
from engine.language.schema import Field, ListOf, Record, Scalar, Schema, Text, Type

QUOTED_SHARE, QUOTED_WORDS = 0.3, 6
"""From which share of word for word copies, and from how many words on average, a text is one to be copied."""

_QUOTE = re.compile(r"(?:^|_)(?:quote|span|sentence|passage|excerpt)", re.IGNORECASE)
_KIND = re.compile(r"(?:^|_)(?:type|kind|category|class|label)(?:s|_|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AnswerPath:
    """A text of the answer: the field, and for a list of records the field of theirs, else ""."""

    field: str
    key: str
    is_listed: bool

    def __str__(self) -> str:
        return f"{self.field}.{self.key}" if self.key else self.field


def answer_paths(schema: Schema) -> Iterator[AnswerPath]:
    """List the texts: those that are fields, items of lists, or fields of the records in lists; never null."""
    for field in schema.fields:
        kind = field.type
        item = kind.item if isinstance(kind, ListOf) else kind
        if _is_text(item):
            yield AnswerPath(field.name, "", isinstance(kind, ListOf))
        elif isinstance(kind, ListOf) and isinstance(item, Record):
            yield from (AnswerPath(field.name, f.name, True) for f in item.fields if _is_text(f.type))


def is_kind(path: AnswerPath) -> bool:
    """Say whether a text is called after what tells kinds apart, such as `clause_type`."""
    return bool(_KIND.search(path.key or path.field))


def with_type(schema: Schema, path: AnswerPath, kind: Type) -> Schema:
    """Return the schema with another type at a path."""
    return Schema(tuple(_changed(field, path, kind) if field.name == path.field else field for field in schema.fields))


def verbatim(path: AnswerPath, facts: Facts) -> float | None:
    """Return the share of the texts seen at a path that stand in their source word for word; None if none was seen."""
    seen = facts.answers.get(str(path))
    return None if seen is None else seen.verbatim


def is_copied(path: AnswerPath, facts: Facts) -> bool:
    """Say whether a text is a longer one that is copied from its source: by the answers seen, else by its name."""
    seen, share = facts.answers.get(str(path)), verbatim(path, facts)
    if seen is None or share is None:
        return not facts.answers and bool(_QUOTE.search(path.key or path.field))
    return share >= QUOTED_SHARE and seen.words >= QUOTED_WORDS


def _changed(field: Field, path: AnswerPath, kind: Type) -> Field:
    if not isinstance(field.type, ListOf):
        return replace(field, type=kind)
    if not path.key:
        return replace(field, type=replace(field.type, item=kind))
    record = field.type.item
    assert isinstance(record, Record)  # answer_paths
    fields = tuple(replace(f, type=kind) if f.name == path.key else f for f in record.fields)
    return replace(field, type=replace(field.type, item=replace(record, fields=fields)))


def _is_text(kind: Type) -> bool:
    return kind == Scalar("string") or isinstance(kind, Text)
