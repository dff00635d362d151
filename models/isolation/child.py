"""The program in the model's process: open a model, then answer until the parent is gone.

The parent's lines come on standard input and are read by a thread of their own, which also counts tokens: at once, also
while the model computes. The end of that input ends the process on the spot, for it means that the parent is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from models.errors import ModelError, NotEnoughMemory, RuntimeMissing
from models.fence.process import die_with_parent
from models.fitting import fit
from models.isolation.cage import enter_model_cage
from models.isolation.wire import Frame, error_to, read_frame, request_from, write_frame
from models.opening import open_fitted
from models.protocol import ModelBackend, ModelSpec, Reply

TELL_SECONDS = 1.0
"""So often the parent hears how far the requests in progress are."""

OpenModel = Callable[[ModelSpec], ModelBackend]

_KILL_FIRST = "500"
"""When memory runs out the system had better take this process than the one with the user's window (0 to 1000)."""


def main(open_model: OpenModel = open_fitted) -> NoReturn:
    """Be the child; ends only with the process."""
    threading.excepthook = _die_of
    source, output = _own_streams()
    first = read_frame(source)
    if first is None:
        os._exit(0)
    _stay_below(first["parent"])
    try:
        code = _Child(source, output, open_model).run(ModelSpec(**first["open"]))
    except BaseException:
        traceback.print_exc()
        raise
    os._exit(code)


class _Child:
    """The model, its event loop in the main thread and the thread that listens."""

    def __init__(self, source: BinaryIO, output: BinaryIO, open_model: OpenModel) -> None:
        self._source = source
        self._output = output
        self._open_model = open_model
        self._sending = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[int, asyncio.Task[Reply]] = {}
        self._telling: asyncio.Task[None] | None = None

    def run(self, spec: ModelSpec) -> int:
        """Open the model and serve; returns the exit code when it cannot be opened."""
        self._opened = threading.Event()
        try:
            fitted = fit(spec)
            enter_model_cage(spec.runtime, spec.location)
            threading.Thread(target=self._listen, name="parent", daemon=True).start()
            self._send({"loading": fitted.settings, "own_context": fitted.own_context})
            self._backend = self._open_model(fitted.spec)
        except (ModelError, ImportError, OSError, MemoryError) as error:
            self._send({"failed": error_to(_as_model_error(error, spec))})
            return 1
        backend = self._backend
        self._opened.set()
        facts = {"name": backend.name, "digest": backend.digest, "layout": backend.layout}
        self._send({"ready": {**facts, "context": backend.context_tokens}})
        self._loop.run_forever()
        return 0

    def _listen(self) -> NoReturn:
        while (frame := read_frame(self._source)) is not None:
            match frame:
                case {"count": number}:
                    self._opened.wait()
                    self._count(number, frame)
                case {"ask": number, "request": body}:
                    self._loop.call_soon_threadsafe(self._ask, number, body)
                case {"cancel": number}:
                    self._loop.call_soon_threadsafe(self._cancel, number)
        # Not sys.exit: the runtime may be deep in a computation, and nobody waits for its result.
        os._exit(0)

    def _count(self, number: int, frame: Frame) -> None:
        try:
            if "text" in frame:
                tokens = self._backend.count_tokens(frame["text"])
            else:
                tokens = self._backend.count_prompt_tokens(request_from(frame["request"]))
        except ModelError as error:
            self._send({"uncounted": number, "value": error_to(error)})
        else:
            self._send({"counted": number, "tokens": tokens})

    def _ask(self, number: int, body: Frame) -> None:
        task = self._loop.create_task(self._backend.ask(request_from(body)))
        self._tasks[number] = task
        task.add_done_callback(partial(self._answer, number))
        if self._telling is None and hasattr(self._backend, "in_progress"):
            self._telling = self._loop.create_task(self._tell_progress(self._backend))

    async def _tell_progress(self, backend: Any) -> None:
        """Tell how far the requests are while there are any, and once more when there are none."""
        while self._telling is not None:
            await asyncio.sleep(TELL_SECONDS)
            if not self._tasks:
                self._telling = None
            read, written = backend.in_progress
            self._send({"working": read, "written": written})

    def _cancel(self, number: int) -> None:
        if task := self._tasks.get(number):
            task.cancel()

    def _answer(self, number: int, task: asyncio.Task[Reply]) -> None:
        """Send what became of a request; of one that was cancelled nobody wants to hear."""
        del self._tasks[number]
        if task.cancelled():
            return
        if error := task.exception():
            if not isinstance(error, ModelError):
                traceback.print_exception(error)
            self._send({"error": number, "value": error_to(error)})
            return
        try:
            self._send({"reply": number, "value": asdict(task.result())})
        except (ValueError, RecursionError) as unwritable:
            message = f"the reply cannot be written as JSON: {unwritable}"
            self._send({"error": number, "value": error_to(ModelError(message, advice="Ask for a flatter value."))})

    def _send(self, frame: Mapping[str, Any]) -> None:
        line = memoryview(write_frame(frame))
        try:
            with self._sending:
                while line:
                    line = line[self._output.write(line) :]
        except BrokenPipeError:
            os._exit(0)


def _as_model_error(error: Exception, spec: ModelSpec) -> ModelError:
    if isinstance(error, ModelError):
        return error
    if isinstance(error, MemoryError):
        return NotEnoughMemory(f"memory ran out while {spec.name} was loaded", advice="Close other programs.")
    return RuntimeMissing(f"the runtime of {spec.name} cannot be loaded: {error}", advice="See `redwell doctor`.")


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """Take the pipes for ourselves: what a library prints goes to stderr, and what it reads is empty."""
    sys.stdout.flush()
    source = open(os.dup(0), "rb")  # noqa: PTH123, SIM115 - descriptors, open as long as the process
    output = open(os.dup(1), "wb", buffering=0)  # noqa: PTH123, SIM115
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return source, output


def _stay_below(parent: int) -> None:
    """Leave Ctrl-C to the parent, die when it dies, and be the first to go when memory runs out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "linux":
        return
    # The end of our input tells the same, but not where a third process has inherited the other end of the pipe.
    die_with_parent()
    if os.getppid() != parent:
        os._exit(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_KILL_FIRST)


def _die_of(failure: threading.ExceptHookArgs) -> None:
    """End the process with its trace when a thread fails: half a process would leave requests waiting for ever."""
    traceback.print_exception(failure.exc_value)
    sys.stderr.flush()
    os._exit(70)


if __name__ == "__main__":
    main()
