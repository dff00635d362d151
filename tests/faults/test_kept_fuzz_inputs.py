"""What fuzzing found once (tests/fuzz/kept), and a few new changes of model files."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from fuzz.inputs import KEPT, kept_inputs
from fuzz.targets import TARGETS


@pytest.mark.parametrize("name", sorted(folder.name for folder in KEPT.iterdir()))
def test_kept_inputs_find_nothing_any_more(tmp_path: Path, name: str) -> None:
    inputs = kept_inputs(name)
    assert inputs
    assert [verdict.defect for verdict in TARGETS[name]().try_all(inputs, tmp_path)] == [""] * len(inputs)


def test_the_same_seed_makes_the_same_inputs_for_every_target() -> None:
    for name in ("gguf", "eml"):
        target = TARGETS[name]()
        seeds = target.seeds()[:2]
        made = [[target.change(Random(7), seeds).data for _ in range(2)] for _ in range(2)]
        assert made[0] == made[1]
        assert any(data not in [seed.data for seed in seeds] for data in made[0])


def test_changed_model_files_are_read_or_refused(tmp_path: Path) -> None:
    target = TARGETS["gguf"]()
    seeds = target.seeds()[:4]
    random = Random(1)
    verdicts = target.try_all([target.change(random, seeds) for _ in range(100)], tmp_path)
    assert [verdict.defect for verdict in verdicts if verdict.defect] == []
