"""Token counts of a cluster's model that are kept in the driver."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from models import wrapped
from models.cluster.backend import ClusterBackend
from models.notices import Notices
from models.protocol import ModelSpec


class Driver:
    """Stands in for the cluster and its dispatcher: counts at once, and how often it did."""

    context_tokens = 512

    def __init__(self) -> None:
        self.asked = 0

    def count(self, work: object) -> int:
        self.asked += 1
        return self.asked

    def call(self, work: int) -> Future[int]:
        done: Future[int] = Future()
        done.set_result(work)
        return done


@pytest.mark.parametrize(("kept", "counts"), [(2, [1, 2, 1, 3, 1]), (0, [1, 2, 3, 4, 5])])
def test_a_count_is_given_also_where_another_thread_has_pushed_it_out(
    monkeypatch: pytest.MonkeyPatch, kept: int, counts: list[int]
) -> None:
    """As if others had filled the room meanwhile: nothing is kept in the second case."""
    monkeypatch.setattr(wrapped, "KEPT_COUNTS", kept)
    driver: Any = Driver()
    model = ClusterBackend(driver, ModelSpec("llama", "tiny", "/w.gguf", "ab" * 32), driver, Notices())
    assert [model.count_tokens(text) for text in ("a", "b", "a", "c", "a")] == counts
