"""What makes a result row the same one in another run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class RowIdentity:
    """A row by its id, which tells how it was made, and by the digest of its documents and values."""

    id: str
    digest: bytes

    @classmethod
    def of(cls, row_id: str, values: Mapping[str, Any], documents: Iterable[str]) -> RowIdentity:
        """Identify a row; `values` are those of the columns of its table, `documents` ids in any order."""
        return cls(row_id, value_digest([sorted(set(documents)), dict(values)]))


def value_digest(value: Any) -> bytes:
    """Return a digest that two JSON values share when they are equal, whatever the order of their keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()
