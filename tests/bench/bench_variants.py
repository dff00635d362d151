"""The runtime of a package, built for every kind of processor, beside the one that set-up built for this machine.

`redwell bench variants` needs the package's wheel, which `make package` builds and keeps. Each library that this
processor can run answers the same question about three sample records, the native build first and last. It prints
tokens per second, and how far the replies and the odds of their first tokens agree with the native build. It takes half
a minute a library, and many minutes for those without AVX2. REDWELL_BENCH_MODEL names another model than
qwen2.5-coder-0.5b, REDWELL_BENCH_VARIANTS the libraries, by commas.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kernel
import pytest
from needs import installed

ROOT = Path(__file__).resolve().parents[2]
RECORDS = [path for path in sorted((ROOT / "examples/police/records").iterdir()) if path.suffix in (".txt", ".eml")][:3]


def unpacked(folder: Path) -> Path:
    """Unpack the package's wheel as package.py does; return where Python finds it."""
    sys.path.insert(0, str(ROOT / "packaging"))
    try:
        from llama_build import VARIANTS, BuildFailed, variants_plan, wheel_folder  # noqa: PLC0415
        from package import take_runtime  # noqa: PLC0415

        kept = wheel_folder(variants_plan(), frozenset({VARIANTS}))
    except BuildFailed as error:
        pytest.skip(str(error))
    finally:
        sys.path.remove(str(ROOT / "packaging"))
    wheel = next(kept.glob("*.whl"), None)
    if wheel is None:
        pytest.skip("the wheel for every processor is not built: `make package` builds it")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    take_runtime(wheel, folder / "llama_cpp" / "lib")
    return folder


def answers(model: Path, environment: Mapping[str, str]) -> dict[str, Any] | str:
    """Return what the child says; its last line of error where it has none."""
    done = subprocess.run(
        [sys.executable, kernel.__file__, str(model), "replies", *map(str, RECORDS)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return dict(json.loads(done.stdout))
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def agreement(native: dict[str, Any], other: dict[str, Any]) -> str:
    """Say how many tokens of the replies are the same up to the first that is not, and how far odds are apart."""
    same = 0
    for one, two in zip(native["said"], other["said"], strict=True):
        same += next((place for place, pair in enumerate(zip(one, two, strict=True)) if pair[0] != pair[1]), len(one))
    rows = zip(native["first"], other["first"], strict=True)
    apart = max(abs(a - b) for one, two in rows for a, b in zip(one, two, strict=True))
    return f"{same} of {sum(map(len, native['said']))} | {apart:.4f}"


def test_each_kind_of_processor(tmp_path: Path) -> None:
    model = installed(os.environ.get("REDWELL_BENCH_MODEL", "qwen2.5-coder-0.5b")).path
    place = unpacked(tmp_path / "wheel")
    libraries = sorted({path.stem.removeprefix("libggml-cpu-") for path in place.rglob("libggml-cpu-*.so")})
    wanted = os.environ.get("REDWELL_BENCH_VARIANTS", "")
    chosen = [name for name in libraries if not wanted or name in wanted.split(",")]
    packaged = {"PYTHONPATH": f"{place}{os.pathsep}{ROOT}"}
    native = answers(model, {"PYTHONPATH": str(ROOT)})
    assert isinstance(native, dict), native
    print(f"\n{model.name}\n| library | read/s | written/s | tokens as native | logits apart |\n|---|---|---|---|---|")
    show("native build", native, native)
    show("package, chosen by itself", answers(model, packaged), native)
    for name in chosen:
        show(name, answers(model, {**packaged, "REDWELL_PROCESSOR": name}), native)
    show("native build, again", answers(model, {"PYTHONPATH": str(ROOT)}), native)


def show(name: str, row: dict[str, Any] | str, native: dict[str, Any]) -> None:
    """Print a row of the table."""
    if isinstance(row, str):
        print(f"| {name} | {row} | | | |", flush=True)
        return
    kind = f" ({row['processor']})" if row["processor"] not in ("", name) else ""
    read, written = row["rates"]["read"], row["rates"]["written"]
    print(f"| {name}{kind} | {read:.0f} | {written:.1f} | {agreement(native, row)} |", flush=True)
