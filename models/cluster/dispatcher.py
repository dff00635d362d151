"""Spread requests over the workers of a cluster, and lose none when a worker dies.

A request goes where least is left to read: the characters that wait or run there, and those of its own prompt that
the worker has not read yet. So requests about one document meet at the worker that has read it, unless that one is
much busier. What waits in the driver may still be taken by a worker that has nothing to do.

When a worker dies, what it was asked is asked elsewhere, and a new worker takes its place. A request that was there
when two workers died runs alone from then on, so that it can take no other with it; if workers go on dying of it, it
fails. All methods belong to one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from models.errors import ModelCrashed, ModelError
from models.protocol import CHARACTERS_PER_TOKEN, Reply, Request, Segment
from models.replies import settle

# What is known of a worker: a process somewhere that answers with one model, and may die.


class WorkerLost(Exception):
    """A worker died or cannot be reached: what it was asked must be asked elsewhere. Never shown to a user."""


class Worker(Protocol):
    """One worker whose model is open. All but `close` raise WorkerLost, or a ModelError of the model."""

    @property
    def node(self) -> str:
        """Name the node it runs on, for people."""

    @property
    def context_tokens(self) -> int:
        """Return the context of its model."""

    async def ask(self, request: Request) -> Reply:
        """Answer a request; when cancelled, the worker stops working on it."""

    async def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text."""

    async def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of a whole prompt."""

    async def close(self) -> None:
        """End the process, whatever it does; raises nothing because it is gone already."""


StartWorker = Callable[[int], Awaitable[Worker]]
"""Start the worker of a place (0, 1, ...) and open its model.

Raises WorkerLost where another try may help, ModelError where none will (wrong weights, no memory, not allowed).
"""


# What each worker has read, so that requests which begin alike go to the worker that need not read it again.


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a prompt begins: `key` stands for its first segments, which have so many characters together."""

    key: bytes
    characters: int


def beginnings(segments: Sequence[Segment]) -> tuple[Beginning, ...]:
    """List the beginnings of a prompt that other requests may have too, the shortest first.

    They end at each segment up to the last shared one; where none is marked as shared, at the first.
    """
    last = max((i for i, segment in enumerate(segments) if segment.shared), default=0)
    starts, characters, so_far = [], 0, hashlib.sha256()
    for segment in segments[: last + 1]:
        text = segment.text.encode("utf-8", "surrogatepass")
        so_far.update(f"{segment.role} {len(text)}\n".encode() + text)
        characters += len(segment.text)
        starts.append(Beginning(so_far.digest(), characters))
    return tuple(starts)


class ReadPrefixes:
    """What one worker has read and probably still holds: the latest, up to a number of characters."""

    def __init__(self, most_characters: int) -> None:
        self._most = most_characters
        self._own: OrderedDict[bytes, int] = OrderedDict()
        self._characters = 0

    def match(self, steps: Sequence[Beginning]) -> int:
        """Return how many characters of the prompt need not be read again."""
        matched = 0
        for step in steps:
            if step.key not in self._own:
                break
            matched = step.characters
        return matched

    def add(self, steps: Sequence[Beginning]) -> None:
        """Remember what a prompt begins with. What is added or used last is forgotten last, and ends before starts."""
        lengths = zip(steps, (0, *(step.characters for step in steps)), strict=False)
        for step, before in reversed(list(lengths)):
            if step.key not in self._own:
                self._own[step.key] = step.characters - before
                self._characters += step.characters - before
            self._own.move_to_end(step.key)
        while self._characters > self._most and self._own:
            _, characters = self._own.popitem(last=False)
            self._characters -= characters

    def clear(self) -> None:
        """Forget all: the worker is gone."""
        self._own.clear()
        self._characters = 0


MOST_FAILED_STARTS = 3
MOST_FRUITLESS = 40
"""A place is given up after so many starts in a row that failed, or so many workers in a row that died without a reply.

The second is more than the requests of one worker: these may all be suspects, and each may cost a worker its turn.
"""

REPLY_CHARACTERS = 500
"""What a reply costs, in characters of prompt: 60 tokens at 90 a second take as long as reading 130 tokens."""

