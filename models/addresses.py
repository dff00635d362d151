"""Where a model may be asked: this machine, and elsewhere only what the user has allowed by name."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from models.errors import ModelError

MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class HostPort:
    """A host (name or IP address, an IPv6 one without brackets, lower case) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_host_port(text: str) -> HostPort:
    """Read `HOST:PORT` or `[IPV6]:PORT`; raises ModelError."""
    host, _, port = text.strip().rpartition(":")
    bare = host.removeprefix("[").removesuffix("]").lower()
    is_bracketed = host.startswith("[") and host.endswith("]")
    well_formed = _is_ipv6(bare) if is_bracketed or ":" in host else re.fullmatch(r"[a-z0-9]([a-z0-9._-]*)", bare)
    if not (well_formed and is_bracketed == (":" in bare) and re.fullmatch("[0-9]{1,5}", port)):
        raise ModelError(f"{text!r} is not an address", advice="Write HOST:PORT, such as 127.0.0.1:6379.")
    if not 1 <= int(port) <= MOST_PORT:
        raise ModelError(f"{text!r} has no valid port", advice=f"Ports go from 1 to {MOST_PORT}.")
    return HostPort(bare, int(port))


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine by its very form; no name is looked up, `localhost` is known."""
    if is_local_name(host):
        return True
    if "%" in host:  # an address of one network interface
        return False
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def is_local_name(host: str) -> bool:
    """Say whether a name means this machine wherever it is asked for (RFC 6761)."""
    name = host.lower().rstrip(".")
    return name == "localhost" or name.endswith(".localhost")


def read_allowed(texts: Iterable[str]) -> frozenset[HostPort]:
    """Read what the user allows (`--allow-host HOST:PORT`); raises ModelError."""
    return frozenset(read_host_port(text) for text in texts)


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False
