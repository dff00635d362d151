"""The second half of set-up, run by .venv's Python: build the inference runtime, install the models, try both.

Called by setup.sh with the file to write the paths into that a later set-up looks for. Exits 3 when something
cannot be had on this machine.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import threading
import time
from pathlib import Path

from llama_build import BuildFailed, BuildPlan, build_plans, build_wheel, install_wheel, pinned_version, wheel_folder

from models.cache_place import cache_folder, models_folder
from models.catalog import default_entry
from models.errors import ModelError
from models.hardware import CPUINFO, read_cpu
from models.install import install
from models.selftest import run_selftest
from models.verification import InstallProgress

MARKER = Path(sys.prefix) / "redwell-llama.json"


class SetUpFailed(Exception):
    """Set-up cannot go on; the message says what to do."""


class ProgressLine:
    """Show an installation as one line that rewrites itself on a terminal, or a line per tenth elsewhere."""

    def __init__(self, title: str) -> None:
        self.title, self.last = title, ""

    def __call__(self, step: InstallProgress) -> None:
        """Show a step, unless it reads like the last one."""
        share = 100 * step.done_bytes // max(1, step.total_bytes)
        on_screen = sys.stdout.isatty()
        text = f"  {self.title}: {step.stage} {share if on_screen else share // 10 * 10} %"
        if text != self.last:
            print(f"\r{text} {step.note:<18}" if on_screen else text, end="" if on_screen else "\n", flush=True)
        self.last = text

    def close(self, path: Path) -> None:
        """End the line: the model is there."""
        print(f"{chr(13) if sys.stdout.isatty() else ''}  {self.title}: verified, {path}", flush=True)


class Background(threading.Thread):
    """Build while the models are downloading: one needs the processor, the other the network."""

    def __init__(self, plan: BuildPlan, folder: Path) -> None:
        super().__init__(name="build", daemon=True)
        self.plan, self.folder, self.failure = plan, folder, ""

    def run(self) -> None:
        """Build; what went wrong is left in `failure`."""
        began = time.monotonic()
        try:
            build_wheel(self.plan, self.folder, self.folder.parent / "build.log")
        except (BuildFailed, OSError) as error:
            self.failure = str(error)
            return
        print(f"  built llama-cpp-python ({self.plan.label}) in {time.monotonic() - began:.0f} s", flush=True)


class Runtime:
    """The inference runtime on this machine: its builds in order, the wheel cache, the one installed."""

    def __init__(self) -> None:
        self.version = pinned_version()
        self.features = read_cpu(CPUINFO)[1]
        self.plans = build_plans(self.features)
        if not self.plans:
            raise SetUpFailed("there is no C++ compiler: apt-get install clang-16 libomp-16-dev (or g++)")

    def folder(self, plan: BuildPlan) -> Path:
        """Return where the wheel of a plan is kept."""
        return wheel_folder(plan, self.features)

    def wheel(self, plan: BuildPlan) -> Path | None:
        """Return the wheel of a plan, None if it was never built."""
        return next(self.folder(plan).glob("*.whl"), None)

    def installed_key(self) -> str:
        """Return the key of the build that passed its self-test in this environment, "" if there is none."""
        try:
            if importlib.metadata.version("llama-cpp-python") == self.version:
                return str(json.loads(MARKER.read_text())["key"])
        except (importlib.metadata.PackageNotFoundError, OSError, ValueError, KeyError):
            pass
        return ""

    def is_settled(self) -> bool:
        """Say whether this environment already has a build that works here, and none is asked for again."""
        keys = {self.folder(plan).name for plan in self.plans}
        return not os.environ.get("REBUILD") and self.installed_key() in keys

    def start(self, plan: BuildPlan) -> Background | None:
        """Begin a build in the background, unless its wheel is kept from an earlier one."""
        if self.wheel(plan) and not os.environ.get("REBUILD"):
            print(f"  llama-cpp-python ({plan.label}): the wheel built earlier is used", flush=True)
            return None
        print(
            f"  building llama-cpp-python {self.version} ({plan.label}; {plan.compiler}), about 3 minutes", flush=True
        )
        thread = Background(plan, self.folder(plan))
        thread.start()
        return thread

    def try_plan(self, plan: BuildPlan, build: Background | None, model: Path) -> str:
        """Wait for the build, install it and decode once; return what is wrong with it, "" for nothing."""
        if build:
            build.join()
            if build.failure:
                return build.failure
        wheel = self.wheel(plan)
        if wheel is None:
            return "the build left no wheel"
        install_wheel(wheel)
        test = run_selftest(model)
        if not test.ok:
            return test.detail
        print(f"  self-test ({plan.label}): {test.detail}, in {test.seconds:.1f} s", flush=True)
        MARKER.write_text(json.dumps({"key": self.folder(plan).name, "cmake_args": plan.cmake_args}))
        return ""


def prepare() -> list[Path]:
    """Install runtime and models; return the paths a later set-up looks for. Raises SetUpFailed or ModelError."""
    runtime = Runtime()
    settled = runtime.is_settled()
    build = None if settled else runtime.start(runtime.plans[0])
    model = install_model(default_entry().id)
    paths = [model, install_model(default_entry("embedding").id)]
    if not settled:
        try_in_turn(runtime, build, model)
    return paths


def try_in_turn(runtime: Runtime, build: Background | None, model: Path) -> None:
    """Take the first build that works: the fast one, else the safe one."""
    complaints = []
    for number, plan in enumerate(runtime.plans):
        complaint = runtime.try_plan(plan, build if number == 0 else runtime.start(plan), model)
        if not complaint:
            return
        print(f"  llama-cpp-python ({plan.label}) does not work here: {complaint}", flush=True)
        complaints.append(plan.label)
    raise SetUpFailed(
        f"no build of llama-cpp-python works on this machine (tried: {', '.join(complaints)}).\n"
        f"  The log is {cache_folder() / 'wheels' / 'build.log'}. Install clang 16 (apt-get install clang-16 "
        "libomp-16-dev) and run the same again, or pass flags of your own in CMAKE_ARGS with REBUILD=1."
    )


def install_model(model_id: str) -> Path:
    """Install one model of the catalogue, showing how far it is."""
    line = ProgressLine(model_id)
    path = install(model_id, progress=line)
    line.close(path)
    return path


def main(stamp: Path) -> int:
    """Prepare everything and write the stamp; return the exit code."""
    models_folder().mkdir(parents=True, exist_ok=True)
    try:
        paths = prepare()
    except (SetUpFailed, BuildFailed) as error:
        print(f"\nset-up stopped: {error}", file=sys.stderr)
        return 3
    except ModelError as error:
        print(f"\nset-up stopped: {error}\n  {error.advice}", file=sys.stderr)
        return 3
    stamp.write_text("".join(f"{path}\n" for path in paths))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
