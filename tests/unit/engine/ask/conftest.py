"""A case with invented results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

FIXTURES = str(Path(__file__).resolve().parents[3] / "fixtures")
if FIXTURES not in sys.path:
    sys.path.insert(0, FIXTURES)

import pytest  # noqa: E402
from invented_results import make_results  # noqa: E402

from storage.case import Case  # noqa: E402


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, str]:
    return make_results(tmp_path / "made")


@pytest.fixture
def run(made: tuple[Path, str]) -> str:
    return made[1]


@pytest.fixture
def case(made: tuple[Path, str]) -> Iterator[Case]:
    with Case(made[0]) as opened:
        yield opened
