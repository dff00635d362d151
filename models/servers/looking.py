"""Look at a server without opening it: does it answer, what does it serve. No token is sampled."""

from __future__ import annotations

import os
from collections.abc import Collection

from models.servers.address import find_targets, read_address
from models.servers.backend import KEY_VARIABLE
from models.servers.facts import ServerFacts, look_at
from models.servers.http import Http


def look_at_server(location: str, allowed: Collection[str] = ()) -> ServerFacts:
    """Ask a server what it is, within seconds; raises ModelError as `look_at`, or AddressRefused."""
    address = read_address(location)
    http = Http(address, find_targets(address, allowed), key=os.environ.get(KEY_VARIABLE, ""))
    try:
        return http.wait_for(look_at(http, allowed=tuple(allowed)))
    finally:
        http.close()
