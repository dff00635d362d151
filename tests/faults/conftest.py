"""Programs that are killed again and again, as forks of one that has imported them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from worker_nursery import nursery


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """The command that stands for Python's. It ends with the module: others look whether a process is left."""
    with nursery(tmp_path_factory.mktemp("nursery") / "socket") as command:
        yield command
