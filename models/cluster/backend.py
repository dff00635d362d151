"""A cluster as the engine sees it: a model like any other (models.protocol.ModelBackend)."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from models.addresses import ClusterAddress, HostPort, is_loopback, refusal
from models.cluster.dispatcher import Dispatcher, DispatchSettings, Worker
from models.cluster.node_model import OpenModel
from models.errors import ModelCrashed, RuntimeMissing
from models.layouts import DEFAULT_LAYOUT
from models.notices import Caution, Notices, Tell
from models.opening import open_here
from models.protocol import ModelSpec, Reply, Request
from models.wrapped import KeptCounts

if TYPE_CHECKING:
    from models.cluster.ray_runtime import RayCluster

IN_FLIGHT_PER_SEQUENCE = 2
"""Requests at a worker for each that its model answers at once: the next ones are there when one ends."""

Value = TypeVar("Value")


class Cluster:
    """The cluster of one run; opens its models. It is entered with the first model and left with the last."""

    def __init__(
        self, address: ClusterAddress, *, allowed: Iterable[HostPort] = (), open_model: OpenModel = open_here
    ) -> None:
        """Choose a cluster. `allowed`: addresses beyond this machine; `open_model` runs on the nodes.

        Raises AddressRefused for a cluster elsewhere that is not allowed, RuntimeMissing without Ray.
        """
        self.address = address
        self._allowed = address.head is not None and address.head in frozenset(allowed)
        self._open_model = open_model
        self._turn = threading.Lock()
        self._open = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._runtime: RayCluster | None = None
        if address.head is not None and not is_loopback(address.head.host) and not self._allowed:
            raise refusal(address, address.head.host)
        if importlib.util.find_spec("ray") is None:
            raise RuntimeMissing(
                f"the cluster {address} needs Ray, which is not installed",
                advice="In a clone of Redwell, `.venv/bin/pip install -e '.[ray]'` installs it.",
            )

    def open(self, spec: ModelSpec, settings: DispatchSettings | None = None) -> ClusterBackend:
        """Open a model on every worker; blocks until all are ready. Raises ModelError."""
        with self._turn:
            self._enter()
            try:
                return self._open_backend(_settled(spec), settings)
            except BaseException:
                self._leave()
                raise

    def release(self) -> None:
        """Count one model less; the last one stops the cluster if it was started here."""
        with self._turn:
            self._leave()

    def call(self, work: Coroutine[Any, Any, Value]) -> Future[Value]:
        """Run something on the cluster's own event loop."""
        if self._loop is None:
            work.close()
            raise ModelCrashed("the cluster is closed", advice="Run the command again: replies are kept.")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _open_backend(self, spec: ModelSpec, settings: DispatchSettings | None) -> ClusterBackend:
        runtime = self._runtime
        if runtime is None:
            raise ModelCrashed("the cluster is closed")
        notices = Notices()
        settings = settings or DispatchSettings(in_flight=_in_flight(spec))

        async def begin() -> Dispatcher:
            places = runtime.places(spec.settings.get("threads"))
            if self._allowed:
                hosts = ", ".join(runtime.hosts())
                notices.tell(Caution(f"Prompts go to the cluster {self.address}, which was allowed: {hosts}."))
            start = runtime.starter(spec, places, self._open_model)
            dispatcher = Dispatcher(
                start, len(places), settings=settings, tell=lambda text: notices.tell(Caution(text))
            )
            await dispatcher.open()
            return dispatcher

        return ClusterBackend(self, spec, self.call(begin()).result(), notices)

    def _enter(self) -> None:
        self._open += 1
        if self._thread is not None:
            return
        ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._live, args=(ready,), name=f"cluster {self.address}", daemon=True)
        self._thread.start()
        ready.result()

    def _leave(self) -> None:
        self._open -= 1
        if self._open or self._thread is None:
            return
        thread, self._thread = self._thread, None
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
        thread.join()

    def _live(self, ready: Future[None]) -> None:
        """Hold the cluster for as long as a model of it is open.

        One thread does it all, for what Ray starts ends with the thread that started it.
        """
        from models.cluster.ray_runtime import RayCluster  # noqa: PLC0415 - ray

        loop = asyncio.new_event_loop()
        try:
            runtime = RayCluster(self.address, may_leave=self._allowed)
        except BaseException as error:  # noqa: BLE001 - raised where the model is opened
            loop.close()
            ready.set_exception(error)
            return
        self._runtime, self._loop = runtime, loop
        ready.set_result(None)
        try:
            loop.run_forever()
        finally:
            self._runtime, self._loop = None, None
            try:
                loop.run_until_complete(_end_tasks())
            finally:
                runtime.close()
                loop.close()


class ClusterBackend:
    """A model whose requests go to the workers of a cluster (models.protocol.ModelBackend)."""

    def __init__(self, cluster: Cluster, spec: ModelSpec, dispatcher: Dispatcher, notices: Notices) -> None:
        """Take over a dispatcher whose workers are ready."""
        self.digest = spec.digest
        self.name = spec.name
        self.layout = str(spec.settings.get("layout") or DEFAULT_LAYOUT)
        self.context_tokens = dispatcher.context_tokens
        self._cluster = cluster
        self._dispatcher = dispatcher
        self._notices = notices
        self._closed = False
        self._counts = KeptCounts()

    def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text; a worker is asked."""
        return self._counts.of_text(text, lambda: self._count(lambda worker: worker.count_tokens(text)))

    def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of the whole prompt; a worker is asked."""
        return self._counts.of_prompt(request, lambda: self._count(lambda worker: worker.count_prompt_tokens(request)))

    async def ask(self, request: Request) -> Reply:
        """Answer one request (see ModelBackend.ask)."""
        self._check_open()
        return await asyncio.wrap_future(self._cluster.call(self._dispatcher.ask(request)))

    async def close(self) -> None:
        """End the workers; requests in flight fail. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            await asyncio.wrap_future(self._cluster.call(self._dispatcher.close()))
        finally:
            await asyncio.to_thread(self._cluster.release)

    def watch(self, tell: Tell) -> None:
        """Call `tell` with what a user should know, such as that a node died (GivesNotice)."""
        self._notices.watch(tell)

    def _check_open(self) -> None:
        if self._closed:
            raise ModelCrashed(f"the model {self.name} is closed", advice="Run the command again: replies are kept.")

    def _count(self, work: Callable[[Worker], Awaitable[int]]) -> int:
        self._check_open()
        return self._cluster.call(self._dispatcher.count(work)).result()


async def _end_tasks() -> None:
    """Let nothing wait for a loop that has stopped."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _settled(spec: ModelSpec) -> ModelSpec:
    """Read this machine's settings (REDWELL_CONTEXT_TOKENS, ...) into the spec, so that every node uses the same."""
    if spec.runtime != "llama":
        return spec
    from models.llama_runtime import LlamaSettings  # noqa: PLC0415 - the runtime

    settings = LlamaSettings.from_environment(**spec.settings)
    alike = {name: getattr(settings, name) for name in ("context_tokens", "running", "threads", "layout")}
    return replace(spec, settings={**spec.settings, **alike})


def _in_flight(spec: ModelSpec) -> int:
    return IN_FLIGHT_PER_SEQUENCE * int(spec.settings.get("running", 16))
