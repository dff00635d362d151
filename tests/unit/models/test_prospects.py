"""What to expect of a model: memory by arithmetic, speed measured or in proportion to size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from models import prospects as module
from models.fitting import SPARE_BYTES, choose_context
from models.model_header import Needs
from models.prospects import is_slow, prospects
from models.protocol import ModelSpec
from models.rates import Rates
from models.status import ModelStatus

GB = 10**9
RATES = Rates(200.0, 50.0, 4.0, "2026-01-02T03:04:05+00:00")


def status(name="m", *, size=GB, kv=GB, free=10 * GB, context=32768, kind="language", **changes):
    needs = Needs(size, kv // context if context else 0, 0, context)
    return ModelStatus(
        id=name, title=name, kind=kind, purpose="", licence="", bytes=size, is_default=False, installed=True,
        path=Path(name), needs=needs, available_bytes=free + SPARE_BYTES, sha256=name, **changes,
    )  # fmt: skip


@pytest.fixture
def measured(monkeypatch):
    known: dict[str, Rates] = {}
    monkeypatch.setattr(module, "remembered_rates", known.get)
    return known


def test_a_measured_model_that_fits(measured):
    measured["m"] = RATES
    (found,) = prospects([status()])
    assert (found.verdict, found.rates, found.is_estimated) == ("fits", RATES, False)
    assert found.why == "needs 2.0 GB of memory, 10.0 GB can be had"


def test_nothing_measured_is_no_speed(measured):
    (found,) = prospects([status()])
    assert (found.verdict, found.rates) == ("fits", None)


def test_the_others_are_estimated_from_the_nearest_in_size(measured):
    measured["small"], measured["large"] = Rates(1000.0, 100.0, 4.0, "t"), Rates(100.0, 20.0, 4.0, "t")
    all_of_them = [status("small", size=GB), status("large", size=8 * GB), status("x", size=10 * GB, free=40 * GB)]
    found = prospects(all_of_them)[2]
    assert (found.is_estimated, found.estimated_from) == (True, "large")
    assert found.rates is not None
    assert (found.rates.prompt_per_second, found.rates.sampled_per_second) == (80.0, 16.0)


@pytest.mark.parametrize(("read", "written", "slow"), [(20, 3, False), (19.9, 3, True), (20, 2.9, True)])
def test_slow_is_under_20_read_or_3_written(measured, read, written, slow):
    measured["m"] = Rates(read, written, 4.0, "t")
    assert is_slow(measured["m"]) is slow
    assert prospects([status()])[0].verdict == ("slow" if slow else "fits")


def test_weights_beyond_the_memory_will_not_fit(measured):
    (found,) = prospects([status(size=9 * GB, free=8 * GB)])
    assert found.verdict == "will not fit"
    assert "9.0 GB" in found.why
    assert "8.0 GB" in found.why


def test_a_context_beyond_the_memory_is_named(measured):
    # 2 GB are left for 32,768 tokens that need 4: half of them fit.
    (found,) = prospects([status(size=2 * GB, kv=4 * GB, free=4 * GB)])
    assert (found.verdict, found.most_context) == ("fits", 16384)
    assert "(REDWELL_CONTEXT_TOKENS) to 16384" in found.why
    (found,) = prospects([status(size=2 * GB, kv=32 * GB, free=3 * GB)])
    assert found.verdict == "will not fit"  # 1,024 tokens are of no use


@pytest.mark.parametrize("free", [4 * GB, 2 * GB + 32768 * 100_000])
def test_the_context_that_is_named_is_one_with_which_the_model_opens(measured, free):
    """The second leaves nothing for the other programs: opening refuses the whole context, so it is not promised."""
    needs = Needs(2 * GB, 100_000, 0, 32768)
    (found,) = prospects([replace(status(), needs=needs, available_bytes=free)])
    assert found.most_context is not None
    spec = ModelSpec("llama", "m", "/no/such.gguf", "0" * 64)
    assert choose_context(spec, needs, found.most_context, free - SPARE_BYTES) == found.most_context


def test_an_embedding_model_has_no_speed(measured):
    measured["m"] = RATES
    found = prospects([status(), status("e", kind="embedding", context=256, kv=0)])[1]
    assert (found.verdict, found.rates) == ("fits", None)


def test_a_file_that_is_no_model_cannot_be_used(measured):
    (found,) = prospects([status(problem="m.gguf: it is cut", size=0)])
    assert (found.verdict, found.why) == ("cannot be used", "m.gguf: it is cut")


def test_a_header_that_says_nothing_of_the_context(measured):
    assert prospects([status(context=0, kv=0)])[0].verdict == "fits"
