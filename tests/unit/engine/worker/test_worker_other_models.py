"""Which other models a build tries."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.loader import Loaded, load_pipeline
from engine.optimizer.frontier import Policy
from engine.worker.builds import other_models
from models.model_header import Needs
from models.status import ModelStatus

PIPELINE = """
datasets: {notes: {type: memory}}
default_model: middle
operations:
  - {name: find, type: map, prompt: "{{ input.text }} Who?", output: {schema: {who: string}}}
pipeline: {steps: [{name: found, input: notes, operations: [find]}]}
"""


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Policy(), ("large",)),
        (Policy("fastest"), ("large", "small")),
        (Policy("within-minutes", 5), ("large", "small")),
    ],
)
def test_smaller_models_are_tried_where_time_counts(
    policy: Policy, expected: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"small": 1, "middle": 2, "large": 3}
    statuses = [_status(name, size) for name, size in sizes.items()]
    monkeypatch.setattr("engine.worker.builds.list_models", lambda: statuses)
    assert other_models(_loaded(tmp_path), policy) == expected


def _loaded(folder: Path) -> Loaded:
    path = folder / "find.yaml"
    path.write_text(PIPELINE, encoding="utf-8")
    return load_pipeline(path)


def _status(name: str, size: int) -> ModelStatus:
    return ModelStatus(
        id=name,
        title=name,
        kind="language",
        purpose="",
        licence="",
        bytes=size,
        is_default=name == "middle",
        installed=True,
        path=Path(name),
        needs=Needs(0, 0, 0, 8192),
        available_bytes=0,
    )
