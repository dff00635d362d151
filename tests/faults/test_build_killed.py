"""Kill a build at any moment: the next one makes no finished call again, and ends where an undisturbed one does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_run import write_texts
from worker_nursery import PID_FILE

from storage.case import Case

SCRIPT = Path(__file__).parents[1] / "fixtures" / "killable_build.py"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

FRESH = (sys.executable,)
"""A Python that orders sets otherwise than the forks."""

TEXTS = {f"{n}.txt": f"Record {n}.\n" + "Sgt. Varrick struck the man. " * (40 + n) for n in range(6)}


def start(python: tuple[str, ...], folder: Path, home: Path) -> subprocess.Popen[str]:
    home.mkdir(exist_ok=True)
    env = {**os.environ, "TMPDIR": str(home), PID_FILE: str(home / "pid")}
    command = [*python, str(SCRIPT), str(folder), str(home)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def finish(python: tuple[str, ...], folder: Path, home: Path) -> dict:
    process = start(python, folder, home)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return json.loads(output.splitlines()[-1])


def kill(python: tuple[str, ...], folder: Path, home: Path, calls: int) -> None:
    """Kill a build after so many calls were answered."""
    process = start(python, folder, home)
    answered = 0
    for line in process.stdout:
        answered += json.loads(line).get("event") == "ModelCall" and not json.loads(line)["from_cache"]
        if answered >= calls:
            break
    os.kill(int((home / "pid").read_text()), signal.SIGKILL)
    process.communicate(timeout=60)
    assert answered >= calls, "the build was over before it could be killed"


def committed(home: Path) -> set[str]:
    with Case(home / "c.redwell", read_only=True) as case:
        return {key for (key,) in case._connection.query("SELECT lower(hex(key)) FROM replies")}


def asked(home: Path) -> list[str]:
    return (home / "log").read_text().split()


def test_a_killed_build_goes_on_and_ends_like_an_undisturbed_one(forked, tmp_path):
    folder = write_texts(tmp_path / "in", TEXTS)
    undisturbed = finish(FRESH, folder, tmp_path / "undisturbed")
    assert undisturbed["calls_made"] > 30
    home = tmp_path / "killed"
    for calls in (5, 12, 9):
        before = committed(home) if home.exists() else set()
        seen = len(asked(home)) if home.exists() else 0
        kill(forked, folder, home, calls)
        assert not before & set(asked(home)[seen:]), "a call that was finished was made again"
    before, seen = committed(home), len(asked(home))
    last = finish(forked, folder, home)
    assert not before & set(asked(home)[seen:])
    assert last["chosen"] == undisturbed["chosen"]
    assert last["outputs_reused"] > 0
    assert last["outputs_made"] + last["outputs_reused"] == undisturbed["outputs_made"]


def test_a_build_that_was_finished_makes_nothing_again(forked, tmp_path):
    folder = write_texts(tmp_path / "in", TEXTS)
    first, again = finish(FRESH, folder, tmp_path / "home"), finish(forked, folder, tmp_path / "home")
    assert again["chosen"] == first["chosen"]
    assert (again["calls_made"], again["outputs_made"]) == (0, 0)
    assert again["outputs_reused"] == first["outputs_made"]
