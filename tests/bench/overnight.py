"""Run a corpus (corpus.py) to its end as a user would, killing the run on the way, and say what it took.

`redwell run` is a process of its own; its events are stamped as they come. Nothing of the case is there before.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from processes import REDWELL

from engine.evaluation import Gold, Score, predicted_pairs, score
from engine.executor.events import (
    ChainProgress,
    DocumentFailed,
    DocumentRead,
    Event,
    FilesFound,
    ModelCall,
    OperatorProgress,
    RowFailed,
    RunFinished,
    event_from_json,
)
from engine.executor.run_state import RunState
from storage.case import Case

MEMORY_SECONDS = 1.0
SHARES_OF_TIME = (0.1, 0.5, 0.9)
"""Of the whole time: when the estimate of the time left is compared with what was left."""

ROLES = {"models.isolation.child": "model", "engine.documents": "reader"}
"""What in a process's command says what it is; all others are the run itself."""

Stamped = tuple[float, Event]
"""Seconds since the beginning of the whole, and what happened."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is run, and how often it is killed. `limit`: seconds after which it is ended and reported as it stands."""

    pipeline: Path
    corpus: Path
    case: Path
    model: str
    kills: int
    limit: float


@dataclass(slots=True)
class Took:
    """What a run took. `parts` are the events between two kills; `peaks` bytes by role, of the largest process."""

    parts: list[list[Stamped]] = field(default_factory=list)
    peaks: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def events(self) -> Iterator[Event]:
        return (event for part in self.parts for _, event in part)

    @property
    def ended(self) -> bool:
        """Say whether the last part came to its end."""
        return any(isinstance(event, RunFinished) for _, event in self.parts[-1])


def run_through(order: Order) -> Took:
    """Run to the end or to the limit. Each kill comes when an equal share more of the files has been answered."""
    took, began = Took(), time.monotonic()
    for number in range(order.kills + 1):
        share = (number + 1) / (order.kills + 1)
        took.parts.append(_run_part(order, took, began, share if share < 1 else None))
        if took.ended or time.monotonic() - began > order.limit:
            break
    took.seconds = time.monotonic() - began
    return took


def _run_part(order: Order, took: Took, began: float, share: float | None) -> list[Stamped]:
    command = [*REDWELL, "run", order.pipeline, "--case", order.case, "--json-events"]
    command += ["--input", f"records={order.corpus / 'records'}", "--model", order.model]
    child = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    stop = threading.Event()
    watch = threading.Thread(target=_watch_memory, args=(child.pid, took.peaks, stop), daemon=True)
    watch.start()
    stamped: list[Stamped] = []
    try:
        files = 0
        assert child.stdout is not None
        for line in child.stdout:
            now = time.monotonic() - began
            event = event_from_json(line)
            stamped.append((now, event))
            if isinstance(event, FilesFound):
                files = event.total
            is_due = share is not None and isinstance(event, OperatorProgress) and event.done >= share * files > 0
            if is_due or now > order.limit:
                os.kill(child.pid, signal.SIGKILL)
                break
    finally:
        if child.poll() is None and sys.exc_info()[0] is not None:
            child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
        stop.set()
        watch.join()
    return stamped


