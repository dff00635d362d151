"""A run while it goes on: how far it is, the latest rows of each operator, and why rows were left out."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import psutil

from engine.answers.telling import questions_back
from engine.executor.events import Event
from engine.executor.run_state import OperatorState, RunState
from engine.operators.asking import visible
from engine.operators.base import Outcome
from engine.results.values import shown
from engine.rows import Row
from engine.worker.contract.run import AskedBack, LiveRows, OperatorLine, ReasonLine, RunProgress

KEPT_ROWS = 500
"""Rows of each operator that are kept to be looked at; all of them are in the case when the operator is done."""

TOLD_REASONS = 100
SHOWN_CHARACTERS = 160
SHOWN_FIELDS = 12
_LESS_TELLING = ("text", "path", "pages", "kind")


class LiveRun:
    """What is known of the run that goes on, or was the last. Events come in one thread, questions in others."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.state = RunState(clock)
        self.memory_bytes = 0
        self._reasons: Counter[tuple[str, str, str]] = Counter()
        self._asked_back: Counter[tuple[str, str, str]] = Counter()
        self._rows: dict[str, OrderedDict[str, Mapping[str, str]]] = {}
        self._lock = threading.Lock()

    def take(self, event: Event) -> None:
        """Take in one event."""
        self.state.take(event)

    def watch(self, operator: str, outcome: Outcome) -> None:
        """See what an operator made of some rows (engine.executor.tools.WatchOutcome)."""
        with self._lock:
            for rejected in outcome.rejected:
                self._reasons[operator, "rejected", rejected.reason] += 1
            for failed in outcome.failed:
                self._reasons[operator, "failed", failed.error] += 1
            self._asked_back.update(
                (operator, *question) for row in outcome.rows for question in questions_back(row.values)
            )
            kept = self._rows.setdefault(operator, OrderedDict())
            for row in outcome.rows[-KEPT_ROWS:]:
                kept[row.id] = preview(row)
                kept.move_to_end(row.id)
            while len(kept) > KEPT_ROWS:
                kept.popitem(last=False)

    def rows(self, operator: str, offset: int, limit: int) -> LiveRows:
        """Return some of the latest rows."""
        with self._lock:
            if not operator:
                operator = next((name for name in reversed(self._rows) if self._rows[name]), "")
            rows = list(reversed(self._rows.get(operator, {}).values()))
        return LiveRows(operator, len(rows), tuple(rows[offset : offset + limit]))

    def progress(self) -> RunProgress:
        """Say how far the run is."""
        state, now = self.state, self.state.clock()
        with self._lock:
            reasons = self._reasons.most_common(TOLD_REASONS)
            others = self._reasons.total() - sum(count for _, count in reasons)
            asked_back = self._asked_back.most_common(TOLD_REASONS)
            rejected: Counter[str] = Counter()
            for (operator, fate, _), count in self._reasons.items():
                rejected[operator] += count if fate == "rejected" else 0
        lines = [_line(state, operator, rejected[operator.name]) for operator in state.operators.values()]
        read, written = state.calls.speeds(now)
        files = state.files.values()
        return RunProgress(
            run_id=state.run_id,
            elapsed_seconds=state.elapsed_seconds,
            left_seconds=state.seconds_left(),
            share_done=state.share_done(),
            files_done=sum(each.done for each in files),
            files_total=sum(each.total for each in files),
            reading_left_seconds=state.reading_seconds_left(),
            operators=tuple(lines),
            calls_made=state.calls.made,
            calls_from_cache=state.calls.from_cache,
            read_per_second=read,
            written_per_second=written,
            loading=state.loading,
            model=state.model,
            memory_bytes=self.memory_bytes,
            reasons=tuple(ReasonLine(*key, count) for key, count in reasons),
            other_reasons=others,
            asked_back=tuple(AskedBack(*key, count) for key, count in asked_back),
        )


def preview(row: Row) -> dict[str, str]:
    """Choose the fields of a row that tell most, as short texts."""
    values = visible(row.values, ())
    telling = [name for name in values if name not in _LESS_TELLING] or list(values)
    return {name: _short(values[name]) for name in telling[:SHOWN_FIELDS]}


def family_memory() -> int:
    """Add up the resident memory of this process and all that it started, in bytes; takes some milliseconds."""
    me = psutil.Process()
    total = 0
    for process in (me, *me.children(recursive=True)):
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:  # it ended meanwhile
            continue
    return total


def _line(state: RunState, operator: OperatorState, rejected: int) -> OperatorLine:
    pace = operator.per_second(state.clock())
    end = operator.end
    return OperatorLine(
        name=operator.name,
        kind=operator.kind,
        done=operator.done,
        total=operator.total,
        rejected=end.rejected if end else rejected,
        failed=end.failed if end else operator.failed,
        is_finished=end is not None,
        per_minute=None if pace is None else pace * 60,
        left_seconds=state.operator_seconds_left(operator),
    )


def _short(value: Any) -> str:
    text = value[: SHOWN_CHARACTERS * 2] if isinstance(value, str) else shown(value)
    text = " ".join(text.split())
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
