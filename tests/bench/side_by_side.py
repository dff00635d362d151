"""Run the jobs with every contestant, one after the other, and keep what each took in results.json.

`bench_jobs.py` is how it is started; its settings are environment variables (README.md). A contestant that fails is a
result with an error, and the rest goes on. After each contestant the results are written, so that a run which is
stopped has lost nothing.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from jobs import HERE, JOBS, Job, Work, job_of, write_work
from kernel_calls import floor_sizes, measure_rates
from processes import Failed, Server, run, serving
from report import line_of, tables
from scoring import score

from models.hardware import CPUINFO, read_cpu, usable_cores
from models.install import find_model

PEERS = HERE / "peers"
GROWTH = (("documents", (2, 4, 8)), ("prompts", (2, 4)))


@dataclass(frozen=True, slots=True)
class Settings:
    """What is run. Without `docetl` (and `lotus`) and `server`, no peer is. `seconds`: most for one contestant.

    Each job is run on `draws` lots of rows; times are compared on the first. `layouts` are layouts of replies, parted
    by commas, that ours is run with beside its own (models.layouts).
    """

    out: Path
    model: str = "qwen2.5-coder-1.5b"
    jobs: str = "ABCDE"
    repeats: int = 1
    draws: int = 1
    layouts: str = ""
    quick: bool = False
    growth: bool = False
    docetl: Path | None = None
    lotus: Path | None = None
    server: Path | None = None
    seconds: float = 3600.0

    @classmethod
    def from_environment(cls) -> Settings:
        """Read REDWELL_BENCH_*; results go to a new folder of the temporary one if none is named."""
        read = {
            name: value
            for name in (setting.name for setting in fields(cls))
            if (value := os.environ.get(f"REDWELL_BENCH_{name.upper()}", "").strip())
        }
        kinds: dict[str, Callable[[str], Any]] = {
            "out": Path,
            "docetl": Path,
            "lotus": Path,
            "server": Path,
            "repeats": int,
            "draws": int,
            "seconds": float,
            "quick": lambda text: text == "1",
            "growth": lambda text: text == "1",
        }
        given = {name: kinds.get(name, str)(value) for name, value in read.items()}
        given.setdefault("out", Path(tempfile.mkdtemp(prefix="redwell-bench-")))
        return cls(**given)


@dataclass(frozen=True, slots=True)
class Task:
    """One run of one contestant: a job at a size. `slots` 0 means no server; `layout` "" is the model's own."""

    contestant: str
    job: Job
    slots: int = 0
    documents: int = 1
    prompts: int = 1
    repeat: int = 1
    draw: int = 0
    layout: str = ""

    @property
    def name(self) -> str:
        """Return the name that results and tables have."""
        return "-".join([self.contestant, *([str(self.slots)] if self.slots else []), *filter(None, [self.layout])])


