"""Run one job with Redwell, as `redwell run` does, in this process, and write what it cost as JSON.

usage: python ours.py PIPELINE ROWS MODEL FOLDER [LAYOUT]
FOLDER receives a fresh case, `out.json` (the results table), `requests.jsonl` (every prompt that was asked) and
`ours.json` (times, tokens). LAYOUT is that of the replies, where it is not the model's own (models.layouts).
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.cli import local_models
from engine.cli.local_models import LocalModels
from engine.executor.events import Event, ModelCall, ModelReady, RowFailed
from engine.executor.run import run_pipeline
from engine.executor.settings import RunSettings
from engine.worker.jobs import RunJob, make_ready, write_results
from models.layouts import layout_named
from models.protocol import ModelBackend, Reply, Request
from storage.case import Case


class Recording:
    """A model that keeps what it was asked, and what each answer cost."""

    def __init__(self, backend: ModelBackend, told: list[dict[str, Any]]) -> None:
        self._backend = backend
        self._told = told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    async def ask(self, request: Request) -> Reply:
        reply = await self._backend.ask(request)
        self._told.append(
            {
                "segments": [[s.role, s.text] for s in request.segments],
                "purpose": asdict(request.purpose),
                "prompt": reply.prompt_tokens,
                "reused": reply.reused_tokens,
                "sampled": reply.sampled_tokens,
                "forced": reply.forced_tokens,
                "seconds": reply.seconds,
                "text": reply.text,
            }
        )
        return reply


class RecordingModels(LocalModels):
    """The models of this machine, each of which records."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[dict[str, Any]] = []

    def open_model(self, name: str) -> ModelBackend:
        recording: Any = Recording(super().open_model(name), self.told)
        return recording


class Watch:
    """Adds up the events of a run."""

    def __init__(self) -> None:
        self.load_seconds = 0.0
        self.calls = self.cached = 0
        self.failed: list[str] = []

    def take(self, event: Event) -> None:
        if isinstance(event, ModelReady):
            self.load_seconds += event.seconds
        elif isinstance(event, ModelCall):
            self.calls += not event.from_cache
            self.cached += event.from_cache
        elif isinstance(event, RowFailed):
            self.failed.append(f"{event.operator}: {event.error}")


def run(pipeline: Path, rows: Path, model: str, folder: Path, models: RecordingModels | None = None) -> dict[str, Any]:
    """Run the job; `seconds` is the whole run, of which `load_seconds` went into loading the model."""
    models, watch = models or RecordingModels(), Watch()
    job = RunJob(
        pipeline=pipeline,
        case=folder / "case.redwell",
        inputs=(f"rows={rows}",),
        outs=(folder / "out.json",),
        settings=RunSettings(model=model),
    )
    ready = make_ready(job, models)
    with Case(job.case) as case:
        began = time.perf_counter()
        result = asyncio.run(
            run_pipeline(
                ready.loaded,
                case,
                open_model=models.open_model,
                open_embedder=models.open_embedder,
                emit=watch.take,
                options=ready.options,
            )
        )
        seconds = time.perf_counter() - began
        write_results(ready, case, result.run_id)
    (folder / "requests.jsonl").write_text("".join(json.dumps(t) + "\n" for t in models.told), encoding="utf-8")
    return {
        "seconds": seconds,
        "load_seconds": watch.load_seconds,
        "calls": watch.calls,
        "cached": watch.cached,
        "evaluated_tokens": sum(t["prompt"] - t["reused"] for t in models.told),
        "reused_tokens": sum(t["reused"] for t in models.told),
        "sampled_tokens": sum(t["sampled"] for t in models.told),
        "forced_tokens": sum(t["forced"] for t in models.told),
        "failed_rows": watch.failed,
        "rows": json.loads((folder / "out.json").read_text(encoding="utf-8")),
    }


def main(arguments: list[str]) -> int:
    pipeline, rows, model, folder, *layout = arguments
    if layout and layout[0]:
        local_models.layout_of = lambda _: layout_named(layout[0]).name
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    told = run(Path(pipeline), Path(rows), model, into)
    (into / "ours.json").write_text(json.dumps(told, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
