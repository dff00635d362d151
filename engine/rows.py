"""Rows: what flows between operators."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NewType

RowId = NewType("RowId", str)
DocumentId = NewType("DocumentId", str)
"""SHA-256 of the file's bytes, hexadecimal."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Lines `first` to `last` of one document: 1-based, both inclusive."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last:
            raise ValueError(f"a span needs 1 <= first <= last, not {self.first}..{self.last}")

    def overlaps(self, other: Span) -> bool:
        """Say whether the two spans share a line."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Row:
    """One JSON object on its way through the pipeline.

    `values` is what prompts see. `parents` are the rows it was made from, in order. A row that stands for
    (part of) one document carries its `document_id`; a chunk also its `span`.
    The id is a content address of how the row was made, so the same run gives the same ids.
    `copied` says of values that the operator copied from the document (by path: 'findings', 'findings[2]') from which
    of its lines; rows made from this one need not repeat it. `cited` says the same of values that the operator has
    checked against lines whose words they need not be (a day as ISO date, a yes).
    """

    id: RowId
    values: Mapping[str, Any]
    parents: tuple[RowId, ...] = ()
    document_id: DocumentId | None = None
    span: Span | None = None
    copied: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    cited: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)

    def derive(
        self,
        operator: str,
        values: Mapping[str, Any],
        *,
        index: int = 0,
        span: Span | None = None,
        copied: Mapping[str, tuple[Span, ...]] | None = None,
        cited: Mapping[str, tuple[Span, ...]] | None = None,
    ) -> Row:
        """Make a child of this row alone; document and span are inherited unless a narrower span is given."""
        return Row(
            id=row_id(operator, [self.id], index),
            values=values,
            parents=(self.id,),
            document_id=self.document_id,
            span=span or self.span,
            copied=copied or {},
            cited=cited or {},
        )

    @classmethod
    def combine(cls, operator: str, parents: Sequence[Row], values: Mapping[str, Any]) -> Row:
        """Make one row from several; it belongs to a document only if all its parents belong to that one."""
        documents = {p.document_id for p in parents}
        return cls(
            id=row_id(operator, [p.id for p in parents], 0),
            values=values,
            parents=tuple(p.id for p in parents),
            document_id=documents.pop() if len(documents) == 1 else None,
        )

    @classmethod
    def source(cls, dataset: str, key: str, values: Mapping[str, Any], document_id: DocumentId | None = None) -> Row:
        """Make a row that no operator made: a document, or an item of a data file. `key` is unique in `dataset`."""
        return cls(id=row_id(f"dataset {dataset}", [], key), values=values, document_id=document_id)


def row_id(operator: str, parents: Sequence[str], index: int | str) -> RowId:
    """Address a row by how it was made: 16 hexadecimal digits of SHA-256."""
    body = json.dumps([operator, list(parents), index], ensure_ascii=False)
    return RowId(hashlib.sha256(body.encode()).hexdigest()[:16])
