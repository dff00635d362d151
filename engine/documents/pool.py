"""A pool of child processes that parse files, so a hostile file can hurt nothing but itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from engine.documents.answers import (
    LONGEST_LINE,
    ReportedError,
    parsed_file,
    plain_output,
    read_line,
    read_result,
    rows_of,
    strange,
)
from engine.documents.drafts import ParsedFile
from engine.documents.job import Job, clear_folder, size_of
from engine.documents.leftovers import scratch_folder
from engine.documents.options import ParseOptions
from engine.documents.parsers import RESULT, ROWS, cage_line, child_command, child_environment
from engine.documents.unpacking import Share
from engine.errors import DocumentError
from engine.finishing import Usage, end_process, start_process, to_the_end, usage_of
from engine.rows import DocumentId

_WATCH_SECONDS = 0.2
_JOBS_PER_CHILD = 200
_PATIENCE = 4
_LONGEST_PATH = 4096
_RETRIED = frozenset(("crashed", "out_of_memory"))


class ParserPool:
    """Parses files in at most `workers` children. Use as an async context manager; it leaves no process behind.

    A child that crashes, is killed, takes too long or too much memory fails the file it was reading, and the next
    file gets a fresh child.
    """

    def __init__(self, workers: int, options: ParseOptions) -> None:
        if workers < 1:
            raise ValueError(f"a pool needs at least one worker, not {workers}")
        # More OCR threads than cores wait for each other in busy loops: each page then takes ten times as long.
        self._options = replace(options, threads=max(1, options.threads // workers))
        self._idle: asyncio.LifoQueue[_Child | None] = asyncio.LifoQueue()
        self._children: set[_Child] = set()
        self._stack = contextlib.ExitStack()
        self._root: Path | None = None
        for _ in range(workers):
            self._idle.put_nowait(None)

    async def __aenter__(self) -> Self:
        """Children start when they are first needed."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all children."""
        try:
            await to_the_end(asyncio.gather(*(child.close() for child in list(self._children))))
        finally:
            self._stack.close()
            self._root = None

    async def parse(
        self, path: Path, *, name: str, scratch: Path, share: Share | None = None, id: DocumentId | None = None
    ) -> ParsedFile:
        """Parse one file; children found in it are written below `scratch`, an existing folder.

        No more is written than `share` says (default: that of a file which lies in no other). `id` is the digest of the
        file, which the document must have; None takes what the child says.

        Raise DocumentError with the reason; `timeout`, `out_of_memory` and `crashed` are this pool's own.
        """
        size = await asyncio.to_thread(size_of, path)
        share = share or Share.of(size, self._options)
        command = {"do": "parse", "name": name, "share": [share.bytes, share.files]}
        seconds = await self._run_twice(Job(command, scratch, path))
        return await asyncio.to_thread(
            parsed_file, scratch, RESULT, name=name, size=size, share=share, id=id, seconds=seconds
        )

    async def rows(self, path: Path, *, sheet: str | None, scratch: Path) -> Path:
        """Read a data file (see engine.documents.tables); return the JSONL file of its rows, below `scratch`."""
        await self._run_twice(Job({"do": "rows", "sheet": sheet}, scratch, path))
        return plain_output(scratch / ROWS)

    async def call(  # noqa: PLR0913 - what a call needs
        self,
        function: str,
        item: dict[str, Any],
        arguments: dict[str, Any],
        *,
        code: str | None,
        folder: Path,
        scratch: Path,
        may_read: Callable[[Path], bool] = lambda path: True,
    ) -> list[dict[str, Any]]:
        """Call a parsing function (see engine.documents.parsers) in a child, with `folder` as the current one.

        It can read what is below `folder`, and files that a value of the item names by their whole path, of those that
        `may_read` says yes to.
        """
        command = {"do": "call", "function": function, "item": item, "arguments": arguments, "code": code}
        reads = (folder.absolute(), *(file for file in _named_files(item) if may_read(file)))
        await self._run_twice(Job({**command, "folder": str(folder.absolute())}, scratch, reads=reads))
        return rows_of(await asyncio.to_thread(read_result, scratch / RESULT))

    async def _run_twice(self, job: Job) -> float:
        """Do a job, again in a fresh child if a used one was lost; return its seconds."""
        seconds = await self._run(job, fresh=False)
        if seconds is None:
            seconds = await self._run(job, fresh=True)
        return seconds or 0.0

    async def _run(self, job: Job, *, fresh: bool) -> float | None:
        """Do a job; return its seconds, or None when a used child was lost.

        Then only a fresh child can tell whether this file is to blame or those before it.
        """
        async with self._lend(job, fresh=fresh) as child:
            was_used = child.jobs > 0
            started = time.monotonic()
            try:
                command = await asyncio.to_thread(job.begin, child.folder)
                await child.run({**command, "options": asdict(self._options)}, self._options)
                await asyncio.to_thread(job.take_results, child.folder)
            except DocumentError as error:
                if not (was_used and error.reason in _RETRIED):
                    raise
                return None
            finally:
                await asyncio.to_thread(clear_folder, child.folder)
            return time.monotonic() - started

    @asynccontextmanager
    async def _lend(self, job: Job, *, fresh: bool) -> AsyncIterator[_Child]:
        """Lend an idle child that may read what the job needs; afterwards it goes back, unless it broke or is worn."""
        child = await self._idle.get()
        try:
            if child is not None and (fresh or child.reads != job.reads):
                await self._retire(child)
                child = None
            if child is None:
                child = await _Child.start(self._options.threads, self._new_folder(), job.reads)
                self._children.add(child)
            yield child
        finally:
            spent = child if child is not None and not child.is_fit(self._options) else None
            try:
                if spent is not None:
                    await self._retire(spent)
            finally:
                self._idle.put_nowait(None if spent is not None else child)

    def _new_folder(self) -> Path:
        if self._root is None:
            self._root = self._stack.enter_context(scratch_folder())
        return Path(tempfile.mkdtemp(dir=self._root))

    async def _retire(self, child: _Child) -> None:
        self._children.discard(child)
        await to_the_end(child.close())


