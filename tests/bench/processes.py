"""Processes of the benchmarks: run one to its end within a time, keep a server, watch how much memory they take."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

REDWELL = (sys.executable, "-c", "from engine.cli.main import run; run()")
"""The command `redwell` of this environment."""

SAMPLE_SECONDS = 0.25
SERVER_START_SECONDS = 120.0


class Failed(Exception):
    """A contestant did not end well; the message says how."""


@dataclass
class PeakMemory:
    """The most memory that processes and their children held, in bytes: each one's own peak, added up."""

    pids: tuple[int, ...]
    _peaks: dict[int, int] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def total(self) -> int:
        return sum(self._peaks.values())

    @contextlib.contextmanager
    def watching(self) -> Iterator[PeakMemory]:
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            for pid in self.pids:
                with contextlib.suppress(psutil.Error):
                    process = psutil.Process(pid)
                    for one in (process, *process.children(recursive=True)):
                        self._peaks[one.pid] = max(self._peaks.get(one.pid, 0), _peak_of(one))


def _peak_of(process: psutil.Process) -> int:
    """Read the high-water mark that the kernel keeps; where it keeps none, what is resident now."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    except OSError:
        found = None
    return int(found[1]) * 1024 if found else int(process.memory_info().rss)


def run(command: Sequence[str | Path], *, seconds: float, log: Path, beside: Sequence[int] = ()) -> int:
    """Run a command to its end; return its peak memory with that of the processes `beside`.

    Raises Failed with the last line of its output when it ends badly or takes longer than `seconds`.
    """
    with log.open("w") as out:
        child = subprocess.Popen(
            [str(part) for part in command],
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            with PeakMemory((child.pid, *beside)).watching() as memory:
                code = child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"took longer than {seconds:.0f} s") from None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)  # its own session: it and its children, nothing else
                child.wait()
    if code:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        raise Failed(f"exit code {code}: {lines[-1].strip()[:200] if lines else 'no output'}")
    return memory.total


def ask(command: Sequence[str | Path], *, seconds: float) -> dict[str, float]:
    """Run a command that prints one line of JSON; raises Failed."""
    try:
        done = subprocess.run([str(p) for p in command], capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"took longer than {seconds:.0f} s") from None
    try:
        body: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise Failed(f"exit code {done.returncode}: {last[:200]}") from None
    return body


@dataclass(frozen=True, slots=True)
class Server:
    """A llama-server that answers on the loopback."""

    pid: int
    port: int

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def counters(self) -> dict[str, float]:
        """Read how many tokens it has evaluated and written since it started; empty if it does not say."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as reply:
                text = reply.read().decode()
        except (OSError, urllib.error.URLError):
            return {}
        found = re.findall(r"^llamacpp:(\w+) ([\d.e+]+)$", text, re.MULTILINE)
        return {name: float(value) for name, value in found}


@contextlib.contextmanager
def serving(binary: Path, gguf: Path, *, slots: int, threads: int, log: Path, context: int = 4096) -> Iterator[Server]:
    """Start a server for one contestant and end it after; raises Failed if it does not start.

    `context`: tokens for each slot.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("w") as out:
        child = subprocess.Popen(
            server_command(binary, gguf, slots=slots, threads=threads, port=port, context=context),
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        _wait_until_ready(child, port, log)
        yield Server(child.pid, port)
    finally:
        child.terminate()
        try:
            child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def server_command(  # noqa: PLR0913 - the options of the command
    binary: Path, gguf: Path, *, slots: int, threads: int, port: int, context: int = 4096
) -> list[str]:
    """Write the server's command: flash attention, prompt cache, a context of so many tokens for each slot."""
    options = {
        "--model": gguf,
        "--host": "127.0.0.1",
        "--port": port,
        "--parallel": slots,
        "--ctx-size": context * slots,
        "--threads": threads,
        "--threads-batch": threads,
        "--flash-attn": "on",
        "--cache-reuse": 256,
    }
    return [str(binary), *(str(part) for pair in options.items() for part in pair), "--metrics", "--jinja"]


def _wait_until_ready(child: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + SERVER_START_SECONDS
    while time.monotonic() < until:
        if child.poll() is not None:
            lines = log.read_text(errors="replace").splitlines()
            raise Failed(f"the server ended with {child.returncode}: {' '.join(lines[-2:])[:200]}")
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return
        time.sleep(0.5)
    raise Failed(f"the server did not answer within {SERVER_START_SECONDS:.0f} s")
