"""What of ours could leave this computer: open sockets, servers with a name, variables of the environment."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from typing import Any

import psutil

from engine.fencing import State, this_process
from engine.worker.contract.offline import LiveProcess, NamedServer, OpenSocket, Variable
from models.addresses import is_loopback
from models.fence.process import fence_of
from models.servers.address import read_address
from models.servers.remembered import list_servers

VARIABLES: Mapping[str, str] = {
    "HF_HUB_OFFLINE": "keeps libraries from asking a model hub",
    "TRANSFORMERS_OFFLINE": "keeps libraries from asking a model hub",
    "HF_ENDPOINT": "another hub for libraries; Redwell asks none",
    "HF_TOKEN": "a key for a hub; Redwell uses none",
    "REDWELL_HUB": "the hub of `models get --online`",
    "REDWELL_CLUSTER": "models run on a cluster",
    "REDWELL_SERVER_KEY": "a key for a model's server",
    "HTTP_PROXY": "the way of other programs to the network",
    "HTTPS_PROXY": "the way of other programs to the network",
}
_KINDS: Mapping[str, str] = {
    "engine.documents.child": "reads files",
    "engine.code.child": "runs code of a pipeline",
    "models.isolation.child": "runs a model",
    "engine.cli.serving": "the worker",
    "-m desktop": "the window",
    "systemd-inhibit": "keeps the computer awake",
}
"""Part of a command line -> what the process is for."""

_SECRET = ("TOKEN", "KEY", "PROXY")


def open_sockets(extra: Iterable[int] = ()) -> list[OpenSocket]:
    """List the sockets of this process, of all that it started, and of the processes `extra`.

    A process that is closed to others is closed to this one, too: what the kernel fences has none, of others it is said
    that nobody knows.
    """
    sockets: list[OpenSocket] = []
    for process in _processes(extra):
        try:
            sockets += [_socket(process, each) for each in process.net_connections(kind="inet")]
        except psutil.NoSuchProcess:  # it ended meanwhile
            continue
        except psutil.AccessDenied:
            if not fence_of(process.pid).network:
                sockets.append(OpenSocket(_kind_of(process), process.pid, "", "", "", None))
    return sockets


def live_processes() -> list[LiveProcess]:
    """List this process and all that it started, and whether the kernel refuses them the network.

    The kernel tells (models.fence.process.fence_of).
    """
    live = [LiveProcess("the worker", os.getpid(), *this_process())]
    for process in psutil.Process().children(recursive=True):
        kind, fence = _kind_of(process), fence_of(process.pid)
        state: State = "refused" if fence.network else "allowed" if fence.is_known else "unknown"
        if psutil.pid_exists(process.pid):
            live.append(LiveProcess(kind, process.pid, state, fence.why))
    return live


def _kind_of(process: psutil.Process) -> str:
    """Say what a process of ours is for, by its command line."""
    try:
        line = " ".join(process.cmdline())
    except psutil.Error:
        return "a process that the system does not describe"
    return next((kind for part, kind in _KINDS.items() if part in line), "another program")


def _processes(extra: Iterable[int]) -> list[psutil.Process]:
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    known = {process.pid for process in processes}
    for pid in extra:
        with contextlib.suppress(psutil.NoSuchProcess):
            processes += [psutil.Process(pid)] if pid not in known else []
    return processes


def named_servers() -> list[NamedServer]:
    """List the servers with a name; raises ModelError where the list cannot be read."""
    return [NamedServer(s.name, s.location, not is_loopback(read_address(s.location).host)) for s in list_servers()]


def set_variables() -> list[Variable]:
    """List the variables of the environment that have to do with the network."""
    return [
        Variable(name, meaning, "(set)" if any(word in name for word in _SECRET) else os.environ[name])
        for name, meaning in VARIABLES.items()
        if os.environ.get(name)
    ]


def _socket(process: psutil.Process, connection: Any) -> OpenSocket:
    local, remote = (
        f"{address.ip}:{address.port}" if address else "" for address in (connection.laddr, connection.raddr)
    )
    host = connection.raddr.ip if connection.raddr else connection.laddr.ip if connection.laddr else "127.0.0.1"
    return OpenSocket(process.name(), process.pid, local, remote, str(connection.status), not is_loopback(host))
