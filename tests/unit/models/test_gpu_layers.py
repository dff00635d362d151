"""How many layers go to a graphics card: arithmetic on what they need and what the card has."""

from __future__ import annotations

from pathlib import Path

import pytest
from gguf_files import weights

from models.errors import ModelError, RuntimeMissing
from models.gguf import TensorBytes
from models.gpu_layers import (
    RESERVE_BYTES,
    LayerNeeds,
    choose_for_machine,
    choose_layers,
    describe_choice,
    needs_of,
    rooms_on,
)
from models.hardware import Gpu
from models.llama_runtime import LlamaSettings
from models.opening import open_fitted, open_here
from models.protocol import ModelSpec

GIB = 1024**3

# Four layers of 100, 100, 100 and 120 bytes, each with 25 bytes of cache; work space 50, output 80: 650 in all.
NEEDS = LayerNeeds(TensorBytes((100, 100, 100, 120), 80), kv_bytes=100, compute_bytes=50)


@pytest.mark.parametrize(
    ("rooms", "layers"),
    [
        ([650], 5),  # all four and what follows them
        ([649], 4),  # 50 + 145 + 3 * 125 = 570: all layers, but not the output
        ([570], 4),
        ([569], 3),  # the last ones first: 50 + 145 + 125 + 125 = 445
        ([445], 3),
        ([195], 1),  # 50 + 145
        ([194], 0),
        ([0], 0),
        ([410, 410], 5),  # a second card loses a layer (120) and its own work space (50): 820 - 170 = 650
        ([410, 409], 4),
    ],
)
def test_as_many_layers_as_fit(rooms, layers):
    assert choose_layers(NEEDS, rooms).layers == layers


def test_the_reason_has_the_numbers():
    needs = LayerNeeds(TensorBytes((2 * 10**9,) * 4, 10**9), kv_bytes=2 * 10**9, compute_bytes=5 * 10**8)
    assert choose_layers(needs, [12 * 10**9]).reason == "all 4 layers: 11.5 GB of the 12.0 GB that may be used"
    some = "2 of 4 layers: 5.5 GB of the 6.0 GB that may be used, all need 11.5 GB"
    assert choose_layers(needs, [6 * 10**9]).reason == some
    assert choose_layers(needs, [10**9]).reason == "not one of 4 layers fits: 3.0 GB of the 1.0 GB that may be used"


def test_a_file_without_layers_stays_off_the_card():
    assert choose_layers(LayerNeeds(TensorBytes((), 80), 0, 0), [10**9]).layers == 0


def test_a_card_keeps_a_reserve_and_a_shared_memory_is_used_in_part():
    card = Gpu("L4", 24 * GIB, "cuda", 10 * GIB)
    full = Gpu("L4", 24 * GIB, "cuda", 100)
    apple = Gpu("Apple silicon", 0, "metal")
    assert rooms_on([card, full], 99 * GIB) == [10 * GIB - RESERVE_BYTES, 0]
    assert rooms_on([apple], 1000) == [650]


def model_file(folder: Path) -> Path:
    """Write a model of gguf_files: cache of a token 28 x 2 x (128 + 128) x 2 = 28,672 bytes, vocabulary 3."""
    path = folder / "model.gguf"
    path.write_bytes(weights(("blk.0.w", 0), ("blk.1.w", 1000), ("output.weight", 1800), data=2000))
    return path


@pytest.mark.parametrize(("context", "cells"), [(4096, 4096), (None, 32768), (10**6, 32768)])
def test_the_needs_of_a_file_are_its_tensors_and_the_cache_of_its_context(tmp_path, context, cells):
    needs = needs_of(model_file(tmp_path), context)
    assert needs == LayerNeeds(TensorBytes((1000, 800), 200), 28672 * cells, 64 * 1024**2 + 512 * 3 * 4)


def test_without_a_card_or_a_build_for_it_nothing_goes_there(tmp_path, monkeypatch):
    path = model_file(tmp_path)
    monkeypatch.setattr("models.gpu_layers.find_gpus", tuple)
    assert choose_for_machine(path, 512, supports_gpu=never_asked).layers == 0
    monkeypatch.setattr("models.gpu_layers.find_gpus", lambda: (Gpu("L4", 24 * GIB, "cuda", 20 * GIB),))
    built_for_cpu = choose_for_machine(path, 512, supports_gpu=lambda: False)
    assert (built_for_cpu.layers, "processor" in built_for_cpu.reason) == (0, True)
    assert choose_for_machine(path, 512, supports_gpu=lambda: True).layers == 3


def never_asked() -> bool:
    raise AssertionError("the runtime is not loaded where there is no card")


class Opened:
    """Stands in for the llama.cpp backend: keeps the settings, or fails as a full card does."""

    is_full = False

    def __init__(self, path: Path, *, digest: str, name: str, settings: LlamaSettings) -> None:
        if self.is_full:
            raise RuntimeMissing("no memory", advice="Close other programs.")
        self.settings = settings


@pytest.fixture
def opened(monkeypatch):
    monkeypatch.setattr("models.llama.LlamaBackend", Opened)
    monkeypatch.setattr("models.llama_runtime.supports_gpu", lambda: True)
    monkeypatch.setattr("models.gpu_layers.find_gpus", lambda: (Gpu("L4", 24 * GIB, "cuda", 20 * GIB),))
    return lambda path, **settings: open_here(ModelSpec("llama", "m", str(path), "d", settings)).settings


def test_what_was_fitted_is_not_judged_again(tmp_path, monkeypatch, opened):
    monkeypatch.setattr("models.opening.fit", lambda spec: pytest.fail("the memory was looked at twice"))
    spec = ModelSpec("llama", "m", str(model_file(tmp_path)), "d", {"context_tokens": 4096})
    assert open_fitted(spec).settings.context_tokens == 4096


def test_opening_chooses_unless_it_is_told(tmp_path, monkeypatch, opened):
    path = model_file(tmp_path)
    assert opened(path).gpu_layers == 3
    assert opened(path, gpu_layers=1).gpu_layers == 1
    monkeypatch.setenv("REDWELL_GPU_LAYERS", "0")
    assert opened(path).gpu_layers == 0
    monkeypatch.setenv("REDWELL_GPU_LAYERS", "all")
    with pytest.raises(ModelError, match="REDWELL_GPU_LAYERS is 'all'"):
        opened(path)


def test_a_failure_with_layers_on_the_card_says_how_to_do_without(tmp_path, monkeypatch, opened):
    monkeypatch.setattr(Opened, "is_full", True)
    with pytest.raises(RuntimeMissing) as caught:
        opened(model_file(tmp_path))
    assert caught.value.advice.startswith("Close other programs. 3 layers went to the graphics card")
    with pytest.raises(RuntimeMissing) as caught:
        opened(model_file(tmp_path), gpu_layers=0)
    assert caught.value.advice == "Close other programs."


@pytest.mark.parametrize(
    ("has_card", "layers", "reason"),
    [(True, 9, "REDWELL_GPU_LAYERS says so"), (False, 0, "no graphics card that it can")],
)
def test_layers_that_are_asked_for_need_a_card(monkeypatch, has_card: bool, layers: int, reason: str) -> None:
    from models import llama_runtime

    monkeypatch.setenv("REDWELL_GPU_LAYERS", "9")
    monkeypatch.setattr(llama_runtime, "supports_gpu", lambda: has_card)
    choice = describe_choice(Path("not read"))
    assert choice.layers == layers
    assert reason in choice.reason
