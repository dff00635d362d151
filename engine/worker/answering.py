"""Answers queries in threads, so that the worker's loop never waits for a disk or a picture."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.documents.leftovers import scratch_folder
from engine.errors import OutsideBorders, UsageError
from engine.executor.events import Event
from engine.worker.contract.events import Answered, CaseChanged, CommandFailed
from engine.worker.exit_codes import USER_ERRORS, exit_code_of, refusal
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import LaneName, Query, arguments, find_query, is_loaded

if TYPE_CHECKING:
    from engine.worker.jobs import NewModels
    from engine.worker.live import LiveRun
    from engine.worker.live_build import LiveBuild

THREADS: Final[Mapping[LaneName, int]] = {"read": 2, "edit": 1, "slow": 2, "long": 1}
_ASKED_NEXT: Final = {"case.open": "documents.page"}
"""What is asked as soon as a question is answered: its module is read meanwhile."""

CLOSING_SECONDS = 2.0
"""How long the end of the worker waits for queries that are being answered, all together."""

CHANGING_SECONDS = 30.0
"""How long it waits before that for changes that were asked for, made or not begun yet."""


RESTING_SECONDS = 10.0
"""How long `at_rest` waits for the questions that are being answered."""


@dataclass(eq=False)
class _Rest:
    """Tells a thread to close its cases and to wait until it is over."""

    arrived: Callable[[], None]
    over: threading.Event = field(default_factory=threading.Event)


_ToLoad = tuple[str, str, Mapping[str, Any]]
"""The id, the name and the arguments of a question whose module is to be read first."""


@dataclass(eq=False)
class _Asked:
    id: str
    query: Query
    given: dict[str, Any]
    forgotten: threading.Event = field(default_factory=threading.Event)


class Answering:
    """The threads that answer, and the questions on their way. Lives in one event loop; `write` takes one line."""

    def __init__(
        self,
        write: Callable[[str], None],
        new_models: NewModels,
        live: Callable[[], LiveRun | None],
        build: Callable[[], LiveBuild | None],
    ) -> None:
        """`new_models` makes what knows this machine's models; `live` returns the run that goes on, or the last.

        `build` returns the build that goes on.
        """
        self._write = write
        self._new_models = new_models
        self._live = live
        self._build = build
        self._loop = asyncio.get_running_loop()
        self._asked: dict[str, _Asked] = {}
        self._loading: dict[str, str] = {}  # questions that wait for a module to be read, and their groups
        self._given_up: set[str] = set()  # of those
        self._reading: queue.SimpleQueue[_ToLoad | None] | None = None
        self._waiting: dict[LaneName, queue.SimpleQueue[_Asked | _Rest | None]] = {}
        self._threads: dict[LaneName | None, list[threading.Thread]] = {}  # None: what reads modules
        self._scratch: Path | None = None
        self._at_end = contextlib.ExitStack()

    def ask(self, id: str, name: str, given: Mapping[str, Any]) -> None:
        """Set a thread to answer; raises UsageError for what no query is.

        A query whose module was not read yet is begun when a thread has read it, so that others need not wait; what
        is wrong with it is told then.
        """
        if not id or id in self._asked or id in self._loading:
            in_use = "in use" if id else "empty"
            raise UsageError(f"ask: the id {id!r} is {in_use}", advice="Give each query its own.")
        group = name.partition(".")[0]
        if is_loaded(name) and group not in self._loading.values():  # else it would overtake an earlier one
            self._begin(id, name, given)
            return
        self._loading[id] = group
        if self._reading is None:
            self._reading = queue.SimpleQueue()
            self._threads[None] = [_started(self._read_modules, (self._reading,), "modules")]
        self._reading.put((id, name, given))

    def _begin(self, id: str, name: str, values: Mapping[str, Any]) -> None:
        query = find_query(name)
        asked = _Asked(id, query, arguments(query, values))
        self._asked[id] = asked
        self._lane(query.lane).put(asked)

    def _read_modules(self, reading: queue.SimpleQueue[_ToLoad | None]) -> None:
        while (asked := reading.get()) is not None:
            _read_module(asked[1])
            self._call(self._begin_loaded, *asked)
            if asked[1] in _ASKED_NEXT:
                _read_module(_ASKED_NEXT[asked[1]])

    def _begin_loaded(self, id: str, name: str, values: Mapping[str, Any]) -> None:
        """Begin a question whose module has been read, unless nothing more is answered."""
        if self._loading.pop(id, None) is None:
            return
        is_given_up = id in self._given_up
        self._given_up.discard(id)
        try:
            self._begin(id, name, values)
            if is_given_up:
                self.forget(id)
        except Exception as error:  # noqa: BLE001 - the outermost guard: the trace goes to stderr, the window lives
            self._write(failure_of(id, "ask", error, what=name).to_json())

    def forget(self, id: str) -> None:
        """Give up a question: it is not begun any more, or its answer is dropped. An unknown one is no error."""
        if id in self._loading:
            self._given_up.add(id)
        if (asked := self._asked.pop(id, None)) is not None and asked.query.lane != "edit":
            asked.forgotten.set()

    @contextlib.asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Keep every thread from answering, with its cases closed; questions wait until the block ends.

        Raises UsageError where a question takes long that is being answered.
        """
        arrived = asyncio.Semaphore(0)
        rest = _Rest(lambda: self._call(arrived.release))
        try:
            for lane, count in THREADS.items():
                waiting = self._lane(lane)
                for _ in range(count):  # a thread that has one waits, so each gets one
                    waiting.put(rest)
            try:
                async with asyncio.timeout(RESTING_SECONDS):
                    for _ in range(sum(THREADS.values())):
                        await arrived.acquire()
            except TimeoutError:
                message = "Redwell is busy with something that takes long, such as installing a model"
                raise UsageError(message, advice="Wait until it has finished, then try again.") from None
            yield
        finally:
            rest.over.set()

    async def close(self) -> None:
        """End the threads. Changes that were asked for are made first; what else is still waiting is not answered."""
        end = self._loop.time() + CHANGING_SECONDS
        self._give_up_readers()
        if self._reading is not None:
            self._reading.put(None)
            if self._loading:  # among them there may be changes
                await self._join((None,), end)
                await asyncio.sleep(0)  # they are begun in this loop
                self._give_up_readers()
        self._loading.clear()
        for lane, waiting in self._waiting.items():
            for _ in range(THREADS[lane]):
                waiting.put(None)
        await self._join(("edit",), end)
        await self._join(tuple(self._threads), self._loop.time() + CLOSING_SECONDS)
        self._at_end.close()

    def _give_up_readers(self) -> None:
        for asked in self._asked.values():
            if asked.query.lane != "edit":
                asked.forgotten.set()

    async def _join(self, lanes: Iterable[LaneName | None], end: float) -> None:
        for lane in lanes:
            for thread in self._threads.get(lane, ()):
                await asyncio.to_thread(thread.join, max(end - self._loop.time(), 0.0))

    def _lane(self, name: LaneName) -> queue.SimpleQueue[_Asked | _Rest | None]:
        """Return the queue of a lane; its threads start with its first question."""
        if name not in self._waiting:
            if self._scratch is None:
                self._scratch = self._at_end.enter_context(scratch_folder())
            self._waiting[name] = queue.SimpleQueue()
            for number in range(THREADS[name]):
                args = (self._waiting[name], self._scratch)
                self._threads.setdefault(name, []).append(_started(self._serve, args, f"{name} {number}"))
        return self._waiting[name]

    def _serve(self, waiting: queue.SimpleQueue[_Asked | _Rest | None], scratch: Path) -> None:
        def tell(event: Event) -> None:
            self._call(self._write, event.to_json())

        desk = Desk(scratch, tell, self._new_models, self._live, self._build)
        try:
            while (asked := waiting.get()) is not None:
                if isinstance(asked, _Rest):
                    desk.close()
                    asked.arrived()
                    asked.over.wait()
                    continue
                desk.question, desk.is_given_up = asked.id, asked.forgotten.is_set
                if not asked.forgotten.is_set():
                    self._finish(asked, _answer(asked, desk))
        finally:
            desk.close()

    def _finish(self, asked: _Asked, answer: Event) -> None:
        try:
            line = answer.to_json()
        except Exception as error:  # noqa: BLE001 - a guard: the thread lives, and answers the next question
            line = failure_of(asked.id, "ask", error, what=asked.query.name).to_json()
        if asked.query.lane == "edit" and isinstance(answer, Answered):
            changed = CaseChanged(str(asked.given.get("case", "")), asked.query.name).to_json()
            line = f"{line}\n{changed}"
        self._call(self._deliver, asked, line)

    def _deliver(self, asked: _Asked, line: str) -> None:
        self._asked.pop(asked.id, None)
        if not asked.forgotten.is_set():
            self._write(line)

    def _call(self, function: Callable[..., None], *args: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)


