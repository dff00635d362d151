"""The `build` command of the worker: what it says, as a job."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import UsageError
from engine.optimizer.build_options import MINUTES
from engine.optimizer.frontier import read_policy
from engine.optimizer.sampling import USUAL_ROWS
from engine.worker.builds import BuildJob
from engine.worker.jobs import default_case
from engine.worker.orders import parse_options, paths_of, texts_of, workers_of


def build_job(given: Mapping[str, Any]) -> BuildJob:
    """Make the job of a `build` command; raises UsageError. A cancelled build keeps the best plan so far."""
    pipeline = Path(given["pipeline"]).expanduser()
    outs = [Path(out).expanduser() for out in texts_of(given, "out")]
    if len(outs) != 1:
        raise UsageError("build: out is one file", advice="Name the file of the chosen pipeline (.yaml).")
    return BuildJob(
        pipeline=pipeline,
        case=Path(given["case"]).expanduser() if "case" in given else default_case(pipeline),
        out=outs[0],
        inputs=texts_of(given, "input"),
        minutes=float(given.get("minutes", MINUTES)),
        rows=given.get("sample", USUAL_ROWS),
        policy=read_policy(given.get("policy", "best")),
        report=_path(given, "report"),
        model=given.get("model", ""),
        agent_model=given.get("agent_model", ""),
        seed=given.get("seed", 0),
        workers=workers_of(given),
        trust_code=given.get("trust_code", False),
        allow_hosts=texts_of(given, "allow_host"),
        allow_paths=paths_of(given, "allow_path"),
        overwrite=given.get("overwrite", False),
        parse=parse_options(given),
    )


def _path(given: Mapping[str, Any], key: str) -> Path | None:
    return Path(given[key]).expanduser() if given.get(key) else None
