from __future__ import annotations

import gc
import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def quiet_loop(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail when asyncio complains: a task destroyed while pending, an exception that nobody retrieved."""
    gc.freeze()  # only what the test made is looked through afterwards
    yield
    gc.collect()
    gc.unfreeze()
    complaints = [
        r.getMessage() for r in caplog.get_records("call") if r.name == "asyncio" and r.levelno >= logging.ERROR
    ]
    assert complaints == []
