"""What works on this machine and what to do about the rest, as data: `redwell doctor` prints it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path

from models.cache_place import cache_folder, note, noted
from models.check import Check
from models.errors import ModelError
from models.fitting import LEAST_CHOSEN_CONTEXT, SPARE_BYTES
from models.hardware import Hardware, inspect_hardware
from models.install import find_model, list_models, smallest_file
from models.rates import machine_key
from models.selftest import run_child, run_selftest

LEAST_FREE_BYTES = 2 * 1024**3
CARDS_TIMEOUT_SECONDS = 60.0

PASSED = "selftests.json"
"""Where it is noted on which day a self-test passed."""


def checks(*, again: bool = True) -> list[Check]:
    """Look at everything the model room needs. Takes some seconds: the self-test loads the smallest model.

    Without `again`, a self-test that this runtime passed on this processor is taken as passed.
    """
    hardware = inspect_hardware()
    return [
        check_python(),
        check_cpu(hardware),
        check_default_model(),
        check_runtime(again=again),
        *check_own_models(),
        *check_cards(hardware),
        check_embedding_model(),
        check_memory(),
        check_disk(),
    ]


def check_python() -> Check:
    """Check the interpreter's version."""
    ok = sys.version_info >= (3, 11)
    return Check("Python", ok, platform.python_version(), "" if ok else "Install Python 3.11 or newer.")


def check_cpu(hardware: Hardware) -> Check:
    """Name the processor and graphics cards, and whether the CPU has the instructions that make it bearable."""
    cards = ", ".join(f"{gpu.name} ({gpu.interface})" for gpu in hardware.gpus) or "no graphics card"
    detail = f"{hardware.cpu_name or hardware.machine}, {hardware.cores} cores, {hardware.threads} threads, {cards}"
    fast = hardware.machine not in ("x86_64", "AMD64") or not hardware.cpu_features or "avx2" in hardware.cpu_features
    return Check("Processor", fast, detail, "" if fast else "No AVX2: models run, but several times slower.")


def check_default_model() -> Check:
    """Check that the default model is installed and is the pinned one."""
    return _model_check("Default model", lambda: find_model().title)


def check_embedding_model() -> Check:
    """Check the model that resolve compares names with."""

    def look() -> str:
        from models.embeddings import chosen_embedder  # noqa: PLC0415 - numpy

        folder = chosen_embedder().folder
        return f"{folder.name} in {folder}"

    return _model_check("Embedding model", look)


def check_runtime(*, again: bool = True) -> Check:
    """Decode once with the smallest installed language model, in a child process.

    Without `again`, nothing is loaded where this runtime passed with these weights on this processor before.
    """
    name = "llama.cpp runtime"
    if importlib.util.find_spec("llama_cpp") is None:
        return Check(
            name, False, "llama-cpp-python is not installed", "Install Redwell again (from source: `make setup`)."
        )
    version = importlib.metadata.version("llama-cpp-python")
    smallest = smallest_file()
    if smallest is None:
        return Check(name, True, f"{version}, not tried: no model is installed")  # the default model's check says so
    state = smallest.path.stat()
    weights = f"{smallest.path.name} of {state.st_size} bytes, {state.st_mtime_ns}"
    key = f"{version} of {_built_at()}{_named_processor()}: {machine_key(weights)}"
    if not again and (passed := noted(PASSED).get(key)):
        return Check(name, True, f"{version}, worked with {smallest.id} on {passed}")
    test = run_selftest(smallest.path)
    detail = f"{version}, {smallest.id}: {test.detail} in {test.seconds:.1f} s"
    if test.ok:
        with suppress(ModelError):  # it is only made again
            note(PASSED, key, f"{date.today():%Y-%m-%d}")
    return Check(name, test.ok, detail, "" if test.ok else _repair(crashed=test.crashed))