@dataclass(eq=False)
class _Child:
    """One child process and what the parent knows of it."""

    process: asyncio.subprocess.Process
    folder: Path
    reads: tuple[Path, ...]
    jobs: int = 0
    is_busy: bool = False

    @classmethod
    async def start(cls, threads: int, folder: Path, reads: tuple[Path, ...]) -> _Child:
        """Start a process that may write below `folder` and read that and `reads`.

        What has begun to start when the caller is cancelled is started, then ended.
        """
        child = cls(await start_process(_start_process(threads, folder)), folder, reads)
        await child.send(cage_line(folder, reads))
        return child

    def is_fit(self, options: ParseOptions) -> bool:
        """Say whether the child can take another file."""
        is_idle = self.process.returncode is None and not self.is_busy and self.jobs < _JOBS_PER_CHILD
        return is_idle and usage_of(self.process).resident_bytes < options.memory_bytes / 2

    async def run(self, command: dict[str, Any], options: ParseOptions) -> None:
        """Send a command and wait for its end within the limits; raise DocumentError."""
        self.is_busy = True
        self.jobs += 1
        await self.send((json.dumps(command) + "\n").encode())
        try:
            await self._follow(options)
        except ReportedError as error:
            self.is_busy = error.reason == "out_of_memory"  # after that nothing in the process can be trusted
            raise
        self.is_busy = False

    async def close(self) -> None:
        """End the process: politely when it is idle, at once when it is busy."""
        await end_process(self.process, at_once=self.is_busy)

    async def send(self, line: bytes) -> None:
        """Write a line to its input."""
        if self.process.stdin is None:
            raise RuntimeError("a child is started with a pipe as stdin")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # _follow says how it ended
            self.process.stdin.write(line)
            await self.process.stdin.drain()

    async def _follow(self, options: ParseOptions) -> None:
        """Read answers until the last; watch time and memory meanwhile."""
        watch = _Watch(options, usage_of(self.process))
        if self.process.stdout is None:
            raise RuntimeError("a child is started with a pipe as stdout")
        while True:
            reading = asyncio.ensure_future(self.process.stdout.readline())
            try:
                while not reading.done():
                    await asyncio.wait([reading], timeout=_WATCH_SECONDS)
                    if not reading.done():
                        watch.check(usage_of(self.process))
            finally:
                reading.cancel()
            try:
                line = reading.result()
            except ValueError as error:  # longer than LONGEST_LINE
                raise strange("a line without an end") from error
            if not line:
                raise await self._death()
            if watch.take(read_line(line), usage_of(self.process)):
                return

    async def _death(self) -> DocumentError:
        code = await self.process.wait()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        return DocumentError(
            f"the process that read it {how}",
            reason="crashed",
            advice="Open the file in another program and save it again, or leave it out.",
        )


async def _start_process(threads: int, folder: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *child_command(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=child_environment(threads, folder),
        limit=LONGEST_LINE,
    )


class _Watch:
    """The limits of one file as it is read.

    Time is processor time: on a busy machine a page may take minutes by the clock and be fine. A child that sleeps or
    waits for ever uses none, so the clock is watched too, with four times the limit.
    """

    def __init__(self, options: ParseOptions, usage: Usage) -> None:
        self._options = options
        self._started = self._moved = (usage.cpu_seconds, time.monotonic())
        self._steps = 2

    def take(self, message: dict[str, Any], usage: Usage) -> bool:
        """Note an answer of the child; return True for the last."""
        self._moved = (usage.cpu_seconds, time.monotonic())
        self._steps += message.get("pages", 0)
        return "done" in message

    def check(self, usage: Usage) -> None:
        """Raise DocumentError (timeout, out_of_memory) when a limit is crossed."""
        step = self._options.step_seconds
        if self._is_over(self._moved, usage, step) or self._is_over(self._started, usage, step * self._steps):
            raise DocumentError(
                f"reading it took too long: more than {step:g} s of work, or {_PATIENCE * step:g} s of waiting,"
                " without progress",
                reason="timeout",
                advice="Split it into smaller files and read those.",
            )
        if usage.resident_bytes > self._options.memory_bytes:
            raise DocumentError(
                f"reading it took more than {self._options.memory_bytes // 2**20} MiB of memory",
                reason="out_of_memory",
                advice="Split it into smaller files and read those.",
            )

    def _is_over(self, since: tuple[float, float], usage: Usage, seconds: float) -> bool:
        worked, waited = usage.cpu_seconds - since[0], time.monotonic() - since[1]
        return worked > seconds or waited > _PATIENCE * seconds


def _named_files(item: dict[str, Any]) -> tuple[Path, ...]:
    """Return the files that values of a row name by their whole path, for a parsing function to open."""
    texts = [Path(value) for value in item.values() if isinstance(value, str) and len(value) < _LONGEST_PATH]
    return tuple(path for path in texts if path.is_absolute() and "\0" not in str(path) and path.is_file())