REREADING = 2
"""What a worker has read, another reads again only to be done sooner by this many times as much more."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class DispatchSettings:
    """How many requests one worker has at once, and how long to wait before a second start in vain; it doubles."""

    in_flight: int = 32
    patience_seconds: float = 0.5
    most_patience_seconds: float = 10.0


@dataclass(eq=False)
class _Place:
    """Where a worker lives, and the next one when it dies. `worker` None: it is being started, or given up."""

    number: int
    read: ReadPrefixes = field(default_factory=lambda: ReadPrefixes(0))
    worker: Worker | None = None
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: deque[Item] = field(default_factory=deque)
    running: dict[Item, None] = field(default_factory=dict)
    backlog: int = 0
    fruitless: int = 0
    given_up: ModelError | None = None
    keeper: asyncio.Task[None] | None = None


class Dispatcher:
    """Ask many workers as if they were one."""

    def __init__(self, start: StartWorker, places: int, *, settings: DispatchSettings, tell: Tell) -> None:
        """`tell` hears, in one sentence, of workers that die and places that are given up."""
        self._start = start
        self._settings = settings
        self._tell = tell
        self._places = [_Place(number) for number in range(places)]
        self._unplaced: deque[Item] = deque()
        self._changed = asyncio.Event()
        self._closed = False
        self.context_tokens = 0

    async def open(self) -> None:
        """Start the workers. Raises ModelError if a node cannot serve this model at all, or no worker starts."""
        for place in self._places:
            place.keeper = asyncio.create_task(self._keep(place))
            place.keeper.add_done_callback(partial(self._check_keeper, place))
        while not all(place.worker or place.given_up for place in self._places):
            await self._change()
        refused = [place.given_up for place in self._places if place.given_up]
        final = next((error for error in refused if not isinstance(error, ModelCrashed)), None)
        if final is None and len(refused) == len(self._places):
            final = refused[0]
        if final is not None:
            await self.close()
            raise final

    async def ask(self, request: Request) -> Reply:
        """Answer a request (models.protocol.ModelBackend.ask)."""
        self._check_open()
        item = Item(request, beginnings(request.segments), asyncio.get_running_loop().create_future())
        self._assign(item)
        try:
            return await item.future
        except asyncio.CancelledError:
            self._withdraw(item)
            raise

    async def count(self, work: Callable[[Worker], Awaitable[int]]) -> int:
        """Let a worker count something; another one if it dies."""
        while True:
            self._check_open()
            place = min(self._living(), key=lambda place: place.backlog, default=None)
            if place is None or place.worker is None:
                await self._change()
                continue
            worker = place.worker
            try:
                return await work(worker)
            except WorkerLost as loss:
                self._lose(place, worker, loss)

    async def close(self) -> None:
        """Fail what is under way and end the workers; idempotent."""
        if self._closed:
            return
        self._closed = True
        items = [*self._unplaced, *(item for place in self._places for item in (*place.running, *place.waiting))]
        for item in items:
            settle(item.future, ModelCrashed("the cluster was closed while this request was waiting"))
        tasks = [place.keeper for place in self._places if place.keeper]
        tasks += [item.task for item in items if item.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(place.worker.close() for place in self._places if place.worker))

    # Where requests go

    def _assign(self, item: Item, *, first: bool = False) -> None:
        """Put a request where it costs least; `first`: before what waits there, for it was asked before."""
        living = self._living()
        if not living:
            self._keep_unplaced(item)
            return
        most = max(place.read.match(item.steps) for place in living)
        place = min(
            living,
            key=lambda place: (
                place.backlog + self._cost(place, item) + REREADING * (most - place.read.match(item.steps))
            ),
        )
        self._take(place, item)
        # A suspect waits for the others: it may cost the next worker, too.
        (place.waiting.appendleft if first and not item.is_suspect else place.waiting.append)(item)
        self._fill(place)

    def _keep_unplaced(self, item: Item) -> None:
        errors = [place.given_up for place in self._places if place.given_up]
        if len(errors) == len(self._places):
            settle(item.future, _no_worker_left(errors[0]))
        else:
            self._unplaced.append(item)

    def _cost(self, place: _Place, item: Item) -> int:
        total = sum(len(segment.text) for segment in item.request.segments)
        return REPLY_CHARACTERS + total - place.read.match(item.steps)

    def _take(self, place: _Place, item: Item) -> None:
        item.cost = self._cost(place, item)
        place.backlog += item.cost
        place.read.add(item.steps)

    def _next(self, place: _Place) -> Item | None:
        """Take the next request for a worker, None if it has enough to do."""
        if place.worker is None or self._closed or len(place.running) >= self._settings.in_flight:
            return None
        if any(item.is_suspect for item in place.running):
            return None
        if not place.waiting and not self._steal(place):
            return None
        if place.waiting[0].is_suspect and place.running:
            return None
        return place.waiting.popleft()

    def _steal(self, place: _Place) -> bool:
        """Move a request here from the worker with most to do, if it would be done sooner."""
        others = [other for other in self._living() if other is not place and other.waiting]
        victim = max(others, key=lambda other: other.backlog, default=None)
        if victim is None:
            return False
        item = victim.waiting[-1]
        if place.backlog + self._cost(place, item) >= victim.backlog:
            return False
        victim.waiting.pop()
        victim.backlog -= item.cost
        self._take(place, item)
        place.waiting.append(item)
        return True

    def _fill(self, place: _Place) -> None:
        while (item := self._next(place)) is not None:
            place.running[item] = None
            item.task = asyncio.create_task(self._run(place, item))
            item.task.add_done_callback(partial(self._end, place, item))

    def _withdraw(self, item: Item) -> None:
        """Forget a request that nobody waits for."""
        if item.task is not None:
            item.task.cancel()
        with contextlib.suppress(ValueError):
            self._unplaced.remove(item)
        for place in self._places:
            if item in place.waiting:
                place.waiting.remove(item)
                place.backlog -= item.cost

    # What becomes of them

    async def _run(self, place: _Place, item: Item) -> None:
        worker = place.worker
        if worker is None:  # it died between being given this request and being asked
            self._release(place, item)
            self._assign(item, first=True)
            return
        outcome: Reply | Exception
        try:
            outcome = await worker.ask(item.request)
        except Exception as error:  # noqa: BLE001 - it belongs to who asked, as it would without a cluster
            outcome = error
        self._release(place, item)
        if isinstance(outcome, ModelCrashed):  # its process lives, and answers nothing any more
            outcome = WorkerLost(str(outcome))
        if isinstance(outcome, WorkerLost):
            self._lose(place, worker, outcome)
            self._ask_elsewhere(item)
            return
        if isinstance(outcome, Reply):
            place.fruitless = 0
        settle(item.future, outcome)

    def _end(self, place: _Place, item: Item, task: asyncio.Task[None]) -> None:
        """Go on with the next request, also where this one was cancelled before it began."""
        if item.task is task:
            self._release(place, item)
        self._fill(place)

    def _release(self, place: _Place, item: Item) -> None:
        item.task = None
        place.running.pop(item, None)
        place.backlog -= item.cost

    def _ask_elsewhere(self, item: Item) -> None:
        item.alone_deaths += item.is_suspect
        item.deaths += 1
        if item.alone_deaths >= MOST_ALONE:
            settle(item.future, poisonous(item))
        elif not item.future.done() and not self._closed:
            self._assign(item, first=True)

    def _lose(self, place: _Place, worker: Worker, loss: WorkerLost) -> None:
        """Take notice that a worker died: what waited for it waits elsewhere, and a new one is started."""
        if place.worker is not worker:
            return
        place.worker = None
        place.fruitless += 1
        place.gone.set()
        waiting, place.waiting = list(place.waiting), deque()
        place.backlog -= sum(item.cost for item in waiting)
        place.read.clear()
        if self._closed:
            return
        self._tell(f"A worker on node {worker.node} died ({loss}). What it was asked is asked elsewhere.")
        for item in waiting:
            self._assign(item)

    # The workers

    def _living(self) -> list[_Place]:
        return [place for place in self._places if place.worker]

    async def _keep(self, place: _Place) -> None:
        """Keep a worker in a place: start it, wait until it dies, start the next, until there is no sense in it."""
        failed_starts = 0
        while place.given_up is None:
            await asyncio.sleep(self._patience(max(failed_starts, place.fruitless)))
            try:
                worker = await self._start(place.number)
                await self._check_context(worker)
            except WorkerLost as loss:
                failed_starts += 1
                if failed_starts >= MOST_FAILED_STARTS:
                    self._give_up(place, ModelCrashed(f"a worker could not be started: {loss}"))
            except ModelError as error:
                self._give_up(place, error)
            else:
                failed_starts = 0
                await self._serve(place, worker)

    async def _serve(self, place: _Place, worker: Worker) -> None:
        place.read = ReadPrefixes(CHARACTERS_PER_TOKEN * worker.context_tokens)
        place.gone.clear()
        place.worker = worker
        self._announce()
        unplaced, self._unplaced = self._unplaced, deque()
        for item in unplaced:
            self._assign(item)
        self._fill(place)
        await place.gone.wait()
        await worker.close()
        if place.fruitless >= MOST_FRUITLESS:
            self._give_up(place, ModelCrashed(f"{place.fruitless} workers died one after the other without a reply"))

    def _check_keeper(self, place: _Place, task: asyncio.Task[None]) -> None:
        """Let nobody wait for a place whose keeper failed by a defect of ours."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._give_up(place, ModelCrashed(f"a worker could not be started: {type(error).__name__}: {error}"))

    def _patience(self, failures: int) -> float:
        seconds: float = self._settings.patience_seconds * 2 ** (failures - 2) if failures > 1 else 0.0
        return min(seconds, self._settings.most_patience_seconds)

    async def _check_context(self, worker: Worker) -> None:
        self.context_tokens = self.context_tokens or worker.context_tokens
        if worker.context_tokens != self.context_tokens:
            await worker.close()
            raise ModelError(
                f"on node {worker.node}: the model has a context of {worker.context_tokens} tokens, "
                f"but {self.context_tokens} elsewhere",
                advice="Set REDWELL_CONTEXT_TOKENS to what fits every node.",
            )

    def _give_up(self, place: _Place, error: ModelError) -> None:
        place.given_up = error
        if any(other.given_up is None for other in self._places):
            self._tell(f"The run goes on with fewer workers: {error}")
        else:
            unplaced, self._unplaced = self._unplaced, deque()
            for item in unplaced:
                settle(item.future, _no_worker_left(error))
        self._announce()

    async def _change(self) -> None:
        """Wait until a worker is ready or a place is given up; raises ModelError when none is left to wait for."""
        errors = [place.given_up for place in self._places if place.given_up]
        if len(errors) == len(self._places):
            raise _no_worker_left(errors[0])
        await self._changed.wait()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _check_open(self) -> None:
        if self._closed:
            raise ModelCrashed("the cluster is closed", advice="Run the command again: replies are kept.")


