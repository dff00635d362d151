"""What of ours could leave this computer: open sockets, servers with a name, variables of the environment."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import psutil

from models.addresses import is_loopback
from models.servers.address import is_local, read_address
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
_SECRET = ("TOKEN", "KEY", "PROXY")


@dataclass(frozen=True, slots=True)
class OpenSocket:
    """A socket of a process of ours. `remote` is empty for one that only listens."""

    process: str
    pid: int
    local: str
    remote: str
    state: str
    leaves: bool


@dataclass(frozen=True, slots=True)
class NamedServer:
    """A server that the user gave a name; `leaves`: it is not on this machine."""

    name: str
    location: str
    leaves: bool


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that is set, what it means, and its value unless that may be secret."""

    name: str
    meaning: str
    value: str


def open_sockets(extra: Iterable[int] = ()) -> list[OpenSocket]:
    """List the sockets of this process, of all that it started, and of the processes `extra`."""
    me = psutil.Process()
    found = [me, *me.children(recursive=True)]
    known = {process.pid for process in found}
    for pid in extra:
        if pid not in known and psutil.pid_exists(pid):
            found.append(psutil.Process(pid))
    sockets: list[OpenSocket] = []
    for process in found:
        try:
            sockets += [_socket(process, each) for each in process.net_connections(kind="inet")]
        except psutil.NoSuchProcess:  # it ended meanwhile
            continue
    return sockets


def named_servers() -> list[NamedServer]:
    """List the servers with a name; raises ModelError where the list cannot be read."""
    return [NamedServer(s.name, s.location, not is_local(read_address(s.location))) for s in list_servers()]


def set_variables() -> list[Variable]:
    """List the variables of the environment that have to do with the network."""
    return [
        Variable(name, meaning, "(set)" if any(word in name for word in _SECRET) else os.environ[name])
        for name, meaning in VARIABLES.items()
        if os.environ.get(name)
    ]


def _socket(process: psutil.Process, found: Any) -> OpenSocket:
    local, remote = (f"{address.ip}:{address.port}" if address else "" for address in (found.laddr, found.raddr))
    host = found.raddr.ip if found.raddr else found.laddr.ip if found.laddr else "127.0.0.1"
    return OpenSocket(process.name(), process.pid, local, remote, str(found.status), not is_loopback(host))
