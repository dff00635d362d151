"""What an operator made of rows, as the case keeps it: fields that a row took over from a parent are not kept again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any, NamedTuple

from engine.operators.base import Outcome, Rejected
from engine.plan.frozen import digest_of
from engine.rows import DocumentId, Row, RowId, Span


class Cost(NamedTuple):
    """What model calls took: `read_tokens` are those of prompts that the model had not just read for another call.

    Which call that was depends on what ran before; of a whole plan it is counted anew (engine.optimizer.agent_client).
    """

    calls: int = 0
    prompt_tokens: int = 0
    read_tokens: int = 0
    sampled_tokens: int = 0
    forced_tokens: int = 0

    def plus(self, other: Cost) -> Cost:
        """Add."""
        return Cost(*map(add, self, other))

    @property
    def tokens(self) -> int:
        """Return the tokens of prompts and replies."""
        return self.prompt_tokens + self.sampled_tokens + self.forced_tokens


@dataclass(frozen=True)
class Made:
    """An outcome, with what it took to make it; `blocks` are the tokens of each block of its prompts, by its digest."""

    outcome: Outcome
    cost: Cost
    blocks: Mapping[str, float] = field(default_factory=dict)


def row_digest(row: Row) -> str:
    """Identify a row by its content and its place in the lineage: SHA-256, hexadecimal."""
    return digest_of(_identity(row))


def made_to_json(made: Made, given: Sequence[Row]) -> dict[str, Any]:
    """Write an outcome without failed rows, and without its decisions, which only a run's ledger needs."""
    at = {row.id: number for number, row in enumerate(given)}
    return {
        "rows": [_row_to(row, given, at) for row in made.outcome.rows],
        "rejected": [[at[item.row.id], item.reason] for item in made.outcome.rejected],
        "cost": list(made.cost),
        "blocks": {digest: round(tokens, 2) for digest, tokens in made.blocks.items()},
    }


def made_from_json(body: dict[str, Any], given: Sequence[Row]) -> Made:
    """Read what `made_to_json` wrote of the same given rows."""
    rows = [_row_from(item, given) for item in body["rows"]]
    rejected = [Rejected(given[number], reason) for number, reason in body["rejected"]]
    return Made(Outcome(rows, rejected), Cost(*body["cost"]), body["blocks"])


def _row_to(row: Row, inputs: Sequence[Row], at: dict[RowId, int]) -> dict[str, Any]:
    parent = next((at[id] for id in (row.id, *row.parents) if id in at), None)
    before = inputs[parent].values if parent is not None else {}
    changes = {key: value for key, value in row.values.items() if key not in before or not _is_same(before[key], value)}
    return {
        "id": row.id,
        "parents": list(row.parents),
        "of": parent,
        "keys": list(row.values),
        "own": changes,
        "document": row.document_id,
        "span": [row.span.first, row.span.last] if row.span else None,
        "copied": {path: [[s.first, s.last] for s in spans] for path, spans in row.copied.items()},
    }


def _row_from(body: dict[str, Any], inputs: Sequence[Row]) -> Row:
    before = inputs[body["of"]].values if body["of"] is not None else {}
    changes = body["own"]
    return Row(
        id=RowId(body["id"]),
        values={key: changes[key] if key in changes else before[key] for key in body["keys"]},
        parents=tuple(RowId(id) for id in body["parents"]),
        document_id=DocumentId(body["document"]) if body["document"] else None,
        span=Span(*body["span"]) if body["span"] else None,
        copied={path: tuple(Span(*span) for span in spans) for path, spans in body["copied"].items()},
    )


def _is_same(before: Any, value: Any) -> bool:
    """Say whether a prompt shows two values alike: not 1 and True, nor objects whose fields come in another order."""
    return before is value or digest_of(before) == digest_of(value)


def _identity(row: Row) -> list[Any]:
    span = [row.span.first, row.span.last] if row.span else None
    copied = {path: [[s.first, s.last] for s in spans] for path, spans in row.copied.items()}
    return [row.id, row.parents, row.document_id, span, copied, list(row.values), row.values]
