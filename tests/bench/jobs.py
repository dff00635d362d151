"""The jobs: which inputs, which pipeline, which settings of each contestant."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from inputs import make

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Shape:
    """At what size rates are measured: tokens of a prompt, replies that are written at once."""

    prompt_tokens: int
    sequences: int


@dataclass(frozen=True, slots=True)
class Job:
    """One benchmark. `slots`: how many parallel slots the server of a peer has, one run each; the best run counts.

    `shape` None: the job is there for its quality, and no rates are measured beside it.
    """

    letter: str
    title: str
    shape: Shape | None
    slots: tuple[int, ...]


JOBS = (
    Job("A", "24 short records: map, unnest, resolve, reduce", Shape(190, 16), (8, 16)),
    Job("B", "4 documents of 3,000 tokens, 8 prompts each", Shape(3000, 16), (1,)),
    Job("C", "60 yes/no filters", Shape(150, 16), (8, 16)),
    Job("D", "reduce by folding over 200 rows", Shape(600, 1), (1,)),
    Job("E", "resolve over 500 name mentions", Shape(110, 16), (8,)),
    Job("F", "one plain map over police files, a set for each draw", None, (4,)),
    Job("G", "resolve over 18 records, a set for each draw", None, (8,)),
)


def job_of(letter: str) -> Job:
    """Return a job by its letter."""
    return next(job for job in JOBS if job.letter == letter)


@dataclass(frozen=True, slots=True)
class Work:
    """What one contestant is given: files in a folder of its own."""

    job: Job
    pipeline: Path
    rows: Path
    gold: dict[str, Any]


def write_work(
    job: Job, folder: Path, *, documents: int = 1, prompts: int = 1, quick: bool = False, draw: int = 0
) -> Work:
    """Write rows.jsonl and pipeline.yaml into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, gold = make(job.letter, documents=documents, prompts=prompts, quick=quick, draw=draw)
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    body = yaml.safe_load((HERE / "pipelines" / f"{job.letter}.yaml").read_text(encoding="utf-8"))
    if job.letter == "B":
        _take_prompts(body, 8 * prompts)
    pipeline = folder / "pipeline.yaml"
    pipeline.write_text(yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=10_000), encoding="utf-8")
    return Work(job, pipeline, path, gold)


def _take_prompts(body: dict[str, Any], count: int) -> None:
    operation = body["operations"][0]
    operation["prompts"] = operation["prompts"][:count]
    named = {key for prompt in operation["prompts"] for key in prompt["output_keys"]}
    schema = operation["output"]["schema"]
    operation["output"]["schema"] = {key: kind for key, kind in schema.items() if key in named}
