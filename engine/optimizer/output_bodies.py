"""What plans wrote on the sample documents, as JSON: for the report, and for who looks at two plans side by side."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from engine.optimizer.candidates import Contest, Entry
from engine.optimizer.outputs import PlanOutput
from engine.rows import RowId

NAME_CHARACTERS = 60


def outputs_body(contest: Contest) -> dict[str, Any]:
    """Return the outputs of all plans of a contest on the rows that most of them were tried on.

    `documents` are the sample rows with a name to show, in order; `plans` has by plan, and then by sample row, the
    `rows` that were made of it and the reason why it was `rejected` ("" where it was not).
    """
    level = contest.level
    found = [(entry, entry.outputs[level]) for entry in contest.everyone() if level in entry.outputs]
    documents = found[0][1].inputs if found else {}
    return {
        "rows": level,
        "documents": [{"id": id, "name": _name(values)} for id, values in documents.items()],
        "plans": {str(entry.candidate.id): _of_plan(entry, output) for entry, output in found},
    }


def _of_plan(entry: Entry, output: PlanOutput) -> dict[str, Any]:
    return {
        "seconds": round(output.seconds, 1),
        "failed": list(output.failed),
        "documents": {id: _of_row(output, id) for id in output.inputs},
    }


def _of_row(output: PlanOutput, source: RowId) -> dict[str, Any]:
    rows = [row.values for row in output.rows_of(source)]
    return {"rows": rows, "rejected": output.rejected.get(source, "")}


def _name(values: Any) -> str:
    """Name a sample row by its file, else by its first short text."""
    if named := values.get("filename") or values.get("path"):
        return PurePath(str(named)).name
    texts = [value for value in values.values() if isinstance(value, str) and value.strip()]
    shortest = min(texts, key=len, default="")
    return " ".join(shortest.split())[:NAME_CHARACTERS]