def _repair(*, crashed: bool) -> str:
    """Say what helps where the runtime does not work."""
    spec = importlib.util.find_spec("llama_cpp")
    folder = Path(spec.origin).parent / "lib" if spec and spec.origin else Path()
    if any(folder.glob("libggml-cpu-*.so")):  # a package: nothing can be built
        return "Set REDWELL_PROCESSOR=x64 (the slowest, which runs everywhere), or haswell, and try again."
    return (
        "Build it again for this CPU: `make setup REBUILD=1`."
        if crashed
        else "Install Redwell again (from source: `make setup`)."
    )


def _named_processor() -> str:
    named = os.environ.get("REDWELL_PROCESSOR", "").strip()
    return f" for {named}" if named else ""


def _built_at() -> int:
    """Tell a runtime that was built anew from the one before: the time of its package."""
    spec = importlib.util.find_spec("llama_cpp")
    return int(Path(spec.origin).stat().st_mtime) if spec and spec.origin else 0


def check_own_models() -> list[Check]:
    """Name each of the user's own models that cannot be used, with the reason; nothing where all can."""
    return [
        Check(
            "Your own model", False, status.problem, f"Take it away: `redwell models remove {shlex.quote(status.id)}`."
        )
        for status in list_models()
        if status.is_broken
    ]


def check_cards(hardware: Hardware) -> list[Check]:
    """Say how much of the default model llama.cpp would put on the graphics cards, and why.

    Nothing where there is no card that Redwell knows and none is asked for.
    """
    if (
        not (hardware.gpus or os.environ.get("REDWELL_GPU_LAYERS", "").strip())
        or importlib.util.find_spec("llama_cpp") is None
    ):
        return []
    cards = (
        ", ".join(f"{gpu.name}{f', {_gb(gpu.free_bytes)} free' if gpu.memory_bytes else ''}" for gpu in hardware.gpus)
        or "no card of NVIDIA or Apple"
    )
    try:
        answer = run_child("models.gpu_layers", find_model().path, timeout_seconds=CARDS_TIMEOUT_SECONDS)
        choice = json.loads(answer.stdout) if answer and answer.returncode == 0 else None
    except ModelError as error:
        return [Check("Graphics card", False, f"{cards}: {error}", error.advice)]
    if choice is None:
        why = (answer.stderr.strip().splitlines() or ["no reason given"])[-1] if answer else "no answer in time"
        return [Check("Graphics card", False, f"{cards}: llama.cpp could not be asked: {why}", "See docs/gpu.md.")]
    advice = "" if choice["layers"] else "Models run on the processor. See docs/gpu.md."
    return [Check("Graphics card", bool(choice["layers"]), f"{cards}; {choice['reason']}", advice)]


def check_memory() -> Check:
    """Compare what the default model needs with what is free now: its whole context, or as much as fits."""
    status = next(s for s in list_models() if s.is_default and s.kind == "language")
    if status.is_broken:
        advice = "Choose another model: `redwell models default ID`."
        return Check("Memory", False, f"not known: {status.problem}", advice)
    memory = status.memory
    detail = f"{_gb(memory.needed_bytes)} needed by the default model, {_gb(memory.available_bytes)} free"
    free = memory.available_bytes - SPARE_BYTES
    context = status.needs.largest_context(free)
    if context >= status.context_tokens:
        return Check("Memory", True, detail)
    if context >= LEAST_CHOSEN_CONTEXT:
        limited = f"{detail}: its context is limited to {context:,} of {status.context_tokens:,} tokens"
        return Check("Memory", False, limited, "Close other programs for more.")
    advice = "Close other programs, set a shorter text in Settings (REDWELL_CONTEXT_TOKENS), or use a smaller model."
    return Check("Memory", False, detail, advice)


def check_disk() -> Check:
    """Check that the disk of the cache has room for a case and a model."""
    folder = cache_folder()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    ok = free >= LEAST_FREE_BYTES
    advice = "Free some disk space, or set REDWELL_CACHE to a folder on a larger disk."
    return Check("Disk", ok, f"{_gb(free)} free at {folder}", "" if ok else advice)


def _model_check(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except ModelError as error:
        return Check(name, False, str(error), error.advice)


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
