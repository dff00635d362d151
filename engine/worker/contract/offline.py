"""What is known of whether anything could have left this computer, or did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.fencing import State
from engine.worker.contract.query import Query
from models.check import Check
from models.fence.attempt import Outcome

__all__ = ["Check"]


@dataclass(frozen=True, slots=True)
class LiveProcess:
    """A process of ours that runs now, and whether the kernel refuses it the network; if not, `why`."""

    kind: str
    pid: int
    state: State
    why: str


@dataclass(frozen=True, slots=True)
class Tried:
    """What one kind of process got when it asked for a socket.

    `at` is UTC, empty where nothing was tried in the life of this worker. `outcome` is "untried" then, too, and where
    it could not be found out; `answer` says why.
    """

    kind: str
    outcome: Outcome | Literal["untried"]
    answer: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class Allowed:
    """A job of a case with `--allow-host`. `what` is a run with its id, a build, a trial or a rerun; `at` is UTC.

    `replies` counts those that a run got, from whatever model; None where that is not known.
    """

    what: str
    hosts: tuple[str, ...]
    at: str
    replies: int | None


@dataclass(frozen=True, slots=True)
class OpenSocket:
    """A socket of a process of ours. `remote` is empty for one that only listens.

    `leaves` is None where the system does not say which sockets the process has.
    """

    process: str
    pid: int
    local: str
    remote: str
    state: str
    leaves: bool | None


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


@dataclass(frozen=True, slots=True)
class OfflineState:
    """What is so now, was tried and was kept. `missing`: what this machine cannot refuse to a process.

    `allowed` is what the open case says was allowed to go elsewhere; None where no case is open, it cannot be read, or
    its log is not what it was, as `why_not_allowed` says then. Of the window only the sockets are here: it asks for a
    socket itself.
    """

    processes: tuple[LiveProcess, ...]
    missing: tuple[str, ...]
    tried: tuple[Tried, ...]
    allowed: tuple[Allowed, ...] | None
    why_not_allowed: str
    sockets: tuple[OpenSocket, ...]
    servers: tuple[NamedServer, ...]
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class IsolatedCheck:
    """What came of it. `was_possible` is False where the system does not let us make a network namespace; `why`."""

    was_possible: bool
    why: str
    checks: tuple[Check, ...] = ()


PROCESSES = Query[list[LiveProcess]]("offline.processes")
STATE = Query[OfflineState]("offline.state")
TRY = Query[OfflineState]("offline.try")
WORK = Query[IsolatedCheck]("offline.work")
