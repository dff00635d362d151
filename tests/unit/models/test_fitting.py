"""Whether a model fits, by arithmetic: weights + context x bytes per token + 64 MiB + 512 x vocabulary x 4 bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models import fitting, gpu_layers
from models.errors import NotEnoughMemory
from models.fitting import choose_context
from models.install import InstalledModel
from models.model_header import Needs
from models.protocol import ModelSpec
from models.rates import Rates, remember_rates

MIB = 1024**2
NEEDS = Needs(weights_bytes=1000 * MIB, kv_bytes_per_token=MIB // 32, vocabulary_size=MIB // 8, context_tokens=32768)
BARE = (1000 + 64 + 256) * MIB
"""Without any context; each 1,024 tokens take 32 MiB more."""
SPEC = ModelSpec("llama", "tiny", "/no/such.gguf", "0" * 64)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path))
    for name in ("REDWELL_CONTEXT_TOKENS", "REDWELL_SEQUENCES", "REDWELL_THREADS", "REDWELL_GPU_LAYERS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("available", "context"),
    [(BARE + 1024 * MIB, 32768), (BARE + 9000 * MIB, 32768), (BARE + 1023 * MIB, 31744), (BARE + 128 * MIB, 4096)],
)
def test_the_largest_context_that_fits_is_chosen(available, context):
    assert choose_context(SPEC, NEEDS, None, available) == context


def test_less_than_the_least_context_is_refused_with_numbers_and_what_would_fit():
    with pytest.raises(NotEnoughMemory) as caught:
        choose_context(SPEC, NEEDS, None, BARE + 100 * MIB)
    # 1000 MiB = 1.05 GB; 4,096 tokens = 128 MiB = 0.13 GB; 320 MiB = 0.34 GB; 1,448 MiB = 1.52 GB; 1,420 = 1.49.
    assert str(caught.value) == (
        "the model tiny with a context of 4,096 tokens needs 1.52 GB of memory (1.05 GB for its weights, "
        "0.13 GB for the context, 0.34 GB to work in), and 1.49 GB can be had now"
    )
    assert caught.value.advice == "Close other programs, or set REDWELL_CONTEXT_TOKENS=3072 (1.48 GB)."
    assert caught.value.is_environment


def test_weights_that_do_not_fit_are_refused_without_a_context_to_choose():
    with pytest.raises(NotEnoughMemory) as caught:
        choose_context(SPEC, NEEDS, None, 500 * MIB)
    assert caught.value.advice == "Close other programs."


def test_a_context_that_was_asked_for_is_taken_whole_or_refused():
    assert choose_context(SPEC, NEEDS, 2048, BARE + 64 * MIB) == 2048
    assert choose_context(SPEC, NEEDS, 10**6, BARE + 1024 * MIB) == 32768  # the model has no more
    with pytest.raises(NotEnoughMemory, match="8,192 tokens") as caught:
        choose_context(SPEC, NEEDS, 8192, BARE + 200 * MIB)
    assert "REDWELL_CONTEXT_TOKENS=6144" in caught.value.advice


def test_a_smaller_model_that_is_installed_and_fits_is_named(tmp_path):
    from models.catalog import find_entry

    entry = find_entry("smollm2-135m")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / entry.place).write_bytes(b"weights")
    with pytest.raises(NotEnoughMemory) as caught:
        choose_context(SPEC, NEEDS, None, 900 * MIB)
    assert "use the model smollm2-135m" in caught.value.advice
    with pytest.raises(NotEnoughMemory) as caught:
        choose_context(SPEC, NEEDS, None, 90 * MIB)
    assert "smollm2" not in caught.value.advice


def test_a_file_that_does_not_say_what_its_context_takes_is_tried():
    assert choose_context(SPEC, replace(NEEDS, kv_bytes_per_token=0), None, BARE) == 32768
    assert choose_context(SPEC, replace(NEEDS, context_tokens=0), None, BARE) == 0
    assert choose_context(SPEC, replace(NEEDS, context_tokens=0), 2048, BARE + 64 * MIB) == 2048


def test_a_model_with_a_small_context_of_its_own_needs_no_more():
    assert choose_context(SPEC, replace(NEEDS, context_tokens=2048), None, BARE + 64 * MIB) == 2048


def free(monkeypatch, available):
    monkeypatch.setattr(fitting, "machine_memory", lambda: (2 * available, available))
    monkeypatch.setattr(fitting, "needs_of", lambda path, digest: NEEDS)


def test_the_context_is_settled_by_the_memory_that_is_free(monkeypatch):
    free(monkeypatch, BARE + 128 * MIB + fitting.SPARE_BYTES)
    fitted = fitting.fit(SPEC)
    assert fitted.spec.settings == {"context_tokens": 4096, "gpu_layers": 0, "running": 32}
    assert (fitted.settings["context_tokens"], fitted.own_context) == (4096, 32768)
    assert {"running", "kept", "batch_tokens"} <= set(fitted.settings)
    assert fitting.fit(fitted.spec).own_context == 0  # what is given is nobody's limit


def test_what_goes_to_a_card_is_chosen_before_the_context(monkeypatch):
    """A model that lies on a card needs no room here, and its context is not made smaller for it."""
    free(monkeypatch, 1)
    asked = []
    choice = gpu_layers.LayerChoice(25, "all 24 layers")
    monkeypatch.setattr(gpu_layers, "choose_for_machine", lambda path, context, **more: asked.append(context) or choice)
    monkeypatch.setenv("REDWELL_CONTEXT_TOKENS", "8192")
    assert fitting.fit(SPEC).spec.settings == {"context_tokens": 8192, "gpu_layers": 25, "running": 32}
    assert asked == [8192]


def test_as_many_replies_at_once_as_the_machine_was_measured_to_write_best(monkeypatch, tmp_path):
    free(monkeypatch, BARE + 1024 * MIB)
    rates = Rates(200.0, 50.0, 4.0, "2026-01-02T03:04:05+00:00", replies_at_once=16)
    remember_rates(InstalledModel(tmp_path / "tiny.gguf", SPEC.digest, "tiny"), rates)
    assert fitting.fit(SPEC).spec.settings["running"] == 16
    assert fitting.fit(replace(SPEC, settings={"running": 4})).spec.settings["running"] == 4
    monkeypatch.setenv("REDWELL_SEQUENCES", "7")
    assert fitting.fit(SPEC).spec.settings["running"] == 7
    monkeypatch.delenv("REDWELL_SEQUENCES")
    remember_rates(InstalledModel(tmp_path / "tiny.gguf", SPEC.digest, "tiny"), replace(rates, replies_at_once=0))
    assert fitting.fit(SPEC).spec.settings["running"] == 32


def test_the_environment_chooses_as_a_user_does(monkeypatch):
    free(monkeypatch, BARE + 128 * MIB + fitting.SPARE_BYTES)
    monkeypatch.setenv("REDWELL_CONTEXT_TOKENS", "8192")
    with pytest.raises(NotEnoughMemory, match="8,192"):
        fitting.fit(SPEC)


def test_a_graphics_card_and_other_runtimes_keep_their_own_account(monkeypatch):
    free(monkeypatch, 1)
    on_card = fitting.fit(replace(SPEC, settings={"gpu_layers": 99}))
    assert on_card.spec.settings == {"context_tokens": None, "gpu_layers": 99, "running": 32}
    assert on_card.own_context == 0
    other = ModelSpec("other", "far", "http://127.0.0.1:1", "", {"a": 1})
    assert fitting.fit(other).spec == other
