"""Does everything work where there is no network at all? A child in an empty network namespace finds out.

Run as a program (`python -m engine.worker.isolated_check`) it is the child: it says which interfaces it has, whether
an address can be reached, reads a test picture and asks the smallest model, and prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

from engine.worker.contract.offline import IsolatedCheck
from engine.worker.health import check_ocr
from models.check import Check
from models.install import smallest_file
from models.selftest import run_selftest

TIMEOUT_SECONDS = 240.0
NOBODY = ("192.0.2.1", 9)
"""An address that RFC 5737 keeps for documents, asked for inside the namespace only: nobody can be there."""

_GET_FLAGS, _UP = 0x8913, 1
UNSHARE = ("unshare", "--map-root-user", "--net")


def check_isolated() -> IsolatedCheck:
    """Read a picture and ask a model in a process that has no network; takes some seconds."""
    tool = shutil.which(UNSHARE[0])
    if tool is None:
        return IsolatedCheck(False, "this system has no network namespaces (the program unshare is not here)")
    try:
        trial = _run([tool, *UNSHARE[1:], "true"], 10.0)
        if trial.returncode:
            said = (trial.stderr.strip().splitlines() or ["no reason given"])[-1]
            return IsolatedCheck(False, f"this system does not let us make a network namespace: {said}")
        child = [sys.executable, "-P", "-m", "engine.worker.isolated_check"]  # no module of the current folder
        answer = _run([tool, *UNSHARE[1:], *child], TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return IsolatedCheck(False, f"the test took longer than {TIMEOUT_SECONDS:.0f} s and was stopped")
    try:
        checks = json.loads((answer.stdout.strip().splitlines() or [""])[-1])
    except ValueError:
        said = (answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"])[-1]
        return IsolatedCheck(False, f"the test stopped: {said}")
    return IsolatedCheck(True, "", tuple(Check(*each) for each in checks))


def _run(command: list[str], timeout_seconds: float) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout_seconds,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


def inside() -> list[Check]:
    """Look around in the namespace, and work there."""
    interfaces = _interfaces()
    return [interfaces, _reach(interfaces), check_ocr(), _model()]


def _interfaces() -> Check:
    up = [name for _, name in socket.if_nameindex() if name != "lo" and _is_up(name)]
    detail = "this process has no network interface" if not up else f"this process has {', '.join(up)}"
    return Check("Interfaces", not up, detail)


def _is_up(name: str) -> bool:
    """Ask the kernel, by a socket within the machine: a process that is fenced can make no other."""
    import fcntl  # noqa: PLC0415 - does not exist on Windows, where there are no namespaces either

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
        answer = fcntl.ioctl(probe, _GET_FLAGS, struct.pack("256s", name.encode()[:15]))
    return bool(int.from_bytes(answer[16:18], sys.byteorder) & _UP)


def _reach(interfaces: Check) -> Check:
    """Try to leave, only where there is no interface to leave by; that must not be possible."""
    if not interfaces.ok:
        return Check("No way out", False, f"not tried, for {interfaces.detail}")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.settimeout(2.0)
            probe.connect(NOBODY)
    except OSError as error:
        return Check("No way out", True, f"a connection to {NOBODY[0]} was refused by the system: {error.strerror}")
    return Check("No way out", False, f"a connection to {NOBODY[0]} was let through")


def _model() -> Check:
    smallest = smallest_file()
    if smallest is None:
        return Check("Asking a model", True, "not tried: no model is installed")
    verdict = run_selftest(smallest.path)
    return Check("Asking a model", verdict.ok, f"{smallest.id}: {verdict.detail}")


def main() -> int:
    """Be the child."""
    sys.stdout.write(json.dumps([(c.name, c.ok, c.detail, c.advice) for c in inside()]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
