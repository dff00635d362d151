"""The products that set-up puts into llama.cpp are those of arithmetic, to the last bit, for each kind of processor."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from llama_patch import SOURCES

from models.hardware import CPUINFO

PROGRAM = Path(__file__).with_name("blocks_test.cpp")
COMPILERS = ("clang++", "clang++-16", "clang++-17", "clang++-18", "clang++-19", "g++")
ICE_LAKE = {"avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_vbmi2", "vaes", "gfni"}
NEEDS = {
    "haswell": {"avx2", "fma", "f16c"},
    "skylake-avx512": {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd"},
    "alderlake": {"avx2", "fma", "f16c", "avx_vnni"},
    "icelake-server": ICE_LAKE,
    "icelake-server -mno-avx512bw": ICE_LAKE,
}
"""Flags of a processor, by what compilers are told of the kind. (The last has what needs VNNI of 256 bits run here.)"""


@pytest.mark.parametrize("kind", NEEDS)
def test_products_are_exact(kind: str, tmp_path: Path) -> None:
    lines = CPUINFO.read_text(encoding="utf-8").splitlines() if CPUINFO.is_file() else []
    flags = {flag for line in lines if line.startswith("flags") for flag in line.split()}
    if missing := NEEDS[kind] - flags:
        pytest.skip(f"this processor has no {', '.join(sorted(missing))}")
    compiler = next(filter(shutil.which, COMPILERS), None)
    if compiler is None:
        pytest.skip(f"no compiler: {', '.join(COMPILERS)}")
    program = tmp_path / "blocks"
    command = [compiler, "-std=c++17", "-O2", *f"-march={kind}".split(), f"-I{SOURCES}"]
    subprocess.run([*command, str(PROGRAM), "-o", str(program)], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")
    figures = [line.split() for line in said if line]
    assert {name for name, _, _ in figures} == (
        {"q4_K", "q5_0", "q6_K"} | ({"q8_0"} if {"avx_vnni", "avx512_vnni"} & NEEDS[kind] else set())
    )
    assert [different for _, _, different in figures] == ["0"] * len(figures)
