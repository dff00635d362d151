"""Every pipeline of examples/ passes the checks and finds its own data."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.language.checks import check
from engine.loader import load_pipeline

EXAMPLES = Path(__file__).parents[3] / "examples"
PIPELINES = sorted(EXAMPLES.glob("*/*.yaml"))


def test_there_are_pipelines_for_the_kinds_of_work_named_in_the_readme():
    assert {path.parent.name for path in PIPELINES} >= {
        "police", "contracts", "medical", "reviews", "debates", "casefiles", "oversight",
    }  # fmt: skip


@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: path.stem)
def test_example_passes_the_checks_without_a_warning(path):
    loaded = load_pipeline(path)
    assert not loaded.warnings
    assert not check(loaded.plan, positions=loaded.positions)


@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: path.stem)
def test_the_data_of_an_example_is_beside_it(path):
    loaded = load_pipeline(path)
    assert all(dataset.location(loaded.directory).exists() for dataset in loaded.plan.datasets)
