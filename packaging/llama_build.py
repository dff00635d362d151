"""Build llama-cpp-python so that it cannot crash on this CPU, and keep the wheel for the next clone.

gcc 12 drops the stores of the AMX tile configuration, so a native gcc build dies with SIGSEGV on CPUs with AMX.
clang 16 does not. With gcc, the flags this CPU has are named one by one and AMX is left out.

Where CUDA's compiler is found, a build with CUDA comes first; on Apple silicon one with Metal. If such a build fails or
its self-test does, the builds for the processor alone are next (docs/gpu.md).
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from llama_patch import CHANGES, FOR_OLD_VULKAN_HEADERS, Insertion, PatchFailed, Replacement, patch_source

from models.cache_place import cache_folder

HERE = Path(__file__).resolve().parent
LEAST_CLANG = 16
# The vision library takes a third of the build and is not used.
ALWAYS = ("-DLLAVA_BUILD=OFF",)
VARIANTS = "every-cpu"
VULKAN = "vulkan"
FLAG_NEEDS = {
    "GGML_SSE42": {"sse4_2"},
    "GGML_AVX": {"avx"},
    "GGML_AVX2": {"avx2"},
    "GGML_FMA": {"fma"},
    "GGML_F16C": {"f16c"},
    "GGML_BMI2": {"bmi2"},
    "GGML_AVX_VNNI": {"avx_vnni"},
    "GGML_AVX512": {"avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw"},
    "GGML_AVX512_VBMI": {"avx512f", "avx512vbmi"},
    "GGML_AVX512_VNNI": {"avx512f", "avx512_vnni"},
    "GGML_AVX512_BF16": {"avx512f", "avx512_bf16"},
}


class BuildFailed(Exception):
    """The wheel could not be built; the message ends with the build's last lines."""


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """A compiler and flags. `compiler` is its version line; cc and cxx are "" for the system's default.

    `changes` are made to the source besides llama_patch.CHANGES.
    """

    label: str
    cc: str
    cxx: str
    compiler: str
    cmake_args: tuple[str, ...]
    changes: tuple[Insertion | Replacement, ...] = ()

    def key(self, version: str, cpu_features: frozenset[str]) -> str:
        """Name the wheel: everything that decides its machine code, so a cache can serve several machines."""
        parts = [version, platform.machine(), self.compiler, *self.cmake_args, *sorted(cpu_features)]
        parts += map(repr, (*CHANGES, *self.changes))
        return f"{version}-{self.label}-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:16]}"


def safe_flags(cpu_features: frozenset[str]) -> tuple[str, ...]:
    """Name every instruction set this x86 CPU has, on or off; AMX always off."""
    chosen = [f"-D{flag}={'ON' if needs <= cpu_features else 'OFF'}" for flag, needs in FLAG_NEEDS.items()]
    amx = [f"-DGGML_AMX_{kind}=OFF" for kind in ("TILE", "INT8", "BF16")]
    return ("-DGGML_NATIVE=OFF", *chosen, *amx)


def build_plans(cpu_features: frozenset[str], environment: Mapping[str, str] = os.environ) -> list[BuildPlan]:
    """List the builds to try, best first. The user's own CMAKE_ARGS are added to each."""
    extra = (*ALWAYS, *environment.get("CMAKE_ARGS", "").split())
    if platform.system() == "Darwin" and platform.machine() == "arm64" and not _mentions("GGML_METAL", extra):
        metal, plain = (*extra, "-DGGML_METAL=ON"), (*extra, "-DGGML_METAL=OFF")
        return [
            BuildPlan("metal", "", "", platform.platform(), metal),
            BuildPlan("native", "", "", platform.platform(), plain),
        ]
    if platform.system() != "Linux":
        return [BuildPlan("native", "", "", platform.platform(), extra)]
    plans = processor_plans(cpu_features, extra)
    wants_cuda = shutil.which("nvidia-smi") and not _mentions("GGML_CUDA", extra)
    nvcc = find_nvcc(environment) if wants_cuda else ""
    return [*(with_cuda(plan, nvcc) for plan in plans[:1] if nvcc), *plans]


def variants_plan() -> BuildPlan:
    """Return the build for packages: one library for each kind of x86 processor, chosen when it is loaded.

    clang alone, for gcc 12 miscompiles the AMX variant. Raises BuildFailed.
    """
    return _package_plan(VARIANTS, "-DGGML_CPU_ALL_VARIANTS=ON")


def vulkan_plan() -> BuildPlan:
    """Return the build of which packages take the library for graphics cards alone. Raises BuildFailed."""
    return replace(_package_plan(VULKAN, "-DGGML_CPU=OFF", "-DGGML_VULKAN=ON"), changes=FOR_OLD_VULKAN_HEADERS)


def _package_plan(label: str, *flags: str) -> BuildPlan:
    clang = find_clang()
    if clang is None:
        raise BuildFailed("a package needs clang 16 or newer: apt-get install clang-16 libomp-16-dev")
    loaded = ("-DGGML_NATIVE=OFF", "-DGGML_BACKEND_DL=ON")
    return BuildPlan(label, clang[0], clang[1], _version_line(clang[0]), (*ALWAYS, *loaded, *flags))


def processor_plans(cpu_features: frozenset[str], extra: tuple[str, ...]) -> list[BuildPlan]:
    """List the builds of Linux for the processor alone, best first."""
    if platform.machine() != "x86_64":
        return [
            BuildPlan("native", "", "", _version_line("cc"), extra),
            BuildPlan("portable", "", "", _version_line("cc"), (*extra, "-DGGML_NATIVE=OFF")),
        ]
    safe = (*extra, *safe_flags(cpu_features))
    plans = []
    if clang := find_clang():
        plans.append(BuildPlan("clang-native", clang[0], clang[1], _version_line(clang[0]), extra))
    if shutil.which("g++"):
        plans.append(BuildPlan("gcc-safe", "gcc", "g++", _version_line("gcc"), safe))
    elif clang:
        plans.append(BuildPlan("clang-safe", clang[0], clang[1], _version_line(clang[0]), safe))
    return plans


