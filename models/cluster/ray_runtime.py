"""Ray: starts a cluster on this machine or joins one, and runs one model per actor. The only module that imports ray.

Ray listens on every network interface unless told otherwise, and lets whoever reaches it run code. A cluster that is
started here is bound to the loopback, has a password of its own, keeps its logs in a private folder that goes with
it, and reports nothing to its makers; what it really listens on is looked at before the first prompt.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from models.addresses import ClusterAddress, is_loopback, refusal
from models.cluster.dispatcher import StartWorker, WorkerLost
from models.cluster.node_model import NodeModel, Opened, OpenModel, redwell_version
from models.errors import AddressRefused, ModelError
from models.fence.process import need_network
from models.hardware import usable_cores
from models.protocol import ModelSpec, Reply, Request

LOOPBACK = "127.0.0.1"
START_SECONDS = 600.0
"""A worker that is not ready after this time counts as lost: the cluster may have no room for it, or load slowly."""

CLOSE_SECONDS = 10.0
KNOCK_SECONDS = 10.0
STARTS = 3
OBJECT_STORE_BYTES = 100 * 1024**2
"""Ray's shared memory: only long prompts pass through it, and none stays."""

CALLS_AT_ONCE = 1000
"""Calls that an actor lets run at once; how many it is given is the dispatcher's business."""

MUCH = 10_000
"""Cores that a local cluster says it has: who gets how many threads is decided here, not by Ray."""

_PASSWORD = secrets.token_hex(32)
"""One for this process: Ray reads it once."""


@dataclass(frozen=True, slots=True)
class Place:
    """Room for one worker. `node_id` is where it should run, empty for anywhere."""

    cores: int
    gpus: int = 0
    node_id: str = ""


