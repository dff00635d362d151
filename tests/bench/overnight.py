"""Run a corpus (corpus.py) to its end as a user would, killing the run on the way, and say what it took.

`redwell run` is a process of its own; its events are stamped as they come. Nothing of the case is there before.
A machine that others use, too, is faster in one minute than in the next. So the run is stopped again and again while
it answers, and the bare runtime's rates are measured in that time, which counts for nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
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
)
from engine.executor.run_state import RunState
from engine.worker.contract.events import read_event
from storage.case import Case

MEMORY_SECONDS = 1.0
ANSWERING_BETWEEN = 100.0
"""Seconds of answering between two times at which the run is stopped for a measurement."""

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


class Watch:
    """A clock that shows seconds since it was made, without those in which it was stopped. For several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._shown: tuple[float, float | None] = clock(), None  # when it would have begun without stops; stopped when

    def now(self) -> float:
        """Return the seconds so far; while it is stopped, those until then."""
        began, stopped = self._shown
        return (self._clock() if stopped is None else stopped) - began

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Stand still."""
        began, since = self._shown[0], self._clock()
        self._shown = began, since
        try:
            yield
        finally:
            self._shown = began + self._clock() - since, None


def run_through(order: Order, measure_beside: Callable[[], None]) -> Took:
    """Run to the end or to the limit. Each kill comes when an equal share more of the files has been answered.

    `measure_beside` is called every so often, by another thread, while the run stands still. What it raises is raised.
    """
    took, watch = Took(), Watch()
    for number in range(order.kills + 1):
        share = (number + 1) / (order.kills + 1)
        took.parts.append(_run_part(order, took, watch, share if share < 1 else None, measure_beside))
        if took.ended or watch.now() > order.limit:
            break
    took.seconds = watch.now()
    return took


def _run_part(
    order: Order, took: Took, clock: Watch, share: float | None, measure_beside: Callable[[], None]
) -> list[Stamped]:
    command = [*REDWELL, "run", order.pipeline, "--case", order.case, "--json-events"]
    command += ["--input", f"records={order.corpus / 'records'}", "--model", order.model]
    child = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    stop, answering = threading.Event(), threading.Event()
    stamped: list[Stamped] = []
    with ThreadPoolExecutor(2) as threads:
        watched = threads.submit(_watch_memory, child.pid, took.peaks, stop)
        measured = threads.submit(_measure_now_and_then, child.pid, clock, measure_beside, answering, stop)
        try:
            stamped = _stamp_events(order, child, clock, share, answering)
        except BaseException:
            child.kill()
            raise
        finally:
            child.wait()
            stop.set()
            answering.set()
    watched.result()
    measured.result()
    return stamped


def _stamp_events(
    order: Order, child: subprocess.Popen[str], clock: Watch, share: float | None, answering: threading.Event
) -> list[Stamped]:
    """Take the events as they come, until the run ends or its kill or the limit is due."""
    stamped: list[Stamped] = []
    files, asking = 0, set[str]()
    assert child.stdout is not None
    with child.stdout as lines:
        for line in lines:
            now = clock.now()
            event = read_event(json.loads(line))
            stamped.append((now, event))
            if isinstance(event, ChainProgress):
                answering.set()
            if isinstance(event, FilesFound):
                files = event.total
            if isinstance(event, ModelCall):
                asking.add(event.operator)
            is_due = (
                share is not None
                and isinstance(event, OperatorProgress)
                and event.operator in asking
                and event.done >= share * files > 0
            )
            if is_due or now > order.limit:
                os.kill(child.pid, signal.SIGKILL)
                break
    return stamped


def _measure_now_and_then(
    pid: int, clock: Watch, measure_beside: Callable[[], None], answering: threading.Event, stop: threading.Event
) -> None:
    answering.wait()
    while not stop.wait(ANSWERING_BETWEEN):
        with clock.stopped(), _standing_still(pid):
            measure_beside()


@contextlib.contextmanager
def _standing_still(pid: int) -> Iterator[None]:
    """Stop a process and its children, and let them go on."""
    stopped: list[psutil.Process] = []
    try:
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            run = psutil.Process(pid)
            for process in (run, *run.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.suspend()
                    stopped.append(process)
        yield
    finally:
        for process in stopped:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


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
    return {share: _estimate(took, share * took.seconds, RunState.seconds_left) for share in SHARES_OF_TIME}


def reading_estimates(took: Took) -> dict[float, float | None]:
    """Return, at shares of the time until the last file was read, the estimate of that time over the true one."""
    ends = [at for at, event in took.parts[0] if isinstance(event, DocumentRead | DocumentFailed)]
    shares = SHARES_OF_TIME if ends else ()
    return {share: _estimate(took, share * ends[-1], RunState.reading_seconds_left, ends[-1]) for share in shares}


def _estimate(
    took: Took, until: float, estimate: Callable[[RunState], float | None], total: float | None = None
) -> float | None:
    part = [p for p in took.parts if p and p[0][0] <= until][-1]
    now = part[0][0]
    state = RunState(clock=lambda: now)
    for at, event in part:
        if at > until:
            break
        now = at
        state.take(event)
    now = until
    left = estimate(state)
    return None if left is None else (until + left) / (total or took.seconds)


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


def mean_rates(measured: Mapping[int, Sequence[Mapping[str, float]]]) -> dict[int, dict[str, float]]:
    """Return the rates of several measurements taken together: by the mean of the seconds that a token takes."""
    return {
        length: {name: 1 / fmean(1 / rates[name] for rates in several) for name in several[0]}
        for length, several in measured.items()
    }


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
        "reading_estimated_over_true": reading_estimates(took),
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
