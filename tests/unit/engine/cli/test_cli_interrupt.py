"""Ctrl-C, on a process of its own."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from case_counts import count_replies
from scripted_cases import RECORDS

from engine.cli.watching import JsonWatch
from engine.executor.events import ModelLoading, ModelWorking
from engine.executor.sources import ingest
from storage.case import Case
from tests.unit.engine.cli.test_cli_encryption import at_a_terminal

SCRIPTED = Path(__file__).resolve().parents[3] / "fixtures" / "scripted_redwell.py"

PRESSED_TWICE = """
import asyncio, os, signal
from engine.cli.console import messages
from engine.cli.interrupting import run_interruptible

def press():
    os.kill(os.getpid(), signal.SIGINT)

async def work():
    with messages().status("working"):
        asyncio.get_running_loop().call_later(0.2, press)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            press()
            await asyncio.sleep(60)

run_interruptible(work())
"""


def start(pipeline: Path, calls: Path, seconds: str, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPTED), "run", pipeline.name, "--out", "o.csv", *more],
        cwd=pipeline.parent,
        env={**os.environ, "REDWELL_TEST_CALLS": str(calls), "REDWELL_TEST_SECONDS": seconds},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_calls(calls: Path, wanted: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if calls.exists() and len(calls.read_text().splitlines()) >= wanted:
            return
        time.sleep(0.02)
    raise AssertionError(f"no {wanted} calls came; the process ended with {process.poll()}")


def test_a_reader_of_events_that_goes_away_ends_the_run(pipeline: Path, tmp_path: Path) -> None:
    calls = tmp_path / "calls.txt"
    with start(pipeline, calls, "1", "--json-events") as process:
        wait_for_calls(calls, 1, process)
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 1
    assert "Traceback" not in errors
    with Case(tmp_path / "officers.redwell", read_only=True) as case:
        assert [run.status for run in case.runs.all()] != ["finished"]


def test_how_far_a_model_is_is_told_to_nobody_without_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Gone())
    watch = JsonWatch()
    watch.take(ModelWorking("m", 1, 1))
    with pytest.raises(BrokenPipeError):
        watch.take(ModelLoading("m"))


def test_ctrl_c_stops_cleanly_and_the_same_command_goes_on(pipeline: Path, tmp_path: Path) -> None:
    calls = tmp_path / "calls.txt"
    with start(pipeline, calls, "2") as process:  # replies come after 2, 4 and 6 seconds
        wait_for_calls(calls, 1, process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Run the same command again to go on from there." in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "o.csv").exists()
    first = calls.read_text().splitlines()
    with Case(tmp_path / "officers.redwell", read_only=True) as case:
        assert [run.status for run in case.runs.all()] == ["cancelled"]
        assert 1 <= count_replies(case) <= len(first) < len(RECORDS)
        kept = count_replies(case)
    with start(pipeline, calls, "0") as process:
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert f"{len(RECORDS) - kept} call" in out
    assert "going on where an earlier run stopped" in errors
    second = calls.read_text().splitlines()[len(first) :]
    assert len(second) == len(RECORDS) - kept
    assert not set(second) & set(first[:kept])


def test_a_second_ctrl_c_leaves_at_once_and_loses_no_reply(pipeline: Path, tmp_path: Path) -> None:
    calls = tmp_path / "calls.txt"
    with start(pipeline, calls, "2") as process:
        wait_for_calls(calls, 1, process)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    with start(pipeline, calls, "0") as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_ctrl_c_stops_reading_and_keeps_what_was_read(
    redwell: Any, pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def pressed(*given: Any, **options: Any) -> None:
        await ingest(*given, **options, first=1)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)

    monkeypatch.setattr("engine.cli.ingest.ingest_folder", pressed)
    result = redwell("ingest", "records", "--case", "c.redwell")
    assert result.exit_code == 130
    assert "Stopped. Files read so far are kept" in result.stderr
    with Case(Path("c.redwell"), read_only=True) as case:
        assert case.listing.count_documents() == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_a_second_ctrl_c_gives_the_terminal_its_cursor_back() -> None:
    code, seen = at_a_terminal((), [], program=("-c", PRESSED_TWICE))
    assert code == 130, seen
    hidden, shown = "\x1b[?25l", "\x1b[?25h"
    assert seen.rindex(shown) > seen.rindex(hidden)


def test_a_program_that_is_run_for_a_command_ends_with_it() -> None:
    inner = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    outer = (
        f"import sys; from engine.cli.interrupting import run_program; run_program([sys.executable, '-c', {inner!r}])"
    )
    with subprocess.Popen([sys.executable, "-c", outer], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        program = int(command.stdout.readline())
        command.terminate()
        command.wait(timeout=60)
        with pytest.raises(ProcessLookupError):
            os.kill(program, 0)