def _read_module(name: str) -> None:
    """Read the module of a query. What is wrong with it is told by who begins the query, and looks again."""
    try:
        find_query(name)
    except UsageError:
        pass
    except Exception:  # noqa: BLE001 - the thread lives: all other modules are read by it, too
        traceback.print_exc()


def _started(work: Callable[..., None], args: tuple[Any, ...], name: str) -> threading.Thread:
    thread = threading.Thread(target=work, args=args, name=name, daemon=True)
    thread.start()
    return thread


def _answer(asked: _Asked, desk: Desk) -> Event:
    try:
        return Answered(asked.id, asked.query.name, asked.query.ask(desk, asked.given))
    except Exception as error:  # noqa: BLE001 - the outermost guard: the trace goes to stderr, the window lives
        return failure_of(asked.id, "ask", error, what=asked.query.name)


def failure_of(id: str, command: str, error: Exception, *, what: str) -> CommandFailed:
    """Tell what a user can mend, and a refusal of the system by the file and what it said.

    Anything else is a defect, with its trace on stderr; `what` names in a sentence what it stopped: "the run", or a
    question.
    """
    if isinstance(error, OSError) and error.strerror:
        error = refusal(error)
    if isinstance(error, USER_ERRORS):
        need, path = (error.need, str(error.path)) if isinstance(error, OutsideBorders) else ("", "")
        return CommandFailed(id, command, str(error), error.advice, exit_code_of(error), need, path)
    traceback.print_exception(error)
    message = f"a defect of Redwell stopped {what}: {type(error).__name__}: {error}"
    return CommandFailed(id, command, message, "Please report it; the trace is in the log.", 1)
