"""table: headers and rows, each cell as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.values.base import Normalised, ValueType, closed_object


@dataclass(frozen=True, slots=True)
class Table(ValueType):
    """A table of the document: its `headers`, and `rows` of as many cells each."""

    name = "table"
    parts = ("headers", "rows")
    tokens = 120

    def model_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what the model writes."""
        cells = {"type": "array", "items": {"type": "string"}}
        return closed_object({"headers": cells, "rows": {"type": "array", "items": cells}})

    def read(self, written: Any) -> Normalised:
        """Take the cells without the space around them; a row that does not fit the headers is a problem, and kept."""
        if not isinstance(written, Mapping):
            return Normalised(None, str(written), "it has no headers and rows")
        headers = [str(cell).strip() for cell in written.get("headers") or ()]
        rows = [[str(cell).strip() for cell in row] for row in written.get("rows") or ()]
        if not any(rows):
            return Normalised({"headers": headers, "rows": rows}, None, "the table has no rows")
        misfits = [f"row {n} has {len(row)}" for n, row in enumerate(rows, start=1) if len(row) != len(headers)]
        problem = f"there are {len(headers)} headers, but {', '.join(misfits[:5])} cells" if misfits else None
        return Normalised({"headers": headers, "rows": rows}, None, problem)
