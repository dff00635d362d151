"""What the binding to llama.cpp does with what the library answers, on a library of our own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from models import llama_runtime
from models.errors import ModelCrashed, ModelError, WeightsCorrupt
from models.gguf import RecurrentModel
from models.llama_runtime import LlamaRuntime, LlamaSettings


@pytest.fixture
def runtime():
    """Return a runtime around no model: only what forget() needs."""
    made = LlamaRuntime.__new__(LlamaRuntime)
    made._memory = None
    return made


def test_a_cut_that_is_refused_is_an_error(runtime, monkeypatch):
    asked = []

    def remove(memory, sequence, start, end):
        asked.append((sequence, start, end))
        return start == 0

    monkeypatch.setattr(llama_runtime.lc, "llama_memory_seq_rm", remove)
    runtime.forget(3)
    with pytest.raises(ModelCrashed, match="could not cut sequence 3 back to 17 tokens"):
        runtime.forget(3, 17)
    assert asked == [(3, 0, -1), (3, 17, -1)]


@pytest.mark.parametrize("kind", ["llama_model_is_recurrent", "llama_model_is_hybrid"])
def test_a_model_that_llama_cpp_calls_recurrent_is_freed_and_refused(monkeypatch, kind):
    freed = []
    monkeypatch.setattr(llama_runtime.lc, "llama_model_load_from_file", lambda path, parameters: 7)
    for name in ("llama_model_is_recurrent", "llama_model_is_hybrid"):
        monkeypatch.setattr(llama_runtime.lc, name, lambda model, answer=name == kind: answer)
    monkeypatch.setattr(llama_runtime.lc, "llama_model_free", freed.append)
    with pytest.raises(RecurrentModel, match=r"new\.gguf"):
        LlamaRuntime(Path("new.gguf"), LlamaSettings(context_tokens=512, running=1, kept=0, threads=1))
    assert freed == [7]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names of files are Unicode there")
def test_a_file_whose_path_is_no_unicode_is_loaded_by_its_bytes(monkeypatch):
    asked = []
    monkeypatch.setattr(llama_runtime.lc, "llama_model_load_from_file", lambda path, parameters: asked.append(path))
    with pytest.raises(WeightsCorrupt):
        LlamaRuntime(Path(os.fsdecode(b"mod\xe8les/new.gguf")), LlamaSettings(context_tokens=512, running=1, kept=0))
    assert asked == [b"mod\xe8les/new.gguf"]


class Ggml:
    """Remembers what is loaded; a library whose name has "avx512" cannot run here."""

    def __init__(self):
        self.loaded = []
        self.ggml_backend_load = lambda path: self.load(Path(path.decode()).name)
        self.ggml_backend_load_all_from_path = lambda path: self.load("the best")

    def load(self, name):
        self.loaded.append(name)
        return 0 if "avx512" in name else 1


@pytest.fixture
def packaged(tmp_path, monkeypatch):
    """Return llama.cpp as a package has it: a library for each of three kinds of processor."""
    for name in ("x64", "haswell", "avx512"):
        (tmp_path / f"libggml-cpu-{name}.so").touch()
    ggml = Ggml()
    monkeypatch.setattr(llama_runtime, "_library_folder", lambda: tmp_path)
    monkeypatch.setattr(llama_runtime.lc.llama_cpp, "_lib", ggml)
    monkeypatch.setattr(llama_runtime.lc, "llama_backend_init", lambda: None)
    kept = (llama_runtime._begin, llama_runtime._begin_with_cards)
    for function in kept:
        function.cache_clear()
    yield ggml
    for function in kept:
        function.cache_clear()


def test_a_package_takes_the_best_library_or_the_one_that_is_named(packaged, monkeypatch):
    llama_runtime._begin()
    llama_runtime._begin.cache_clear()
    monkeypatch.setenv("REDWELL_PROCESSOR", "haswell")
    llama_runtime._begin()
    assert packaged.loaded == ["the best", "libggml-cpu-haswell.so"]


def test_a_library_built_for_one_processor_is_not_looked_for(tmp_path, monkeypatch):
    """Other systems than Linux have no list of what a process has loaded."""
    monkeypatch.setattr(llama_runtime, "_begin", lambda: None)
    monkeypatch.setattr(llama_runtime, "_library_folder", lambda: tmp_path)
    monkeypatch.setattr(llama_runtime, "_loaded", lambda *names: pytest.fail("looked for"))
    assert llama_runtime.processor_variant() == ""


def test_a_library_for_graphics_cards_is_loaded_when_a_card_is_to_be_used(packaged, monkeypatch):
    folder = llama_runtime._library_folder() / "cards"
    folder.mkdir()
    (folder / "libggml-vulkan.so").touch()
    monkeypatch.setattr(llama_runtime.lc, "llama_supports_gpu_offload", lambda: True)
    llama_runtime._begin()
    assert packaged.loaded == ["the best"]
    assert llama_runtime.supports_gpu()
    assert packaged.loaded == ["the best", "libggml-vulkan.so"]


@pytest.mark.parametrize(
    ("named", "complaint", "advice"),
    [
        ("pentium", "REDWELL_PROCESSOR is 'pentium'", "avx512 or haswell or x64"),
        ("avx512", "cannot run llama.cpp's library for avx512", "Unset REDWELL_PROCESSOR"),
    ],
)
def test_a_kind_of_processor_that_cannot_be_had_is_said(packaged, monkeypatch, named, complaint, advice):
    monkeypatch.setenv("REDWELL_PROCESSOR", named)
    with pytest.raises(ModelError, match=complaint) as caught:
        llama_runtime._begin()
    assert advice in caught.value.advice
