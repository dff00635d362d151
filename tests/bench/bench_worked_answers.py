"""The article's four worked examples under conditions that round differently: do they turn on that?

Other CPUs add up the same numbers in another order, which shows in the last bits. Here the same is brought about by
other sizes of what is evaluated at once, and by other quantisations of the same weights, which do more than rounding.
The test of the suite is tests/models/test_worked_answers.py.

    python tests/bench/bench_worked_answers.py            # conditions of the installed model
    python tests/bench/bench_worked_answers.py FILE ...   # other GGUF files, too, such as requantised ones

REDWELL_BENCH_CONTRACT=rich asks for the rich contract.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fixtures"))
import pytest
from real_model import MODELS, shared_model
from worked_run import EXAMPLES, answered, right

from models.cache_place import models_folder

CONDITIONS: dict[str, dict[str, Any]] = {
    "as the test": {},
    "96 tokens at once": {"batch_tokens": 96},
    "33 tokens at once": {"batch_tokens": 33},
    "one request at once": {"running": 1, "kept": 1},
    "one thread": {"threads": 1},
}
LEAST = 3


def conditions(files: list[str]) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Yield what is tried: a name, the weights, and the settings."""
    path = models_folder() / MODELS[0]
    chosen = os.environ.get("REDWELL_BENCH_CONDITIONS")
    for name, settings in CONDITIONS.items():
        if chosen is None or name in chosen.split(","):
            yield name, path, settings
    yield from ((Path(file).name, Path(file), {}) for file in files)


def tried(path: Path, settings: dict[str, Any], *, is_told: bool = False) -> dict[str, dict[str, Any]]:
    """Answer the examples under one condition; return their rows."""
    contract = os.environ.get("REDWELL_BENCH_CONTRACT", "minimal")
    rows = {}
    with tempfile.TemporaryDirectory() as folder, shared_model(path, **settings) as model:
        for name in EXAMPLES:
            rows[name] = answered(Path(folder) / name, name, model, contract)
            if is_told:
                print(f"  {name}: {rows[name]['answer_status']}, {rows[name]['answer_note']}")
                for task, text, sure in model.told:
                    print(f"    {task}: {text}" if sure is None else f"    {task}: {sure:.2f}")
            model.told.clear()
    return rows


def measure(files: list[str]) -> list[int]:
    """Print what comes out under each condition; return how many examples are right."""
    found = []
    for name, path, settings in conditions(files):
        start = time.perf_counter()
        rows = tried(path, settings, is_told="REDWELL_BENCH_TOLD" in os.environ)
        found.append(len(right(rows)))
        told = ", ".join(f"{example} {row['answer_status']}" for example, row in rows.items())
        print(f"{name:34} {found[-1]} of {len(rows)} right in {time.perf_counter() - start:.0f} s: {told}", flush=True)
    return found


def test_the_worked_examples_come_out_right_under_all_conditions() -> None:
    if not (models_folder() / MODELS[0]).is_file():
        pytest.skip(f"{MODELS[0]} is not installed")
    assert min(measure([])) >= LEAST


if __name__ == "__main__":
    measure(sys.argv[1:])
