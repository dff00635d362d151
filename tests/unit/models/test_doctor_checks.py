"""The doctor: each check says what it found, and what to do if that is not good."""

from __future__ import annotations

import importlib.machinery
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from gguf_files import TEXT, gguf, pair, text

from models import doctor
from models.hardware import Gpu, inspect_hardware
from models.install import InstalledModel
from models.selftest import SelfTest


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path))
    return tmp_path


def test_an_empty_cache_asks_for_the_models(empty_cache):
    model, embedding, runtime = (doctor.check_default_model(), doctor.check_embedding_model(), doctor.check_runtime())
    assert not model.ok
    assert "redwell models install qwen2.5-coder-1.5b" in model.advice
    assert not embedding.ok
    assert "redwell models install all-minilm-l6-v2" in embedding.advice
    assert (runtime.ok, runtime.advice) == (True, "")  # the check of the default model says what to do


def test_a_crash_of_the_runtime_advises_another_build(empty_cache, monkeypatch):
    (empty_cache / "models").mkdir()
    (empty_cache / "models" / "own.gguf").write_bytes(gguf())
    crash = SelfTest(False, "the runtime crashed on this CPU (SIGSEGV)", 0.5, crashed=True)
    monkeypatch.setattr(doctor, "run_selftest", lambda path: crash)
    found = doctor.check_runtime()
    assert not found.ok
    assert "SIGSEGV" in found.detail
    assert "REBUILD=1" in found.advice


def test_a_self_test_that_passed_is_not_made_at_every_look(empty_cache, monkeypatch):
    (empty_cache / "models").mkdir()
    weights = empty_cache / "models" / "own.gguf"
    weights.write_bytes(gguf())
    made = []

    def run(path):
        made.append(path)
        return SelfTest(True, "a question was answered", 2.0)

    monkeypatch.setattr(doctor, "run_selftest", run)
    assert doctor.check_runtime(again=False).ok
    again = doctor.check_runtime(again=False)
    assert again.ok
    assert "worked with own on" in again.detail
    assert len(made) == 1
    doctor.check_runtime()
    assert len(made) == 2
    weights.write_bytes(gguf() + b"other weights")
    doctor.check_runtime(again=False)
    assert len(made) == 3


def test_a_crash_in_a_package_advises_another_library(tmp_path, monkeypatch):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libggml-cpu-haswell.so").touch()
    spec = importlib.machinery.ModuleSpec("llama_cpp", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: spec)
    assert "REDWELL_PROCESSOR=x64" in doctor._repair(crashed=True)


def test_a_model_of_a_kind_that_is_not_run_is_named_and_not_tried(empty_cache, monkeypatch):
    (empty_cache / "models").mkdir()
    (empty_cache / "models" / "own.gguf").write_bytes(gguf(pair("general.architecture", TEXT, text("rwkv7"))))
    monkeypatch.setattr(doctor, "run_selftest", lambda path: pytest.fail(f"{path} was loaded"))
    (check,) = doctor.check_own_models()
    assert (check.ok, check.advice) == (False, "Take it away: `redwell models remove own`.")
    assert "recurrent or hybrid model (general.architecture = rwkv7)" in check.detail
    assert "no model is installed" in doctor.check_runtime().detail


def test_a_default_model_that_is_broken_is_said_and_ends_no_check(empty_cache):
    (empty_cache / "models").mkdir()
    (empty_cache / "models" / "own.gguf").write_bytes(b"no model any more")
    (empty_cache / "models" / "default.txt").write_text("own\n")
    for check in (doctor.check_default_model(), doctor.check_memory()):
        assert not check.ok
        assert "not a GGUF file" in check.detail
        assert check.advice


L4 = Gpu("L4", 24 * 10**9, "cuda", 20 * 10**9)


@pytest.mark.parametrize(
    ("code", "output", "ok", "detail"),
    [
        (0, '{"layers": 29, "reason": "all 28 layers: 2.0 GB"}', True, "L4, 20.0 GB free; all 28 layers: 2.0 GB"),
        (0, '{"layers": 0, "reason": "built for the processor"}', False, "built for the processor"),
        (1, "", False, "could not be asked: it broke"),
    ],
)
def test_what_goes_to_a_card_is_said_with_the_reason(monkeypatch, code, output, ok, detail):
    answer = subprocess.CompletedProcess([], code, output, "it broke\n")
    monkeypatch.setattr(doctor, "find_model", lambda: InstalledModel(Path("m.gguf"), "d", "m"))
    monkeypatch.setattr(doctor, "run_child", lambda module, path, timeout_seconds: answer)
    (found,) = doctor.check_cards(replace(inspect_hardware(), gpus=(L4,)))
    assert (found.ok, bool(found.advice)) == (ok, not ok)
    assert detail in found.detail


def test_a_machine_without_a_card_is_not_asked_about_it():
    assert doctor.check_cards(replace(inspect_hardware(), gpus=())) == []


def test_layers_that_no_card_can_hold_are_said(monkeypatch):
    reason = "REDWELL_GPU_LAYERS is 9, but this llama.cpp has no graphics card that it can use: see docs/gpu.md"
    answer = subprocess.CompletedProcess([], 0, json.dumps({"layers": 0, "reason": reason}), "")
    monkeypatch.setenv("REDWELL_GPU_LAYERS", "9")
    monkeypatch.setattr(doctor, "find_model", lambda: InstalledModel(Path("m.gguf"), "d", "m"))
    monkeypatch.setattr(doctor, "run_child", lambda module, path, timeout_seconds: answer)
    (found,) = doctor.check_cards(replace(inspect_hardware(), gpus=()))
    assert not found.ok
    assert found.detail == f"no card of NVIDIA or Apple; {reason}"


def test_a_processor_without_avx2_is_slow_not_hidden():
    hardware = replace(inspect_hardware(), machine="x86_64", cpu_features=frozenset({"sse4_2"}))
    assert not doctor.check_cpu(hardware).ok
    assert doctor.check_cpu(replace(hardware, cpu_features=frozenset({"avx2"}))).ok
    assert doctor.check_cpu(replace(hardware, machine="arm64")).ok


def test_a_full_disk_is_said(empty_cache, monkeypatch):
    assert "free" in doctor.check_disk().detail
    monkeypatch.setattr(doctor, "LEAST_FREE_BYTES", 2**62)
    assert "REDWELL_CACHE" in doctor.check_disk().advice


def test_good_checks_carry_no_advice(empty_cache):
    for check in (doctor.check_python(), doctor.check_memory()):
        assert check.ok == (not check.advice)
        assert check.detail


@pytest.mark.parametrize(
    ("free", "ok", "detail"),
    [(2**40, True, "needed by the default model"), (2_400_000_000, False, "limited to"), (10**9, False, "1.0 GB free")],
)
def test_a_context_that_memory_limits_is_said(empty_cache, monkeypatch, free, ok, detail):
    monkeypatch.setattr("models.install.inspect_hardware", lambda: replace(inspect_hardware(), available_bytes=free))
    found = doctor.check_memory()
    assert found.ok == ok
    assert detail in found.detail
    assert ("limited" in found.detail) == (detail == "limited to")
