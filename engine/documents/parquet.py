"""Read Parquet as rows. The only module that imports arro3 to read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from arro3.io import read_parquet

from engine.errors import DocumentError


def parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, read in batches; raise DocumentError (corrupt).

    Dates become ISO text, NaN and the infinities null, decimals numbers, bytes text (hexadecimal if not UTF-8).
    """
    try:
        for batch in read_parquet(str(path)):
            columns = [batch.column(name).to_pylist() for name in batch.schema.names]
            for cells in zip(*columns, strict=True):
                yield {name: _json(cell) for name, cell in zip(batch.schema.names, cells, strict=True)}
    except BaseException as error:
        # A damaged file makes the library panic, which is an exception of its own below BaseException.
        if type(error).__name__ != "PanicException" and not isinstance(error, ValueError | OSError):
            raise
        raise DocumentError(
            f"{path.name} cannot be read as Parquet ({type(error).__name__}: {error})",
            reason="corrupt",
            advice="Write the file again, or save it as JSONL.",
        ) from error


def _json(value: Any) -> Any:
    result: Any = value
    match value:
        case float():
            result = value if math.isfinite(value) else None
        case datetime() | date() | time():
            result = value.isoformat()
        case Decimal():
            result = int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            result = _text(value)
        case dict():
            result = {str(key): _json(item) for key, item in value.items()}
        case list() | tuple():
            result = [_json(item) for item in value]
        case None | str() | int():
            pass
        case _:
            result = str(value)
    return result


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.hex()
