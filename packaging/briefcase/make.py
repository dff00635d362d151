"""Have Briefcase create and build the application of this system (macOS, Windows), with the locked packages.

    python packaging/briefcase/make.py [BRIEFCASE ARGUMENTS ...]

Run it with a Python that has Briefcase. llama-cpp-python is built for this processor first, as `make setup` does, and
kept in the per-user cache; on a computer that gives the application to others, CMAKE_ARGS=-DGGML_NATIVE=OFF makes one
that runs on theirs. All packages are compared with the hashes of packaging/requirements-run.lock.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]

from llama_build import build_plans, build_wheel, wheel_folder  # noqa: E402
from packing import sha256_of  # noqa: E402

from models.hardware import CPUINFO, read_cpu  # noqa: E402


def runtime() -> Path:
    """Return the wheel of llama-cpp-python for this machine; build it where it is not kept. Raises BuildFailed."""
    features = read_cpu(CPUINFO)[1]
    plan = build_plans(features)[0]
    folder = wheel_folder(plan, features)
    kept = next(folder.glob("*.whl"), None)
    if kept is None:
        print("building llama-cpp-python, some minutes", flush=True)
    return kept or build_wheel(plan, folder, folder.parent / "build.log")


def settings(wheel: Path) -> list[str]:
    """Return what Briefcase is told of the packages: the wheel by its hash, all others by their lock."""
    requires = [f"llama-cpp-python @ {wheel.as_uri()}#sha256={sha256_of(wheel)}"]
    lock = ["--no-deps", "--require-hashes", "-r", str(HERE.parent / "requirements-run.lock")]
    # JSON's lists of strings are TOML's.
    return ["-C", f"requires={json.dumps(requires)}", "-C", f"requirement_installer_args={json.dumps(lock)}"]


def main(arguments: list[str]) -> int:
    """Create, then build; return the exit code."""
    chosen = [*settings(runtime()), "--no-input"]
    for command in ("create", "build"):
        done = subprocess.run([sys.executable, "-m", "briefcase", command, *arguments, *chosen], cwd=HERE, check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
