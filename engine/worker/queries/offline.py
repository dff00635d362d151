"""What is known of whether anything could have left this computer, or did."""

from __future__ import annotations

import os
from dataclasses import dataclass

from engine.worker.allowed import Allowed, allowed_in
from engine.worker.attempts import Tried, attempts_so_far, try_each_kind
from engine.worker.connections import (
    LiveProcess,
    NamedServer,
    OpenSocket,
    Variable,
    live_processes,
    named_servers,
    open_sockets,
    set_variables,
)
from engine.worker.isolated_check import IsolatedCheck, check_isolated
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from models.fence.process import missing_guards
from storage.errors import CustodyBroken


@dataclass(frozen=True, slots=True)
class OfflineState:
    """What is so now, was tried and was kept. `missing`: what this machine cannot refuse to a process.

    `allowed` is what the open case says was allowed to go elsewhere; None where no case is open, or its log is not what
    it was, as `why_not_allowed` says then. Of the window only the sockets are here: it asks for a socket itself.
    """

    processes: tuple[LiveProcess, ...]
    missing: tuple[str, ...]
    tried: tuple[Tried, ...]
    allowed: tuple[Allowed, ...] | None
    why_not_allowed: str
    sockets: tuple[OpenSocket, ...]
    servers: tuple[NamedServer, ...]
    variables: tuple[Variable, ...]


@query("offline.processes", lane="slow")
def processes(desk: Desk) -> list[LiveProcess]:
    """Say whether the kernel refuses the network to this worker and what it started; takes milliseconds."""
    return live_processes()


@query("offline.state", lane="slow")
def state(desk: Desk, *, case: str = "") -> OfflineState:
    """Say what is known, without trying anything; takes milliseconds."""
    allowed, why_not = _allowed(desk, case)
    return OfflineState(
        processes=tuple(live_processes()),
        missing=tuple(missing_guards()),
        tried=tuple(attempts_so_far()),
        allowed=allowed,
        why_not_allowed=why_not,
        sockets=tuple(open_sockets([os.getppid()])),
        servers=tuple(named_servers()),
        variables=tuple(set_variables()),
    )


@query("offline.try", lane="slow")
def attempt(desk: Desk, *, case: str = "") -> OfflineState:
    """Have a process of each kind ask for a socket, then say what is known; takes some seconds, loads no model."""
    try_each_kind()
    return state(desk, case=case)


@query("offline.work", lane="slow")
def work(desk: Desk) -> IsolatedCheck:
    """Read a picture and ask the smallest model in a process without network; takes some seconds to a minute."""
    return check_isolated()


def _allowed(desk: Desk, case: str) -> tuple[tuple[Allowed, ...] | None, str]:
    if not case:
        return None, "no case is open"
    try:
        return tuple(allowed_in(desk.reading(case))), ""
    except CustodyBroken as error:
        return None, str(error)
