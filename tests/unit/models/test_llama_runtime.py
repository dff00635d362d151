"""What the binding to llama.cpp does with what the library answers, on a library of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from models import llama_runtime
from models.errors import ModelCrashed
from models.gguf import RecurrentModel
from models.llama_runtime import LlamaRuntime, RuntimeSettings


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
        LlamaRuntime(Path("new.gguf"), RuntimeSettings(cells=512, sequences=1, threads=1))
    assert freed == [7]
