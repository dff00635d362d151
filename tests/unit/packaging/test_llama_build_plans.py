"""How llama-cpp-python is built: never with AMX by gcc, and only with what the CPU has."""

from __future__ import annotations

from pathlib import Path

import llama_build
import pytest

ROOT = Path(__file__).parents[3]
AVX2 = frozenset({"sse4_2", "avx", "avx2", "fma", "f16c", "bmi2"})
AVX512 = AVX2 | {"avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw", "avx512_vnni"}
AMX = AVX512 | {"amx_tile", "amx_int8", "amx_bf16"}


@pytest.fixture
def build(monkeypatch):
    monkeypatch.setattr(llama_build.platform, "system", lambda: "Linux")
    monkeypatch.setattr(llama_build.platform, "machine", lambda: "x86_64")
    return llama_build


def offer(build, monkeypatch, **compilers: str) -> None:
    versions = {name.replace("_", "-").replace("pp", "++"): line for name, line in compilers.items()}
    monkeypatch.setattr(build.shutil, "which", lambda name, path=None: f"/usr/bin/{name}" if name in versions else None)
    monkeypatch.setattr(build, "_output", lambda name: versions.get(Path(name).name, ""))
    monkeypatch.setattr(build, "_version_line", lambda name: versions.get(name, "unknown compiler"))


def test_flags_follow_the_cpu_and_leave_amx_out(build):
    flags = build.safe_flags(AMX)
    assert flags[0] == "-DGGML_NATIVE=OFF"
    assert {"-DGGML_AVX2=ON", "-DGGML_AVX512=ON", "-DGGML_AVX512_VNNI=ON", "-DGGML_AVX512_BF16=OFF"} <= set(flags)
    assert {"-DGGML_AMX_TILE=OFF", "-DGGML_AMX_INT8=OFF", "-DGGML_AMX_BF16=OFF"} <= set(flags)
    assert "-DGGML_AVX512=OFF" in build.safe_flags(AVX2)
    assert not [flag for flag in build.safe_flags(frozenset()) if flag.endswith("=ON")]


def test_half_of_avx512_is_none(build):
    assert "-DGGML_AVX512=OFF" in build.safe_flags(AVX512 - {"avx512vl"})


def test_clang_comes_first_and_gcc_is_the_safe_second(build, monkeypatch):
    offer(build, monkeypatch, clang_16="clang version 16.0.6", clangpp_16="", gpp="", gcc="gcc 12.2.0")
    plans = build.build_plans(AMX, {})
    assert [(p.label, p.cc, p.cxx) for p in plans] == [
        ("clang-native", "clang-16", "clang++-16"),
        ("gcc-safe", "gcc", "g++"),
    ]
    assert "-DGGML_NATIVE=OFF" not in plans[0].cmake_args
    assert "-DGGML_NATIVE=OFF" in plans[1].cmake_args


def test_an_old_clang_is_not_taken(build, monkeypatch):
    offer(build, monkeypatch, clang="clang version 14.0.6", clangpp="", gpp="", gcc="gcc 12.2.0")
    assert [plan.label for plan in build.build_plans(AMX, {})] == ["gcc-safe"]


def test_no_compiler_is_no_plan(build, monkeypatch):
    offer(build, monkeypatch)
    assert build.build_plans(AMX, {}) == []


def test_the_users_flags_join_and_change_the_key(build, monkeypatch):
    offer(build, monkeypatch, gpp="", gcc="gcc 12.2.0")
    (plain,) = build.build_plans(AVX2, {})
    (own,) = build.build_plans(AVX2, {"CMAKE_ARGS": "-DGGML_CUDA=ON"})
    assert "-DGGML_CUDA=ON" in own.cmake_args
    keys = {plain.key("0.3.36", AVX2), own.key("0.3.36", AVX2), plain.key("0.3.37", AVX2), plain.key("0.3.36", AVX512)}
    assert len(keys) == 4
    assert plain.key("0.3.36", AVX2) in keys


def test_cuda_comes_first_where_its_compiler_and_a_card_are(build, monkeypatch):
    have = {"gpp": "", "gcc": "gcc 12.2.0", "nvcc": "Cuda compilation tools, release 12.4"}
    offer(build, monkeypatch, **have)
    monkeypatch.setattr(build.shutil, "which", lambda name, path=None: f"/usr/bin/{name}" if name != "clang" else None)
    monkeypatch.setattr(build, "find_clang", lambda: None)
    cuda, plain = build.build_plans(AMX, {"PATH": "/usr/bin"})
    assert (cuda.label, plain.label) == ("cuda-gcc-safe", "gcc-safe")
    assert cuda.cmake_args[: len(plain.cmake_args)] == plain.cmake_args
    assert set(cuda.cmake_args) - set(plain.cmake_args) == {
        "-DGGML_CUDA=ON",
        "-DCMAKE_CUDA_COMPILER=/usr/bin/nvcc",
        "-DCMAKE_CUDA_HOST_COMPILER=g++",
    }
    assert "12.4" in cuda.compiler
    (own,) = build.build_plans(AMX, {"PATH": "/usr/bin", "CMAKE_ARGS": "-DGGML_CUDA=OFF"})
    assert own.label == "gcc-safe"


def test_the_compiler_of_cuda_is_found_where_cuda_home_says(build, monkeypatch, tmp_path):
    monkeypatch.setattr(build.shutil, "which", lambda name, path=None: None)
    (tmp_path / "bin").mkdir()
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.touch()
    assert build.find_nvcc({"CUDA_HOME": str(tmp_path)}) == str(nvcc)


def test_apple_silicon_tries_metal_then_the_processor(build, monkeypatch):
    monkeypatch.setattr(build.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(build.platform, "machine", lambda: "arm64")
    metal, plain = build.build_plans(frozenset(), {})
    assert ("-DGGML_METAL=ON" in metal.cmake_args, "-DGGML_METAL=OFF" in plain.cmake_args) == (True, True)
    (own,) = build.build_plans(frozenset(), {"CMAKE_ARGS": "-DGGML_METAL=OFF"})
    assert own.label == "native"


def test_locks_pin_everything_by_hash_and_name_no_address():
    folder = ROOT / "packaging"
    for lock in folder.glob("requirements*.lock"):
        lines = lock.read_text().splitlines()
        pins = [line for line in lines if line and not line.startswith((" ", "#"))]
        assert pins, lock
        for line in lines:
            assert "://" not in line
            assert "--index" not in line
            assert "--find-links" not in line
        assert all("==" in pin and pin.endswith("\\") for pin in pins), lock
    names = {line.split("==")[0] for line in (folder / "requirements.lock").read_text().splitlines() if "==" in line}
    assert not [name for name in names if name.startswith(("nvidia", "cuda"))]
    assert not names & {"torch", "triton", "opencv-python"}


def test_the_llama_pin_is_the_projects(build):
    project = (ROOT / "pyproject.toml").read_text()
    assert f"llama-cpp-python=={build.pinned_version()}" in project
