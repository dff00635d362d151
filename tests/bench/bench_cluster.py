"""A question over a corpus by one process and by Ray workers of this machine: `redwell bench cluster`.

    redwell bench cluster --out FOLDER --model qwen2.5-coder-0.5b

The corpus of REDWELL_BENCH_PAGES (100) pages is made in FOLDER if it is not there, and its files are read once, before
what is measured. Then each of WAYS answers the question from nothing; one of them loses a worker, killed when so many
questions as half of the files have been answered. All use the same cores, so what workers can reach is the time of one
process. REDWELL_BENCH_PIPELINE names the question: `overnight`, the plain one, or `overnight_pages`, yes or no of each
page.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from corpus import make_corpus
from jobs import HERE
from needs import installed
from processes import REDWELL, PeakMemory
from side_by_side import Settings

from engine.executor.events import ChainProgress, FilesFound, ModelCall, RowFailed
from engine.worker.contract.events import read_event
from storage.case import Case

WAYS = (("", False), ("local:2", False), ("local:4", False), ("local:2", True))
"""Each way to run: the cluster, none for one process, and whether a worker is killed."""

FILES_FAILED = 1
"""What the command returns where all is done but some files could not be read, as in this corpus."""


_ROWS_NAMED = 5
"""Rows that differ from those of one process and are printed."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a run took from its first row on: seconds, calls, peak bytes of all processes, failed rows; its rows."""

    seconds: float
    calls: int
    peak_bytes: int
    failed: int
    rows: frozenset[str]


def test_cluster() -> None:
    """Print what each way took, and compare the rows that it made with those of one process."""
    pytest.importorskip("ray", reason="a cluster needs Ray: pip install -e '.[ray]'")
    chosen = Settings.from_environment()
    installed(chosen.model)
    corpus = chosen.out / f"corpus-{os.environ.get('REDWELL_BENCH_PAGES', '100')}"
    if not corpus.exists():
        make_corpus(corpus, int(corpus.name.partition("-")[2]))
    read = chosen.out / "read.redwell"
    if not read.exists():
        command = [*REDWELL, "ingest", corpus / "records", "--case", read]
        assert subprocess.run(command, check=False, capture_output=True).returncode == FILES_FAILED
    print(f"\n{chosen.model}, {corpus.name}")
    print("| workers | seconds | of one process | calls | failed rows | peak memory | rows |")
    print("|---|---|---|---|---|---|---|", flush=True)
    first: Answered | None = None
    for cluster, is_killed in WAYS:
        took = _answer(chosen, corpus, read, cluster, is_killed=is_killed)
        first = first or took
        name = (cluster or "one process") + (", one killed" if is_killed else "")
        print(
            f"| {name} | {took.seconds:.0f} | {first.seconds / took.seconds:.2f} | {took.calls} | {took.failed} "
            f"| {took.peak_bytes / 1e9:.1f} GB | {len(took.rows)}, {len(took.rows & first.rows)} the same |",
            flush=True,
        )
        for row in sorted(took.rows ^ first.rows)[:_ROWS_NAMED]:
            print(f"{'also' if row in took.rows else 'lacks'}: {row[:300]}", flush=True)
        assert took.failed == 0


def _answer(chosen: Settings, corpus: Path, read: Path, cluster: str, *, is_killed: bool) -> Answered:
    folder = chosen.out / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    case = Path(shutil.copy(read, folder / "case.redwell"))
    pipeline = HERE / f"{os.environ.get('REDWELL_BENCH_PIPELINE', 'overnight')}.yaml"
    command = [*REDWELL, "run", pipeline, "--case", case, "--json-events", "--model", chosen.model]
    command += ["--input", f"records={corpus / 'records'}", *(["--cluster", cluster] if cluster else [])]
    began, files, calls, failed = 0.0, 0, 0, 0
    with (
        subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True) as child,
        PeakMemory((child.pid,)).watching() as memory,
    ):
        assert child.stdout is not None
        for line in child.stdout:
            event = read_event(json.loads(line))
            if isinstance(event, ChainProgress):
                began = began or time.monotonic()
            elif isinstance(event, FilesFound):
                files = event.total
            elif isinstance(event, ModelCall):
                calls += not event.from_cache
                if is_killed and calls >= files / 2:
                    is_killed = False
                    _kill_worker(child.pid)
            elif isinstance(event, RowFailed):
                failed += 1
        assert child.wait() == FILES_FAILED
    seconds = time.monotonic() - began
    assert not is_killed, "no worker was killed"
    with Case(case) as opened:
        run = opened.runs.latest()
        assert run is not None
        rows = frozenset(json.dumps(row.values, sort_keys=True) for row in opened.result_rows.read(run.id))
    return Answered(seconds, calls, memory.total, failed, rows)


def _kill_worker(pid: int) -> None:
    """Kill the worker that used the processor most."""
    workers = [p for p in psutil.Process(pid).children(recursive=True) if "ray::" in " ".join(p.cmdline())]
    os.kill(max(workers, key=lambda p: p.cpu_times().user).pid, signal.SIGKILL)
