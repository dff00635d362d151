"""What is known of whether anything could have left this computer, or did."""

from __future__ import annotations

import os

from engine.worker.allowed import allowed_in
from engine.worker.attempts import attempts_so_far, try_each_kind
from engine.worker.connections import live_processes, named_servers, open_sockets, set_variables
from engine.worker.contract import offline as contract
from engine.worker.contract.offline import Allowed, IsolatedCheck, LiveProcess, OfflineState
from engine.worker.isolated_check import check_isolated
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from models.fence.process import missing_guards
from storage.errors import StorageError


@query(contract.PROCESSES, lane="slow")
def processes(desk: Desk) -> list[LiveProcess]:
    """Say whether the kernel refuses the network to this worker and what it started; takes milliseconds."""
    return live_processes()


@query(contract.STATE, lane="slow")
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


@query(contract.TRY, lane="slow")
def attempt(desk: Desk, *, case: str = "") -> OfflineState:
    """Have a process of each kind ask for a socket, then say what is known; takes some seconds, loads no model."""
    try_each_kind()
    return state(desk, case=case)


@query(contract.WORK, lane="slow")
def work(desk: Desk) -> IsolatedCheck:
    """Read a picture and ask the smallest model in a process without network; takes some seconds to a minute."""
    return check_isolated()


def _allowed(desk: Desk, case: str) -> tuple[tuple[Allowed, ...] | None, str]:
    if not case:
        return None, "no case is open"
    try:
        return tuple(allowed_in(desk.reading(case))), ""
    except StorageError as error:  # what is known of this machine is said all the same
        return None, str(error)