def _watch_memory(pid: int, peaks: Counter[str], stop: threading.Event) -> None:
    while not stop.wait(MEMORY_SECONDS):
        with contextlib.suppress(psutil.Error):
            run = psutil.Process(pid)
            for process in (run, *run.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    role = _role(process) if process.pid != pid else "run"
                    peaks[role] = max(peaks[role], process.memory_info().rss)


def _role(process: psutil.Process) -> str:
    words = " ".join(process.cmdline())
    return next((role for part, role in ROLES.items() if part in words), "other")


def first_row(took: Took) -> float | None:
    """Return the seconds until the first row had passed the last operator."""
    stamps = [(at, event) for part in took.parts for at, event in part if isinstance(event, OperatorProgress)]
    if not stamps:
        return None
    last = list(dict.fromkeys(event.operator for _, event in stamps))[-1]
    return next((at for at, event in stamps if event.operator == last and event.done), None)


def estimates(took: Took) -> dict[float, float | None]:
    """Return, at shares of the whole time, the estimated total over the true one; None where nothing was estimated."""
    return {share: _estimate(took, share * took.seconds) for share in SHARES_OF_TIME}


def _estimate(took: Took, until: float) -> float | None:
    part = [p for p in took.parts if p and p[0][0] <= until][-1]
    now = part[0][0]
    state = RunState(clock=lambda: now)
    for at, event in part:
        if at > until:
            break
        now = at
        state.take(event)
    now = until
    left = state.seconds_left()
    return None if left is None else (until + left) / took.seconds


def tokens(took: Took) -> dict[str, int]:
    """Count calls and tokens; what was asked again after a kill counts again."""
    calls = [event for event in took.events if isinstance(event, ModelCall) and not event.from_cache]
    return {
        "calls": len(calls),
        "read": sum(c.prompt_tokens - c.reused_tokens for c in calls),
        "reused": sum(c.reused_tokens for c in calls),
        "sampled": sum(c.sampled_tokens for c in calls),
        "forced": sum(c.forced_tokens for c in calls),
    }


def reading(took: Took) -> dict[str, float]:
    """Count what was read of files: each once, however often the run began."""
    read = {e.path: e for e in took.events if isinstance(e, DocumentRead) and e.status == "parsed"}
    failed = {e.path for e in took.events if isinstance(e, DocumentFailed)}
    return {
        "files": len(read),
        "failed_files": len(failed),
        "pages": sum(e.pages for e in read.values()),
        "ocr_pages": sum(e.ocr_pages for e in read.values()),
        "reader_seconds": round(sum(e.seconds for e in read.values()), 1),
        "failed_rows": len({(e.operator, e.row_id) for e in took.events if isinstance(e, RowFailed)}),
    }


def quality(case: Path, gold_file: Path) -> Score | None:
    """Score the pairs (file, officer) of the invented files; what is said of real files has no gold and counts not.

    None where the run did not come to its end.
    """
    gold = Gold.read(gold_file)
    known = {file for officer in gold.officers for file in officer["forms"]}
    with Case(case) as opened:
        run = opened.runs.latest()
        if run is None or opened.runs.results(run.id) is None:
            return None
        pairs = predicted_pairs(opened, run.id, gold)
    return score((pair for pair in pairs if pair[0] in known), gold.pairs)


def size_of(path: Path) -> int:
    """Return the bytes of a case with its journal."""
    return sum(file.stat().st_size for file in path.parent.glob(path.name + "*"))


Rates = Mapping[int, Mapping[str, float]]
"""Tokens read and written a second by the bare runtime, by the tokens of a prompt."""


def floor_seconds(took: Took, rates: Rates) -> float:
    """Add up what the bare runtime needs for the calls of a run, each at the length of its own prompt.

    What the form of a reply forces is only read: its tokens can be evaluated together. Between the lengths that were
    measured, seconds per token are interpolated; beyond them the nearest holds.
    """
    lengths = sorted(rates)
    calls = [event for event in took.events if isinstance(event, ModelCall) and not event.from_cache]
    prompts = [call.prompt_tokens for call in calls]
    reading_one, writing_one = (
        np.interp(prompts, lengths, [1 / rates[length][name] for length in lengths])
        for name in ("prompt_per_second", "sampled_per_second")
    )
    read = np.asarray([call.prompt_tokens - call.reused_tokens + call.forced_tokens for call in calls])
    return float(read @ reading_one + np.asarray([call.sampled_tokens for call in calls]) @ writing_one)


def measure(took: Took, case: Path, gold: Path, rates: Rates) -> dict[str, Any]:
    """Collect all figures by name."""
    spent, found, read = tokens(took), quality(case, gold), reading(took)
    return {
        "ended": took.ended,
        "parts": len(took.parts),
        "seconds": round(took.seconds, 1),
        "pages_per_hour": round(3600 * read["pages"] / took.seconds),
        "first_row_seconds": first_row(took),
        "answering_seconds": answering_seconds(took),
        "floor_seconds": round(floor_seconds(took, rates), 1),
        **read,
        **spent,
        "estimated_over_true": estimates(took),
        "peak_bytes": dict(took.peaks),
        "case_bytes": size_of(case),
        "quality": None if found is None else [round(x, 3) for x in (found.precision, found.recall, found.f1)],
    }


def answering_seconds(took: Took) -> float:
    """Add up, over the parts, the seconds from the first row's begin to the end: what the floor is compared with.

    The model is ready before the files are read; rows begin when both are.
    """
    total = 0.0
    for part in took.parts:
        begun = next((at for at, event in part if isinstance(event, ChainProgress)), None)
        total += part[-1][0] - begun if begun is not None else 0.0
    return round(total, 1)


def stamped_lines(took: Took) -> str:
    """Write the events as JSON lines: seconds, the part, the event."""
    return "".join(
        json.dumps([round(at, 2), number, event.to_json()]) + "\n"
        for number, part in enumerate(took.parts)
        for at, event in part
    )


def report(figures: Mapping[str, Any]) -> str:
    """Write a table of two columns."""
    return "\n".join(["| what | figure |", "|---|---|", *(f"| {name} | {value} |" for name, value in figures.items())])