class RayCluster:
    """A connection to a cluster. Make, use and close it in one thread, which lives as long."""

    def __init__(self, address: ClusterAddress, *, may_leave: bool) -> None:
        """Start a cluster or connect to one; `may_leave`: its nodes may be other machines.

        Raises AddressRefused if prompts would leave this machine and may not, ModelError if there is no cluster.
        """
        need_network("a cluster cannot be used", "Name it with --cluster, or in REDWELL_CLUSTER.")
        self._address = address
        self._may_leave = may_leave
        self._listened_before = _listening(psutil.Process())
        self._folder = _private_folder() if address.head is None else None
        self._left = contextlib.ExitStack()
        self._left.enter_context(_environment(address))
        import ray  # noqa: PLC0415 - after the environment, which it reads when it is imported

        self._ray = ray
        self._opening: dict[str, asyncio.Lock] = {}
        try:
            self._connect()
            for host in self.hosts():
                self._check_host(host)
            self._check_sockets()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the cluster; one that was started here ends, and its folder goes."""
        try:
            self._ray.shutdown()
        finally:
            self._left.close()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def hosts(self) -> list[str]:
        """Return the addresses of the nodes."""
        return sorted({str(node["NodeManagerAddress"]) for node in self._nodes()})

    def places(self, threads: int | None) -> list[Place]:
        """Decide where workers go: on this machine as many as were asked for, elsewhere one per node or graphics card.

        `threads` is what one of them uses; None: its share of the node's cores.
        """
        if self._address.head is None:
            share = threads or max(1, usable_cores() // self._address.workers)
            return [Place(share)] * self._address.workers
        places = [place for node in self._nodes() for place in _places_of(node, threads)]
        if not places:
            raise ModelError(f"the cluster {self._address} has no node with a free core")
        return places

    def starter(self, spec: ModelSpec, places: Sequence[Place], open_model: OpenModel) -> StartWorker:
        """Return what starts the worker of a place. Where nobody chose a context, all have that of the first."""
        latest = spec

        async def start(number: int) -> RayWorker:
            nonlocal latest
            place = places[number]
            actor = self._actor(place, open_model)
            try:
                async with asyncio.timeout(START_SECONDS):
                    worker = await self._open(actor, lambda: latest, place)
                latest = _with_context(latest, worker.context_tokens)
                return worker
            except TimeoutError as error:
                self._ray.kill(actor)
                raise WorkerLost(f"no node had {place.cores} cores free, or the model took too long to load") from error
            except BaseException:
                self._ray.kill(actor)
                raise

        return start

    def _connect(self) -> None:
        try:
            if self._folder is None:
                _knock(self._address)
                self._init(str(self._address), namespace="redwell")
            else:
                self._start(self._folder)
        except Exception as error:  # noqa: BLE001 - Ray raises this very class, where a node does not start
            raise ModelError(
                f"the cluster {self._address} cannot be used: {_reason(error)}",
                advice="Is it running, is this the same version of Ray and Python, and is RAY_AUTH_TOKEN set?",
            ) from error

    def _start(self, folder: Path) -> None:
        """Start a cluster here. On a machine with much else to do Ray may give up after half a minute: try again."""
        for tries_left in reversed(range(STARTS)):
            try:
                self._init(
                    "local",
                    num_cpus=MUCH,
                    include_dashboard=False,
                    object_store_memory=OBJECT_STORE_BYTES,
                    _node_ip_address=LOOPBACK,
                    _temp_dir=str(folder / "ray"),  # Ray opens this very folder to everyone
                )
                return
            except Exception:
                self._ray.shutdown()
                if not tries_left:
                    raise

    def _init(self, where: str, **options: Any) -> None:
        # By the client protocol the driver runs on the cluster, and gets no paths of this machine.
        job = {} if self._address.is_client else {"job_config": _job_config(self._ray)}
        self._ray.init(where, log_to_driver=False, logging_level=logging.ERROR, **job, **options)
        # It prints the death of a worker whatever it was told, to where the events of a run may go. The run warns, too.
        self._ray._private.worker.print_to_stdstream = _print_nothing

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"]]

    def _check_host(self, host: str) -> None:
        if not (is_loopback(host) or self._may_leave):
            raise refusal(self._address, host)

    def _check_sockets(self) -> None:
        """Look at what a cluster that was started here listens on: whoever gets through could run code here."""
        if self._address.head is not None:
            return
        process = psutil.Process()
        hosts = set(_listening(process)) - self._listened_before
        hosts.update(host for child in process.children(recursive=True) for host in _listening(child))
        if open_to := sorted(host for host in hosts if not is_loopback(host)):
            raise AddressRefused(
                f"Ray listens on {', '.join(open_to)}, not only on this machine's own {LOOPBACK}",
                advice="Ray was imported before Redwell could tell it not to: start the program anew.",
            )

    def _actor(self, place: Place, open_model: OpenModel) -> Any:
        options: dict[str, Any] = {
            "num_cpus": place.cores,
            "num_gpus": place.gpus,
            "max_restarts": 0,
            "max_task_retries": 0,
            "max_concurrency": CALLS_AT_ONCE,
        }
        if place.node_id:
            affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
            options["scheduling_strategy"] = affinity(place.node_id, soft=True)
        return self._ray.remote(RayNodeModel).options(**options).remote(open_model)

    async def _open(self, actor: Any, spec: Callable[[], ModelSpec], place: Place) -> RayWorker:
        host, name = await self._value(actor.where.remote())
        self._check_host(host)
        # One after the other on a node, so that each sees the memory that the one before has taken.
        async with self._opening.setdefault(host, asyncio.Lock()):
            opened: Opened = await self._value(actor.open.remote(spec(), name, place.cores))
        self._check_sockets()
        if opened.version != redwell_version():
            raise ModelError(
                f"node {name} has Redwell {opened.version or 'unknown'}, this machine {redwell_version() or 'unknown'}",
                advice="Install the same version on every node: they must put prompts in the same form.",
            )
        return RayWorker(self, actor, name, opened)

    async def _value(self, reference: Any) -> Any:
        """Wait for an answer of an actor; raises its ModelError, or WorkerLost."""
        answer = asyncio.ensure_future(reference)
        try:
            # Ray's client complains where its own future is cancelled, so that one goes on and is ignored.
            value = await asyncio.shield(answer)
        except asyncio.CancelledError:
            answer.add_done_callback(_ignore)
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.cancel(reference, recursive=False)
            raise
        except self._ray.exceptions.RayTaskError:
            raise  # a defect of ours, on the node
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise WorkerLost(_reason(error)) from error
        if isinstance(value, ModelError):
            raise value
        return value

    async def end(self, actor: Any) -> None:
        """Close an actor's model, then end it, in any case."""
        with contextlib.suppress(TimeoutError, self._ray.exceptions.RayError, ConnectionError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await actor.close.remote()
        with contextlib.suppress(self._ray.exceptions.RayError, ConnectionError):
            self._ray.kill(actor)


class RayNodeModel(NodeModel):
    """A NodeModel in an actor, which can say where it is."""

    async def where(self) -> tuple[str, str]:
        """Return the address of the node, and its name for people."""
        import ray  # noqa: PLC0415 - the actor's own

        host = ray.util.get_node_ip_address()
        return host, host if is_loopback(host) else f"{socket.gethostname()} ({host})"


@dataclass(frozen=True, slots=True)
class RayWorker:
    """An actor whose model is open (models.cluster.dispatcher.Worker)."""

    cluster: RayCluster
    actor: Any
    node: str
    opened: Opened

    @property
    def context_tokens(self) -> int:
        """Return the context of its model."""
        return self.opened.context_tokens

    async def ask(self, request: Request) -> Reply:
        """Answer a request."""
        reply: Reply = await self.cluster._value(self.actor.ask.remote(request))
        return reply

    async def count_tokens(self, text: str) -> int:
        """Count the tokens of plain text."""
        return int(await self.cluster._value(self.actor.count_tokens.remote(text)))

    async def count_prompt_tokens(self, request: Request) -> int:
        """Count the tokens of a whole prompt."""
        return int(await self.cluster._value(self.actor.count_prompt_tokens.remote(request)))

    async def close(self) -> None:
        """End the actor."""
        await self.cluster.end(self.actor)


def _print_nothing(data: Mapping[str, Any], ignore_prefix: bool) -> None:
    """Take the place of what Ray prints by."""


@contextlib.contextmanager
def _environment(address: ClusterAddress) -> Iterator[None]:
    """Set what Ray reads from the environment, for as long as the cluster is used."""
    values = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_SCHEDULER_EVENTS": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    if address.head is None or is_loopback(address.head.host):
        # Despite its name, this is what keeps Ray on the loopback, on Linux as well: with 0 it takes 127.0.0.1 for its
        # own address, where it would look for one that other machines can reach.
        values["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    if address.head is None:
        values |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _PASSWORD}
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _knock(address: ClusterAddress) -> None:
    """Raise OSError unless somebody answers there: Ray would try for minutes."""
    if address.head is not None:
        socket.create_connection((address.head.host, address.head.port), timeout=KNOCK_SECONDS).close()


def _private_folder() -> Path:
    """Make a folder that only this user can read. Its path is short: sockets lie in it (107 at most)."""
    return Path(tempfile.mkdtemp(prefix="redwell-ray-", dir="/tmp" if Path("/tmp").is_dir() else None))


def _with_context(spec: ModelSpec, context_tokens: int) -> ModelSpec:
    """Ask for the context that the first worker has: left to itself, each takes what fits its memory."""
    if spec.runtime != "llama" or spec.settings.get("context_tokens"):
        return spec
    return replace(spec, settings={**spec.settings, "context_tokens": context_tokens})


def _places_of(node: dict[str, Any], threads: int | None) -> list[Place]:
    """One worker per graphics card of a node, or one for all its cores."""
    resources = node["Resources"]
    cores, gpus = int(resources.get("CPU", 0)), int(resources.get("GPU", 0))
    if cores < 1:
        return []
    workers = max(1, gpus)
    share = min(cores, threads) if threads else max(1, cores // workers)
    return [Place(share, min(1, gpus), str(node["NodeID"]))] * workers


def _listening(process: psutil.Process) -> set[str]:
    """Return the addresses that a process listens on."""
    try:
        connections = process.net_connections("inet")
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return set()
    return {connection.laddr.ip for connection in connections if connection.status == psutil.CONN_LISTEN}


def _job_config(ray: Any) -> Any:
    """Describe this run to Ray, so that workers do not look for modules in the current folder, or the program's.

    Ray puts both first in their search path. The current folder may be one of records, and hold a numpy.py.
    """

    class NoPaths(ray.job_config.JobConfig):  # type: ignore[misc]
        def _runtime_env_has_working_dir(self) -> bool:
            return True

    return NoPaths()


def _ignore(answer: asyncio.Future[Any]) -> None:
    if not answer.cancelled():
        answer.exception()


def _reason(error: BaseException) -> str:
    """Return the line of Ray's long messages that says why: the last one, as in a traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].split(" Worker exit type:")[0] if lines else type(error).__name__
