from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_run import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Make benches in the test's folder; their cases are closed at its end."""
    made: list[Bench] = []

    def make(answer: Any = None, *, folder: str = "", **more: Any) -> Bench:
        (tmp_path / folder).mkdir(exist_ok=True)
        made.append(Bench(tmp_path / folder, answer, **more))
        return made[-1]

    yield make
    for one in made:
        one.case.close()
