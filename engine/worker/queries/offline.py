"""Whether anything could have left this computer, as far as that can be seen."""

from __future__ import annotations

import os
from dataclasses import dataclass

from engine.worker.connections import (
    NamedServer,
    OpenSocket,
    Variable,
    named_servers,
    open_sockets,
    set_variables,
)
from engine.worker.isolated_check import IsolatedCheck, check_isolated
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query


@dataclass(frozen=True, slots=True)
class OfflineReport:
    """What was looked at. `leaves`: a socket or a server with a name that is not on this computer."""

    sockets: tuple[OpenSocket, ...]
    servers: tuple[NamedServer, ...]
    variables: tuple[Variable, ...]
    isolated: IsolatedCheck
    leaves: bool


@query("offline.test", lane="slow")
def test(desk: Desk) -> OfflineReport:
    """Look at what is open now (the window too), and work in a process without network; takes some seconds."""
    sockets, servers = open_sockets([os.getppid()]), named_servers()
    leaves = any(each.leaves for each in sockets) or any(each.leaves for each in servers)
    return OfflineReport(tuple(sockets), tuple(servers), tuple(set_variables()), check_isolated(), leaves)
