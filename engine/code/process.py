"""One process for code of a pipeline, as the engine sees it. Nothing that it says is believed unchecked."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from engine.code.program import Program
from engine.code.values import NotPlain, plain
from engine.errors import EnvironmentMissing, ItemError, PipelineError
from engine.finishing import GOODBYE_SECONDS, Usage, end_process, start_process, to_the_end, usage_of
from models.fence.attempt import Attempt

CALLS_PER_PROCESS = 1000
LONGEST_ANSWER = 64 * 2**20

_WATCH_SECONDS = 0.1
_PATIENCE = 4
"""A call may wait so many times as long as it may compute: on a busy machine the clock runs faster than the work."""
_START_SECONDS = 30.0
_KEPT_ERRORS = 2000
_ATTEMPT = json.dumps({"bounds": {"memory_bytes": 2**28, "cpu_seconds": 20}, "attempt": True}) + "\n"
_AROUND = 2
"""Levels that an answer has around what a call gave."""


class Lost(ItemError):
    """The process is gone, or can no longer be trusted. `by_call`: the call itself is surely to blame."""

    def __init__(self, message: str, *, by_call: bool, advice: str = "") -> None:
        super().__init__(message, advice=advice)
        self.by_call = by_call


class CodeProcess:
    """A process that has read the code of one operator and waits for calls."""

    def __init__(self, process: asyncio.subprocess.Process, program: Program) -> None:
        self.program = program
        self.calls = 0
        self.guards: tuple[str, ...] = ()
        self._process = process
        self._is_sound = True
        self._errors = b""
        self._reading_errors = asyncio.ensure_future(self._read_errors())

    @classmethod
    async def start(cls, program: Program) -> CodeProcess:
        """Start a process and let it read the code.

        Raises EnvironmentMissing when it cannot be started or confined, PipelineError when the code cannot be read.
        """
        try:
            process = await start_process(_start_process())
        except OSError as error:
            raise EnvironmentMissing(f"no process for code can be started: {error.strerror}") from error
        child = cls(process, program)
        try:
            await child._load()
        except BaseException:
            await to_the_end(child.close())
            raise
        return child

    @property
    def is_fit(self) -> bool:
        """Say whether the process can take another call."""
        return self._is_sound and self._process.returncode is None and self.calls < CALLS_PER_PROCESS

    async def call(self, given: Any) -> Any:
        """Call `transform`; raises ItemError with the line that failed, Lost when the process did."""
        self.calls += 1
        answer = await self._ask({"id": self.calls, "input": given})
        if answer.get("id") != self.calls:
            raise self._lost(f"the code wrote into the channel of answers: {str(answer)[:100]}", by_call=False)
        self._is_sound = not answer.get("spent")
        if "error" in answer:
            raise ItemError(_told(answer), advice=_advice(answer))
        return answer["value"]

    async def close(self) -> None:
        """End the process: politely when it is idle, at once when it is busy or broken."""
        await end_process(self._process, at_once=not self._is_sound)
        await self._reading_errors

    async def _load(self) -> None:
        program = self.program
        order = {
            "parts": [
                {"source": part.source, "wants": part.wants, "drops": part.drops, "seed": part.seed}
                for part in (program, *program.then)
            ],
            "bounds": {
                "memory_bytes": program.memory_bytes,
                "cpu_seconds": math.ceil(_START_SECONDS + program.timeout_seconds * CALLS_PER_PROCESS),
            },
        }
        try:
            answer = await self._ask(order, seconds=max(_START_SECONDS, program.timeout_seconds))
        except Lost as error:
            message = f"its code could not be read: {error}"
            raise PipelineError(message, advice=error.advice, operator=program.operator) from error
        if "unconfined" in answer:
            raise EnvironmentMissing(
                f"code of pipelines cannot be confined here: {answer['unconfined']}",
                advice="Run the pipeline without its code_* operators.",
            )
        if "error" in answer:
            message = f"its code could not be read: {_told(answer)}"
            raise PipelineError(message, advice=_advice(answer), operator=program.operator)
        self.guards = tuple(str(guard) for guard in answer["value"])

    async def _ask(self, message: dict[str, Any], *, seconds: float | None = None) -> dict[str, Any]:
        """Send a line and wait for the answer within the bounds; raises Lost."""
        was_sound, self._is_sound = self._is_sound, False
        line = await self._exchange(message, seconds or self.program.timeout_seconds)
        try:
            answer = plain(json.loads(line), depth=-_AROUND)
        except (ValueError, RecursionError, NotPlain) as error:
            raise self._lost(f"the code wrote into the channel of answers: {line[:100]!r}", by_call=False) from error
        if not isinstance(answer, dict) or not ({"value", "error", "unconfined"} & set(answer)):
            raise self._lost("the code wrote into the channel of answers", by_call=False)
        self._is_sound = was_sound
        return answer

    async def _exchange(self, message: dict[str, Any], seconds: float) -> bytes:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("a process for code is started with pipes")
        reading = asyncio.ensure_future(_send_and_read(stdin, stdout, json.dumps(message).encode() + b"\n"))
        begun, started = usage_of(self._process), time.monotonic()
        try:
            while not reading.done():
                await asyncio.wait([reading], timeout=_WATCH_SECONDS)
                if not reading.done():
                    self._check(usage_of(self._process), begun, time.monotonic() - started, seconds)
        finally:
            reading.cancel()
            await asyncio.wait([reading])
        try:
            line = reading.result()
        except ValueError as error:
            limit = LONGEST_ANSWER // 2**20
            raise self._lost(f"the result is larger than {limit} MiB", by_call=True) from error
        return line or await self._raise_death()

    def _check(self, usage: Usage, begun: Usage, waited: float, seconds: float) -> None:
        if usage.cpu_seconds - begun.cpu_seconds > seconds or waited > _PATIENCE * seconds:
            raise self._lost(
                f"the code took too long: more than {seconds:g} s of work, or {_PATIENCE * seconds:g} s of waiting",
                by_call=True,
                advice="Raise timeout_seconds, or look for a loop without an end.",
            )
        if usage.resident_bytes > self.program.memory_bytes + begun.resident_bytes:
            raise self._too_large()

    def _too_large(self) -> Lost:
        mebibytes = self.program.memory_bytes // 2**20
        advice = "Raise memory_bytes, or keep less at once."
        return self._lost(f"the code took more than {mebibytes} MiB of memory", by_call=True, advice=advice)

    async def _raise_death(self) -> bytes:
        code = await self._process.wait()
        await asyncio.wait([self._reading_errors], timeout=GOODBYE_SECONDS)
        how = f"was ended by signal {-code}" if code < 0 else f"ended itself with code {code}"
        said = self._errors.decode(errors="replace").strip()
        if said.rpartition("\n")[2].startswith("MemoryError"):
            raise self._too_large()
        raise self._lost(f"the process of the code {how}" + (f"; it wrote: {said}" if said else ""), by_call=False)

    def _lost(self, message: str, *, by_call: bool, advice: str = "") -> Lost:
        self._is_sound = False
        return Lost(message, by_call=by_call, advice=advice)

    async def _read_errors(self) -> None:
        """Keep the end of what is written to stderr; read all of it, or the process would wait for us."""
        stderr = self._process.stderr
        while stderr is not None and (part := await stderr.read(2**16)):
            self._errors = (self._errors + part)[-_KEPT_ERRORS:]


def try_from_code_process() -> Attempt:
    """Let a process, confined as for any code, ask for a socket, to see that it gets none; it runs no code.

    Raises EnvironmentMissing, or OSError.
    """
    try:
        tried = subprocess.run(
            code_command(),
            input=_ATTEMPT.encode(),
            capture_output=True,
            timeout=_START_SECONDS,
            check=False,
            cwd=code_folder(),
            env=code_environment(),
        )
    except subprocess.TimeoutExpired as error:
        raise EnvironmentMissing(f"the process for code of a pipeline did not try in {error.timeout:g} s") from error
    try:
        return Attempt(**json.loads(tried.stdout)["attempted"])
    except (ValueError, KeyError) as error:
        said = (tried.stderr or tried.stdout).decode("utf-8", "replace").strip()
        last = said.splitlines()[-1] if said else "it said nothing"
        raise EnvironmentMissing(f"the process for code of a pipeline did not try: {last}") from error


async def _start_process() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *code_command(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=code_environment(),
        cwd=code_folder(),
        limit=LONGEST_ANSWER,
    )


async def _send_and_read(stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader, line: bytes) -> bytes:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the empty answer tells that it is gone
        stdin.write(line)
        await stdin.drain()
    return await stdout.readline()


def _told(answer: dict[str, Any]) -> str:
    """Put together what an answer says of an error: what, in which line, and what the code had printed."""
    message = str(answer["error"])
    if "line" in answer:
        message += f" (line {answer['line']}: {answer.get('code', '')})"
    printed = str(answer.get("printed") or "").strip()
    return f"{message}; it printed: {printed}" if printed else message


def _advice(answer: dict[str, Any]) -> str:
    error = str(answer["error"])
    if error.startswith("ModuleNotFoundError"):
        return "Code of a pipeline has Python's standard library, and no other packages."
    if error.startswith("PermissionError"):
        return "Code of a pipeline sees its argument and Python's standard library: no files, no network, no processes."
    return ""


_ROOT = Path(__file__).resolve().parents[2]
_KEPT_VARIABLES = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")

_START = """
import sys, types
for name in ("engine", "engine.code", "models", "models.fence"):
    module = types.ModuleType(name)
    module.__path__ = ["/".join((sys.argv[1], *name.split(".")))]
    sys.modules[name] = module
del sys.argv[1:]
from engine.code.child import main
main()
"""
"""Makes the packages by hand: their own `__init__` may import what is not there without site-packages."""


def code_command() -> list[str]:
    """Return the command line: Python without site-packages, the current folder or any variable that is not ours.

    In place of `-I`, its parts: that would also ignore PYTHONHASHSEED, and the order of sets would differ in each run.
    """
    flags = ["-P", "-s", "-S", "-B", "-X", "utf8"]
    return [sys.executable, *flags, "-c", _START, str(_ROOT)]


def code_environment() -> dict[str, str]:
    """Return the environment: nothing of the user's, and one hash seed for all runs."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {**kept, "PYTHONHASHSEED": "0"}


def code_folder() -> str:
    """Return the current folder of the process: the root, which tells nothing."""
    return Path(sys.executable).anchor or os.sep
