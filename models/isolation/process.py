"""One life of the model's process, as the parent sees it: how it is started, what it says, its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from models.hardware import memory_kills
from models.isolation.cage import model_environment
from models.isolation.ending import Ending
from models.isolation.wire import Frame, Garbage, read_frame, write_frame

KEPT_COMPLAINT = 8000
"""Bytes of the child's stderr that are kept, the last ones."""

GOODBYE_SECONDS = 2.0

Told = Callable[["ModelProcess", Frame | Ending], None]

_ROOT = Path(__file__).resolve().parents[2]

_START = """
import sys
sys.path[:] = sys.argv[1:]
del sys.argv[1:]
from models.isolation.child import main
main()
"""


def child_command() -> list[str]:
    """Return the command line: Python that finds its modules where we find ours, but never in the current folder."""
    # `-I` alone would not see what PYTHONPATH or a user's own site-packages hold: a runtime may be there.
    paths = [str(path) for path in sys.path if Path(path).is_absolute()]
    return [sys.executable, "-I", "-X", "utf8", "-c", _START, str(_ROOT), *paths]


def start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a child with pipes to its standard streams, out of reach of the terminal's signals. Raises OSError."""
    windows_flags = 0
    if sys.platform == "win32":
        windows_flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=model_environment(),
        start_new_session=os.name == "posix",  # Ctrl-C is the parent's to judge
        creationflags=windows_flags,
    )


class ModelProcess:
    """A started child. `tell` is called by a thread of its own: with each frame, and last with one Ending."""

    def __init__(self, command: Sequence[str], tell: Told) -> None:
        """Raise OSError when no process can be started."""
        self._kills_before = memory_kills()
        self._process = start(command)
        self._tell = tell
        self._fault = ""
        self._complaint = b""
        self._complaining = threading.Thread(target=self._keep_complaints, name="model stderr", daemon=True)
        self._reading = threading.Thread(target=self._read, name="model replies", daemon=True)
        self._complaining.start()
        self._reading.start()

    @property
    def pid(self) -> int:
        """Return the child's process id."""
        return self._process.pid

    def send(self, frame: Mapping[str, Any]) -> None:
        """Write one frame; blocks while the child does not read. What a dead child misses, its Ending tells."""
        pipe = cast(BinaryIO, self._process.stdin)
        with contextlib.suppress(OSError, ValueError):  # broken, or closed by `end`
            pipe.write(write_frame(frame))
            pipe.flush()

    def kill(self, fault: str = "") -> None:
        """End the child at once, for `fault`; its Ending follows."""
        self._fault = self._fault or fault
        self._process.kill()

    def join(self) -> None:
        """Wait until the Ending has been told."""
        self._reading.join()

    def _read(self) -> None:
        pipe = cast(BinaryIO, self._process.stdout)
        try:
            while (frame := read_frame(pipe)) is not None:
                self._tell(self, frame)
        except Garbage as error:
            self.kill(f"it wrote what is no reply: {error}")
        finally:
            self._tell(self, self._end())

    def _end(self) -> Ending:
        try:
            code = self._process.wait(GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill("it closed its output")
            code = self._process.wait()
        self._end_descendants()
        self._complaining.join(GOODBYE_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                cast(BinaryIO, pipe).close()
        kills = memory_kills() - self._kills_before
        return Ending(code, self._complaint.decode("utf-8", "replace"), self._fault, kills)

    def _end_descendants(self) -> None:
        """End what the child has started itself: it shares the child's group."""
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def _keep_complaints(self) -> None:
        pipe = cast(BinaryIO, self._process.stderr)
        with pipe:
            while chunk := pipe.read1(4096):  # type: ignore[attr-defined]
                self._complaint = (self._complaint + chunk)[-KEPT_COMPLAINT:]
