"""Run an operator with what several have in common: a limit, kept contexts, notes, and how it fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.errors import RunStopped
from engine.operators.asking import EMPTINESS, ModelNode
from engine.operators.base import CallRecord, Decision, OnErrorNode, OperatorInput, Outcome, Rejected, Tools
from engine.operators.pairs import CONDITIONS
from engine.operators.registry import REGISTRY
from engine.plan.node import Node
from engine.rows import Row

LEAST_WAVE = 16
"""Rows that are worked on at once while a filter looks for its next matches: a model answers many as fast as few."""


async def run_operator(node: Node, given: OperatorInput, tools: Tools) -> Outcome:
    """Run any operator over its rows; the outcome has the notes of `tools.record` among its decisions."""
    if node.limit is None:
        outcome = await _run(node, given, tools)
    elif node.traits().inputs == 2:
        outcome = await _first_left(node, node.limit, given, tools)
    else:
        outcome = await _first(node, node.limit, given, tools)
    rows = [_with_notes(node, row, tools.record) for row in outcome.rows]
    warnings = [*outcome.warnings, *_unanswered(outcome.decisions)]
    return replace(outcome, rows=rows, decisions=[*outcome.decisions, *tools.record.decisions], warnings=warnings)


def _unanswered(decisions: Sequence[Decision]) -> list[str]:
    """Say which questions about several rows failed: no row fails with them, so else only the ledger would tell."""
    lost = _failed_questions(decisions)
    if not lost:
        return []
    failed = "1 question about several rows" if len(lost) == 1 else f"{len(lost)} questions about several rows"
    return [f"{failed} failed, undecided in `redwell ledger --decisions`; the first: {lost[0].detail}"]


def _failed_questions(decisions: Sequence[Decision]) -> list[Decision]:
    """List the questions about several rows that failed; a condition that cannot be computed for a row is none."""
    return [decision for decision in decisions if decision.by == "error" and decision.subject != CONDITIONS]


def stop_on_failure(node: Node, outcome: Outcome) -> None:
    """Raise RunStopped for the first failed row of an operator whose failures end the run (`on_error: fail_run`).

    A question about several rows that failed (are these the same?) ends it too, though its rows go on otherwise.
    """
    if not (isinstance(node, OnErrorNode) and node.fails_run):
        return
    record = "Or write on_error: record, so that"
    for first in outcome.failed[:1]:
        advice = f"{first.advice} {record} the row is recorded as failed and the run goes on."
        raise RunStopped(f"{first.error} (on_error: fail_run)", advice=advice.strip())
    for asked in _failed_questions(outcome.decisions)[:1]:
        pair = " and ".join(repr(name) for name in dict.fromkeys((asked.left, asked.right)))
        error = f"operator {node.name!r}, about {pair}: {asked.detail} (on_error: fail_run)"
        raise RunStopped(error, advice=f"{record} they stay undecided in the ledger and the run goes on.")


async def _run(node: Node, inputs: OperatorInput, tools: Tools) -> Outcome:
    return await REGISTRY[node.kind].run(node, inputs, tools)


async def _first_left(node: Node, limit: int, inputs: Any, tools: Tools) -> Outcome:
    """Join the first rows of the left side."""
    left, right = inputs
    outcome = await _run(node, (left[:limit], right), tools)
    known = {row.id for row in (*left[:limit], *right)}
    return _with_rejected(node, outcome, [row for row in left[limit:] if row.id not in known])


async def _first(node: Node, limit: int, rows: Any, tools: Tools) -> Outcome:
    """Begin so many work items only (or keep so many rows); the other rows are rejected.

    Rows that are no part of a work item are begun too: they fail.
    """
    if node.limit_counts == "kept":
        return await _first_kept(node, limit, rows, tools)
    late = {row.id for item in node.work_items(rows)[limit:] for row in item}
    outcome = await _run(node, [row for row in rows if row.id not in late], tools)
    return _with_rejected(node, outcome, [row for row in rows if row.id in late])


async def _first_kept(node: Node, limit: int, rows: Sequence[Row], tools: Tools) -> Outcome:
    """Go through the rows in waves until so many are kept; the others are rejected, most of them unasked."""
    waves = list(rows)
    outcome = Outcome()
    while waves and len(outcome.rows) < limit:
        size = max(limit - len(outcome.rows), LEAST_WAVE) if node.traits().row_local else len(waves)
        wave, waves = waves[:size], waves[size:]
        outcome = Outcome.together([outcome, await _run(node, wave, tools)])
    kept, surplus = outcome.rows[:limit], outcome.rows[limit:]
    over = {parent for row in surplus for parent in row.parents} - {parent for row in kept for parent in row.parents}
    late = [row for row in rows if row.id in over] + waves
    return _with_rejected(node, replace(outcome, rows=kept), late)


def _with_rejected(node: Node, outcome: Outcome, rows: Sequence[Row]) -> Outcome:
    told = f"{node.kind} {node.name}: not taken, the limit is {node.limit}"
    reason = f"limit {node.limit}" if isinstance(node, ModelNode) else told
    return replace(outcome, rejected=[*outcome.rejected, *(Rejected(row, reason) for row in rows)])


def _with_notes(node: Node, row: Row, record: CallRecord) -> Row:
    """Add what the record holds of the row that a row was made from, where the operator keeps it.

    What the retriever showed, how far readings agree, and, where the model says so, how likely lists are to be empty.
    """
    noted: dict[str, Any] = {}
    if isinstance(node, ModelNode):
        kept: dict[str | None, Mapping[str, Any]] = {node.context_field: record.contexts}
        kept[node.agreement_field] = record.agreements
        noted = {field: _of_parent(row, known) for field, known in kept.items() if field}
    if empty := _of_parent(row, record.emptiness):
        noted[EMPTINESS] = {**(row.values.get(EMPTINESS) or {}), **empty}
    return replace(row, values={**row.values, **noted}) if noted else row


def _of_parent(row: Row, known: Mapping[str, Any]) -> Any:
    return next((known[parent] for parent in row.parents if parent in known), None)