def _no_worker_left(error: ModelError) -> ModelCrashed:
    return ModelCrashed(
        f"no worker of the cluster is left: {error}",
        advice="See what the nodes lack, then run the command again: replies are kept.",
    )


ALONE_AFTER = 2
"""A request that was running when so many workers died runs alone from then on."""

MOST_ALONE = 3
"""A request fails when so many workers died while it ran alone."""


@dataclass(eq=False)
class Item:
    """A request under way. `deaths` counts the workers that died while it ran, `alone_deaths` those it had alone."""

    request: Request
    steps: tuple[Beginning, ...]
    future: asyncio.Future[Reply]
    deaths: int = 0
    alone_deaths: int = 0
    cost: int = 0
    task: asyncio.Task[None] | None = None

    @property
    def is_suspect(self) -> bool:
        """Say whether it must run alone."""
        return self.deaths >= ALONE_AFTER


def poisonous(item: Item) -> ModelCrashed:
    """Say that workers die of this request."""
    purpose = item.request.purpose
    what = " ".join(part for part in (purpose.operator, purpose.row_id) if part)
    return ModelCrashed(
        f"{item.deaths} workers died while they worked on this request{f' ({what})' if what else ''}, "
        f"{item.alone_deaths} of them on it alone",
        advice="Shorten the prompt or set max_tokens lower; look at the memory of the nodes.",
    )
