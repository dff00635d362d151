"""Whether results are still what a run delivered and its files were read as: told before they are shown or written."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from storage.case import Case
from storage.errors import CustodyBroken
from storage.export.table import ResultTable, free_name
from storage.seals import Seals

MOST_NAMED = 10
"""Changed rows and lines that a message names; all are counted."""

WARNING_COLUMN = "custody_warning"


def change_warning(seals: Seals, run_id: str, *, only: Collection[str] | None = None, reviews: bool = True) -> str:
    """Say what of a run differs from what was recorded of it; empty for nothing.

    `only`: the ids of the rows to look at, all if None. `reviews`: look at what reviewers said too, whose corrections
    are no such changes as long as they were made in Redwell. Raises NotInCase.
    """
    changes = seals.changes(run_id, only=only, reviews=reviews)
    if not changes:
        return ""
    more = f", and {len(changes) - MOST_NAMED} more" if len(changes) > MOST_NAMED else ""
    return f"the case differs from what was recorded of run {run_id}: {'; '.join(changes[:MOST_NAMED])}{more}"


def refuse_changes(case: Case, warning: str) -> None:
    """Raise CustodyBroken for a warning that is not empty."""
    if warning:
        raise CustodyBroken(
            f"{case.path.name}: {warning}",
            advice="Unless files were read again, another program changed the case: compare it with a backup and with "
            "earlier manifests (docs/custody.md). To export it anyway, with a warning in every row, "
            "tick that box in Export, or add --despite-changes.",
        )


def with_warning(table: ResultTable, warning: str) -> ResultTable:
    """Put a warning into a table: a column with it in every row, so that no format loses it, and a note."""
    name = free_name(WARNING_COLUMN, table.columns)
    rows = tuple(replace(row, values={**row.values, name: warning}) for row in table.rows)
    return replace(
        table,
        columns=(*table.columns, name),
        rows=rows,
        plain=table.plain | {name},
        notes=(*table.notes, f"WARNING: {warning}"),
    )
