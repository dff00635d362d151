"""What a trial shows of each row that an operator was given: prompts, raw replies, values, evidence, fate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.executor.results import EvidenceFinder
from engine.executor.run import row_of
from engine.executor.sources import source_reader
from engine.plan.node import Node
from engine.plan.plan import Plan
from engine.rows import Row, RowId
from models.protocol import Reply, Request
from storage.case import Case
from storage.rows import RowRecord

MOST_ITEMS = 2000
MOST_ROWS = 20
"""Rows shown of one item, where an operator makes many of one (split)."""
SHOWN_CHARACTERS = 4000
"""Of one value; a text is longer than anybody reads here."""


@dataclass(eq=False)
class AskedOf:
    """One question and its reply, None while there is none or where there never was one."""

    request: Request
    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class TriedCall:
    """One question: what the model was told, by role, and what it said."""

    prompt: tuple[tuple[str, str], ...]
    reply: str
    prompt_tokens: int
    sampled_tokens: int
    seconds: float
    from_case: bool


@dataclass(frozen=True, slots=True)
class TriedPlace:
    """Where a value stands; `line` is the first one. `path` leads to it inside its column ("acts[0].date")."""

    column: str
    path: str
    document: str
    page: int
    line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class TriedRow:
    """One row that came out, with the fields that the operator wrote; `missing` are columns found nowhere."""

    values: Mapping[str, Any]
    places: tuple[TriedPlace, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TriedItem:
    """What one operator did with one row; `name` is what a person calls the row. `reason`: why it was left out.

    `made` rows came of it; `rows` are the first MOST_ROWS of them.
    """

    operator: str
    name: str
    fate: str
    reason: str
    calls: tuple[TriedCall, ...] = ()
    rows: tuple[TriedRow, ...] = ()
    made: int = 0


def tried_items(case: Case, run_id: str, plan: Plan, asked: Sequence[AskedOf]) -> list[TriedItem]:
    """List what the operators of a finished trial did, in the order they run; at most MOST_ITEMS."""
    return _Items(case, run_id, plan, asked).all()


class _Items:
    def __init__(self, case: Case, run_id: str, plan: Plan, asked: Sequence[AskedOf]) -> None:
        self._case = case
        self._run_id = run_id
        self._plan = plan
        self._calls: dict[tuple[str, str], list[AskedOf]] = defaultdict(list)
        for call in asked:
            self._calls[call.request.purpose.operator, call.request.purpose.row_id].append(call)
        self._files = {entry.id: entry.filename for entry in case.documents.entries()}
        sources = [dataset.name for dataset in plan.datasets]
        nodes = [node.name for node in plan.operators]
        self._by_operator = {name: case.rows.of_operator(run_id, name) for name in (*sources, *nodes)}
        records = [record for rows in self._by_operator.values() for record in rows]
        self._rows = {RowId(record.id): row_of(record) for record in records}
        self._finder = EvidenceFinder(self._rows, source_reader(case.documents, hidden=plan.includes_hidden))

    def all(self) -> list[TriedItem]:
        names = dict.fromkeys(name for step in self._plan.steps for name in step.operators)
        items = [item for name in names for item in self._of(self._plan.operator(name))]
        return items[:MOST_ITEMS]

    def _of(self, node: Node) -> Iterator[TriedItem]:
        fates = [stored.record for stored in self._case.ledger.fates(self._run_id, node.name)]
        ids = {fate.row_id for fate in fates}
        made: dict[str, list[RowRecord]] = defaultdict(list)
        for record in self._by_operator[node.name]:
            for origin in (record.id,) if record.id in ids else record.parents:  # a filter passes rows on as they are
                made[origin].append(record)
        for fate in fates:
            calls = tuple(map(_call, self._calls.pop((node.name, fate.row_id), [])))
            rows, reason = made[fate.row_id], fate.reason or fate.error or ""
            shown = tuple(self._shown(node, record) for record in rows[:MOST_ROWS])
            yield TriedItem(node.name, self._name(fate.row_id), fate.fate, reason, calls, shown, len(rows))
        for other in [key for key in self._calls if key[0] == node.name]:  # about a pair or a group of rows
            calls = tuple(map(_call, self._calls.pop(other)))
            yield TriedItem(node.name, self._name(other[1]), "asked", "", calls)

    def _name(self, row_id: str) -> str:
        row = self._rows.get(RowId(row_id))
        if row is None:
            return row_id
        file = self._files.get(row.document_id or "", "") or str(row.values.get("filename", ""))
        shown = [text for key, value in row.values.items() if (text := _label(key, value, file))]
        return ", ".join([*([file] if file else []), *shown[-1:]]) or row_id

    def _shown(self, node: Node, record: RowRecord) -> TriedRow:
        columns = [name for name in node.written_fields() if name in record.values]
        row = self._rows[RowId(record.id)]
        places: list[TriedPlace] = []
        missing: list[str] = []
        if node.kind not in ("split", "gather"):
            for item in self._stored(row, columns) or self._found(row, columns):
                if isinstance(item, TriedPlace):
                    places.append(item)
                else:
                    missing.append(item)
        values = {name: _short(record.values[name]) for name in columns}
        return TriedRow(values, tuple(places), tuple(dict.fromkeys(missing)))

    def _stored(self, row: Row, columns: Sequence[str]) -> list[TriedPlace | str]:
        """Take the evidence that the run kept, which it does for its results alone."""
        items: list[TriedPlace | str] = []
        for record in self._case.evidence.of_row(self._run_id, row.id):
            if record.column not in columns:
                continue
            if record.document_id is None or record.first_line is None or record.last_line is None:
                items.append(record.column)
            else:
                place = (record.document_id, record.page or 1, record.first_line, record.last_line)
                items.append(TriedPlace(record.column, record.path, *place))
        return items

    def _found(self, row: Row, columns: Sequence[str]) -> Iterator[TriedPlace | str]:
        for cell in self._finder.evidence(row, columns):
            if not cell.located:
                yield cell.column
            for place in cell.located:
                page = place.page or 1
                yield TriedPlace(cell.column, cell.path, place.document_id, page, place.first_line, place.last_line)


def _call(asked: AskedOf) -> TriedCall:
    prompt: list[tuple[str, str]] = []
    for segment in asked.request.segments:
        if prompt and prompt[-1][0] == segment.role:
            prompt[-1] = (segment.role, prompt[-1][1] + segment.text)
        else:
            prompt.append((segment.role, segment.text))
    reply = asked.reply
    if reply is None:
        return TriedCall(tuple(prompt), "", 0, 0, 0.0, False)
    return TriedCall(
        tuple(prompt), reply.text, reply.prompt_tokens, reply.sampled_tokens, reply.seconds, reply.from_cache
    )


def _label(key: str, value: Any, file: str) -> str:
    """Say in some words what a row is about: its last short text that is not its file."""
    is_named = key not in ("path", "kind", "filename") and not key.endswith("_id")
    if not isinstance(value, str) or not is_named or value == file or not value.strip():
        return ""
    return value if len(value) <= 60 and "\n" not in value else ""


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > SHOWN_CHARACTERS:
        return f"{value[:SHOWN_CHARACTERS]}… ({len(value):,} characters)"
    return value
