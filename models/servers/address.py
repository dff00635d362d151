"""Where a server is, and whether text may go there: this machine, or a host that the user has allowed by name.

A name is never looked up without permission, for the question alone would leave the machine. What is connected to is
the address found here, so that a name cannot mean one machine when it is checked and another when it is used.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from models.addresses import HostPort, is_local_name, is_loopback
from models.errors import AddressRefused, ModelError

SCHEMES = {"http": 80, "https": 443}
LOCAL_NAMES = ("127.0.0.1", "::1")
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """An OpenAI-compatible server. `path` is what its endpoints begin with; `model` "" means the only one it serves."""

    scheme: str
    host: str
    port: int
    path: str
    model: str = ""

    @property
    def place(self) -> str:
        """Name host and port, as `--allow-host` does."""
        return str(HostPort(self.host, self.port))

    @property
    def root(self) -> str:
        """Return the path before /v1, where servers keep what OpenAI's protocol does not have."""
        return self.path.removesuffix("/v1")

    def __str__(self) -> str:
        return f"{self.scheme}://{self.place}{self.path}" + (f"#{self.model}" if self.model else "")


def is_address(name: str) -> bool:
    """Say whether the name of a model is the address of a server."""
    return name.lower().startswith(("http://", "https://"))


def read_address(text: str) -> ServerAddress:
    """Read http://HOST:PORT/v1#MODEL; /v1 and #MODEL may be left out. Raises ModelError."""
    advice = "Write http://127.0.0.1:8080/v1, or http://127.0.0.1:8080/v1#MODEL where a server has several."
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ModelError(f"{text!r} is no address of a server: {error}", advice=advice) from error
    path = parts.path.rstrip("/")
    if parts.scheme not in SCHEMES or not parts.hostname or port == 0:
        raise ModelError(f"{text!r} is no address of a server", advice=advice)
    if parts.username is not None or parts.query or not _PATH.fullmatch(path) or ".." in path:
        reason = "it may have a host, a port, a path and a model, and no user, no query"
        raise ModelError(f"{text!r} is no address of a server: {reason}", advice=advice)
    return ServerAddress(
        parts.scheme, parts.hostname, port or SCHEMES[parts.scheme], path or "/v1", unquote(parts.fragment)
    )


def find_targets(address: ServerAddress, allowed: Collection[str] = ()) -> tuple[str, ...]:
    """Return the IP addresses to connect to, one after another.

    `allowed` are places, as ServerAddress.place names them, that the user permits. Raises AddressRefused for any other
    that is not on the loopback, ModelError if an allowed name cannot be resolved.
    """
    if is_local_name(address.host):
        return LOCAL_NAMES
    if is_loopback(address.host):
        return (address.host,)
    if address.place not in allowed:
        raise _refused(address)
    try:
        entries = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ModelError(
            f"the host of {address} cannot be found: {error.strerror}", advice="Check its name."
        ) from error
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))


def _refused(address: ServerAddress) -> AddressRefused:
    return AddressRefused(
        f"the server {address} is not on this machine, and text of your documents would be sent there",
        advice=f"If that is what you want: --allow-host {address.place} (it is recorded with the run). "
        "A server on this machine is http://127.0.0.1:PORT/v1.",
    )