def with_cuda(plan: BuildPlan, nvcc: str) -> BuildPlan:
    """Add CUDA to a build. Only the code for the processor is built with the plan's own compiler."""
    flags = ["-DGGML_CUDA=ON", f"-DCMAKE_CUDA_COMPILER={nvcc}"]
    if shutil.which("g++"):
        flags.append("-DCMAKE_CUDA_HOST_COMPILER=g++")  # CUDA trails clang's versions
    compiler = f"{plan.compiler}, {_output(nvcc)}"
    return BuildPlan(f"cuda-{plan.label}", plan.cc, plan.cxx, compiler, (*plan.cmake_args, *flags))


def find_nvcc(environment: Mapping[str, str]) -> str:
    """Find CUDA's compiler: on the path, or where CUDA_HOME or the usual place has it; "" if it is not installed."""
    places = [environment.get("CUDA_HOME", ""), environment.get("CUDA_PATH", ""), "/usr/local/cuda"]
    candidates = [Path(place) / "bin" / "nvcc" for place in places if place]
    found = next((str(path) for path in candidates if path.is_file()), None)
    return shutil.which("nvcc", path=environment.get("PATH", os.defpath)) or found or ""


def _mentions(option: str, flags: tuple[str, ...]) -> bool:
    """Say whether the user's own flags decide about an option."""
    return any(flag.startswith(f"-D{option}") for flag in flags)


def find_clang() -> tuple[str, str] | None:
    """Find clang 16 or newer: the C and the C++ compiler's names."""
    for suffix in ("-16", "-17", "-18", "-19", "-20", "-21", ""):
        names = f"clang{suffix}", f"clang++{suffix}"
        if all(shutil.which(name) for name in names):
            found = re.search(r"version (\d+)", _version_line(names[0]))
            if found and int(found[1]) >= LEAST_CLANG:
                return names
    return None


def pinned_version() -> str:
    """Return the version of llama-cpp-python in its lock."""
    found = re.search(r"llama-cpp-python==(\S+)", (HERE / "requirements-llama.lock").read_text())
    if not found:
        raise BuildFailed("requirements-llama.lock pins no llama-cpp-python; run packaging/lock.sh")
    return found[1]


def wheel_folder(plan: BuildPlan, cpu_features: frozenset[str]) -> Path:
    """Return where the wheel of a plan for a processor with these features is kept."""
    return cache_folder() / "wheels" / plan.key(pinned_version(), cpu_features)


def build_wheel(plan: BuildPlan, folder: Path, log: Path) -> Path:
    """Build the locked source, with our change, with the locked tools; put the wheel into `folder` in one step.

    Raises BuildFailed. The build's output goes to `log`.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="redwell-build-") as name:
        work = Path(name)
        with log.open("w") as output:
            lock = ["--require-hashes", "-r"]
            _run(["install", "--target", str(work / "tools"), *lock, str(HERE / "requirements-build.lock")], output, {})
            environment = _build_environment(plan, work / "tools")
            source = ["--no-build-isolation", "--no-cache-dir"]
            fetch = ["download", *source, "--no-binary", "llama-cpp-python", "--dest", str(work)]
            _run([*fetch, *lock, str(HERE / "requirements-llama.lock")], output, environment)
            root = _unpack(next(work.glob("llama_cpp_python-*.tar.gz")), work / "source")
            try:
                patch_source(root, plan.changes)
            except PatchFailed as error:
                raise BuildFailed(str(error)) from error
            _run(["wheel", *source, "--wheel-dir", str(work / "wheel"), str(root)], output, environment)
        shutil.rmtree(folder, ignore_errors=True)
        staging = folder.with_name(f".{folder.name}.{os.getpid()}")
        shutil.copytree(work / "wheel", staging)
        staging.rename(folder)
    return next(folder.glob("*.whl"))


def install_wheel(wheel: Path) -> None:
    """Put a wheel that was built here into this environment, in place of any other."""
    command = ["install", "-qq", "--no-deps", "--force-reinstall", "--no-index", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *command], check=True)


def _build_environment(plan: BuildPlan, tools: Path) -> dict[str, str]:
    chosen = {"CC": plan.cc, "CXX": plan.cxx} if plan.cc else {}
    return {
        **chosen,
        "CMAKE_ARGS": " ".join(plan.cmake_args),
        "PYTHONPATH": str(tools),
        "PATH": f"{tools / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
    }


def _unpack(archive: Path, folder: Path) -> Path:
    """Unpack a source archive and return its one top folder."""
    shutil.unpack_archive(archive, folder)
    return next(folder.iterdir())


def _run(arguments: list[str], output: object, environment: dict[str, str]) -> None:
    """Run pip without dependencies, its output in the log."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", arguments[0]]
    command += ["--no-deps", *arguments[1:]]
    answer = subprocess.run(
        command, stdout=output, stderr=subprocess.STDOUT, check=False, env={**os.environ, **environment}
    )
    if answer.returncode:
        log = Path(output.name)
        last = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise BuildFailed(f"pip {arguments[0]} failed; the end of {log}:\n{last}")


def _version_line(compiler: str) -> str:
    return (_output(compiler).splitlines() or ["unknown compiler"])[0]


def _output(compiler: str) -> str:
    """Return all that a compiler says of its version; nvcc names it on its last lines."""
    try:
        answer = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return answer.stdout
