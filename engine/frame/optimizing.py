"""Build a better pipeline from one made in Python, as `redwell build` does from a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine.documents.leftovers import scratch_folder
from engine.executor.translation import open_case
from engine.frame import running
from engine.frame.merging import Part
from engine.language.writer import to_yaml
from engine.loader import load_pipeline
from engine.optimizer.build import BuildResult
from engine.optimizer.build_options import BuildOptions
from engine.plan.borders import Borders
from engine.plan.plan import Dataset, Plan
from engine.worker.builds import BuildJob, make_ready_build, run_build


def optimized(part: Part, case: Path, options: BuildOptions) -> Plan:
    """Return the plan that a build chooses, over the same datasets. Raises what `redwell build` would say."""
    with scratch_folder() as folder:
        settled = part.settled(folder)
        written = tuple(_as_file(dataset, settled, folder) for dataset in settled.plan.datasets)
        pipeline, out = folder / "pipeline.yaml", folder / "chosen.yaml"
        pipeline.write_text(to_yaml(replace(settled.plan, datasets=written)), encoding="utf-8")
        settings = replace(options.settings, allow_paths=_paths(written, folder))
        job = BuildJob(pipeline, case, out, options=replace(options, settings=settings))
        models = running.new_models()
        ready = make_ready_build(job, models)
        # A plan made in Python has no borders, and its rows name files from its own folder (docs/decisions/0039).
        ready = replace(ready, loaded=replace(ready.loaded, directory=part.directory, borders=Borders()))

        async def work() -> BuildResult:
            with open_case(case) as opened:
                return await run_build(ready, opened, models, lambda event: None)

        running.run_here(work)
        chosen = load_pipeline(out, allowed=settings.allow_paths).plan
    datasets = {dataset.name: dataset for dataset in part.plan.datasets}
    return replace(chosen, datasets=tuple(datasets.get(each.name, each) for each in chosen.datasets))


def _as_file(dataset: Dataset, part: Part, folder: Path) -> Dataset:
    """Write rows that only Python has into a file: a build reads datasets."""
    if dataset.type != "memory":
        return dataset
    rows: Sequence[object] = [*part.data.get(dataset.name, ()), *dataset.data]
    file = folder / f"rows_{len(list(folder.iterdir()))}.jsonl"
    file.write_text("".join(json.dumps(row, default=dict) + "\n" for row in rows), encoding="utf-8")
    return replace(dataset, type="file", path=str(file), data=())


def _paths(datasets: Sequence[Dataset], folder: Path) -> tuple[Path, ...]:
    return tuple(dataset.location(folder) for dataset in datasets if dataset.path)
