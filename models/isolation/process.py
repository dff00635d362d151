"""One life of the model's process, as the parent sees it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, cast

from models.hardware import memory_kills
from models.isolation.ending import Ending
from models.isolation.launch import start
from models.isolation.wire import Frame, Garbage, read_frame, write_frame

KEPT_COMPLAINT = 8000
"""Bytes of the child's stderr that are kept, the last ones."""

GOODBYE_SECONDS = 2.0

Told = Callable[["ModelProcess", Frame | Ending], None]


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
