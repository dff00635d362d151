"""Servers that the user has given a name (`redwell models add ADDRESS --name NAME`), in servers.json of the cache."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.cache_place import cache_folder, write_private
from models.errors import ModelError, ModelMissing
from models.servers.address import is_address, read_address

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class RememberedServer:
    """A server by name. `settings` are fields of models.servers.backend.ServerSettings that differ from the defaults.

    `told` is what it said of itself when it was added, for `models list`.
    """

    name: str
    location: str
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    told: str = ""


def servers_file() -> Path:
    """Return where the names are kept; it may not exist yet."""
    return cache_folder() / "servers.json"


def list_servers() -> list[RememberedServer]:
    """List the servers that have a name, in its order; raises ModelError if the file cannot be read."""
    try:
        body = servers_file().read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ModelError(
            f"{servers_file()} cannot be read: {error.strerror or error}",
            advice="REDWELL_CACHE must name a folder, and the file must be yours.",
        ) from error
    try:
        return [RememberedServer(**entry) for entry in json.loads(body)]
    except (ValueError, TypeError) as error:
        raise ModelError(
            f"{servers_file()} cannot be read: {error}", advice="Remove it, and add the servers again."
        ) from error


def find_server(name: str) -> RememberedServer | None:
    """Find the server that a model's name means: an address, or a name that was given to one; None for other models.

    Raises ModelError for an address that is none.
    """
    if is_address(name):
        read_address(name)
        return RememberedServer("", name)
    return next((server for server in list_servers() if server.name == name), None)


def check_name(name: str) -> None:
    """Refuse what is no name for a server; raises ModelError."""
    if not _NAME.fullmatch(name) or name.endswith(".gguf"):
        advice = "Use letters, digits, dots, dashes and underscores."
        raise ModelError(f"{name!r} is no name for a server", advice=advice)


def remember(server: RememberedServer) -> None:
    """Keep a server under its name, in place of one that had it. Raises ModelError."""
    check_name(server.name)
    others = [known for known in list_servers() if known.name != server.name]
    _write([*others, server])


def forget(name: str) -> None:
    """Forget a server; raises ModelMissing when there is none of that name."""
    known = list_servers()
    if name not in [server.name for server in known]:
        names = ", ".join(server.name for server in known) or "none"
        raise ModelMissing(f"there is no server {name!r}", advice=f"Servers: {names}.")
    _write([server for server in known if server.name != name])


def _write(servers: list[RememberedServer]) -> None:
    body = [dataclasses.asdict(server) for server in sorted(servers, key=lambda server: server.name)]
    write_private(servers_file(), json.dumps(body, indent=1, ensure_ascii=False) + "\n")