@dataclass
class Bench:
    """A whole run. `results` grows with every contestant."""

    settings: Settings
    results: list[dict[str, Any]] = field(default_factory=list)
    began: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def measure(self) -> list[dict[str, Any]]:
        """Run every task; print a line for each, and the tables at the end."""
        self.settings.out.mkdir(parents=True, exist_ok=True)
        tasks = list(self.tasks())
        for number, task in enumerate(tasks, 1):
            result = self._measured(task, self.settings.out / f"{number:03}-{task.name}-{task.job.letter}")
            self.results.append(result)
            self._keep()
            print(f"[{number}/{len(tasks)}] {line_of(result)}", flush=True)
        print(tables(self._body()), flush=True)
        print(f"results: {self.settings.out / 'results.json'}", flush=True)
        return self.results

    def tasks(self) -> Iterator[Task]:
        """List what is run: all contestants of a job before the next job, all of them again for each repeat."""
        peers = self._peers()
        for job in (job for job in JOBS if job.letter in self.settings.jobs):
            for draw, repeat in product(range(self.settings.draws), range(1, self.settings.repeats + 1)):
                for layout in ["", *filter(None, self.settings.layouts.split(","))]:
                    yield Task("ours", job, repeat=repeat, draw=draw, layout=layout)
                for peer in peers:
                    for slots in job.slots:
                        yield Task(peer, job, slots, repeat=repeat, draw=draw)
        if self.settings.growth:
            for what, factors in GROWTH:
                for factor in factors:
                    yield Task("ours", job_of("B"), **{what: factor})

    def _peers(self) -> list[str]:
        if self.settings.server is None:
            return []
        return [name for name in ("docetl", "lotus") if getattr(self.settings, name)]

    def _measured(self, task: Task, folder: Path) -> dict[str, Any]:
        result: dict[str, Any] = {
            "job": task.job.letter,
            "contestant": task.name,
            "repeat": task.repeat,
            "draw": task.draw,
            "documents": task.documents,
            "prompts": task.prompts,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "load": os.getloadavg()[0],
        }
        sizes = {"documents": task.documents, "prompts": task.prompts}
        work = write_work(task.job, folder, **sizes, quick=self.settings.quick, draw=task.draw)
        try:
            told = self._ours(task, work, folder) if task.contestant == "ours" else self._peer(task, work, folder)
        except Failed as error:
            return {**result, "error": str(error)}
        rows = told.pop("rows")
        return {**result, **told, "rows": len(rows), "quality": score(task.job.letter, rows, work.gold)}

    # -- ours ------------------------------------------------------------------------------------------------------

    def _ours(self, task: Task, work: Work, folder: Path) -> dict[str, Any]:
        """Run the job; of one that has a shape, rates are measured before and after: the floor takes the mean."""
        gguf, shape = find_model(self.settings.model).path, task.job.shape
        before = measure_rates(gguf, shape, seconds=self.settings.seconds) if shape else {}
        into = folder / "ours"
        command = [sys.executable, HERE / "ours.py", work.pipeline, work.rows, self.settings.model, into, task.layout]
        peak = run(command, seconds=self.settings.seconds, log=folder / "ours.log")
        told: dict[str, Any] = json.loads((into / "ours.json").read_text(encoding="utf-8"))
        working = told["seconds"] - told["load_seconds"]
        if shape is None:
            return {**told, "seconds": working, "peak_bytes": peak}
        after = measure_rates(gguf, shape, seconds=self.settings.seconds)
        sizes = floor_sizes(gguf, into / "requests.jsonl", seconds=self.settings.seconds)
        rates = {name: (before[name] + after[name]) / 2 for name in before}
        floor = sizes["distinct_tokens"] / rates["prompt_per_second"]
        floor += told["sampled_tokens"] / rates["sampled_per_second"]
        return {
            **told,
            **sizes,
            "seconds": working,
            "peak_bytes": peak,
            "rates": {"before": before, "after": after},
            "floor_seconds": floor,
            "floor_ratio": working / floor,
        }

    # -- peers -----------------------------------------------------------------------------------------------------

    def _peer(self, task: Task, work: Work, folder: Path) -> dict[str, Any]:
        """Start a fresh server, let the peer do the job, end the server. The start of either is not counted."""
        settings = self.settings
        python = settings.docetl if task.contestant == "docetl" else settings.lotus
        assert settings.server is not None and python is not None, "a peer needs a server and a Python"
        gguf, threads = find_model(settings.model).path, int(os.environ.get("REDWELL_THREADS") or usable_cores())
        script = PEERS / f"{task.contestant}_run.py"
        with serving(settings.server, gguf, slots=task.slots, threads=threads, log=folder / "server.log") as server:
            command = [python, script, work.pipeline, work.rows, server.base_url, str(task.slots), folder / "peer"]
            peak = run(command, seconds=settings.seconds, log=folder / "peer.log", beside=(server.pid,))
            counted = _server_tokens(server)
        told: dict[str, Any] = json.loads((folder / "peer" / "peer.json").read_text(encoding="utf-8"))
        if "prompt_tokens" in told and "evaluated_tokens" in counted:
            counted["reused_tokens"] = max(0, told["prompt_tokens"] - counted["evaluated_tokens"])
        return {**told, **counted, "peak_bytes": peak}

    # -- results ---------------------------------------------------------------------------------------------------

    def _body(self) -> dict[str, Any]:
        cpu, _ = read_cpu(CPUINFO)
        settings = {name: str(getattr(self.settings, name)) for name in ("model", "jobs", "repeats", "draws", "quick")}
        machine = {"cpu": cpu or platform.processor(), "cores": usable_cores(), "system": platform.platform()}
        return {"began": self.began, "settings": settings, "machine": machine, "results": self.results}

    def _keep(self) -> None:
        path = self.settings.out / "results.json"
        part = path.with_suffix(".part")
        part.write_text(json.dumps(self._body(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        part.replace(path)


def _server_tokens(server: Server) -> dict[str, int]:
    counters = server.counters()
    names = {"evaluated_tokens": "prompt_tokens_total", "sampled_tokens": "tokens_predicted_total"}
    return {ours: int(counters[theirs]) for ours, theirs in names.items() if theirs in counters}
