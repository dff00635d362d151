"""What a conversion (storage.conversion) that was killed leaves beside the case: a copy that was not finished."""

from __future__ import annotations

from pathlib import Path

from storage.errors import CaseReadOnly


def part_file(case: Path) -> Path:
    """Name the file that a conversion writes: beside the case, so that it can take its place in one step."""
    return case.with_name(f".{case.name}.converting")


def remove_leftovers(case: Path) -> None:
    """Remove an unfinished copy, which may hold plain records. Hold the writer's lock. Raises CaseReadOnly."""
    part = part_file(case)
    for path in (part, *(part.with_name(part.name + ending) for ending in ("-journal", "-wal", "-shm"))):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise CaseReadOnly(f"the unfinished copy {path} cannot be removed: {error.strerror}") from error
