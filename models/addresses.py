"""Where a model may be asked: this machine, and elsewhere only what the user has allowed by name."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from models.errors import AddressRefused, ModelError

# Which cluster: one that is started on this machine, or one that runs already.

LOCAL_WORKERS = 2
MOST_LOCAL_WORKERS = 256
CLIENT = "ray://"
FORMS = "Write local, local:2 (two processes on this machine), HOST:PORT or ray://HOST:PORT."


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """A cluster to use. `head` None: start one on this machine, for this run, with `workers` processes.

    Else `head` is where a running cluster is asked, and `is_client` says that it is by Ray's client protocol
    (`ray://`), from a machine that is not a node of the cluster.
    """

    head: HostPort | None = None
    workers: int = LOCAL_WORKERS
    is_client: bool = False

    def __str__(self) -> str:
        if self.head is None:
            return f"local:{self.workers}"
        return f"{CLIENT if self.is_client else ''}{self.head}"


def read_cluster(text: str) -> ClusterAddress:
    """Read `local`, `local:N`, `HOST:PORT` or `ray://HOST:PORT`; raises ModelError."""
    text = text.strip()
    local = re.fullmatch(r"local(?::([0-9]{1,4}))?", text)
    if local:
        workers = int(local[1]) if local[1] else LOCAL_WORKERS
        if not 1 <= workers <= MOST_LOCAL_WORKERS:
            raise ModelError(
                f"{text!r} asks for {workers} processes", advice=f"Write local:1 to local:{MOST_LOCAL_WORKERS}."
            )
        return ClusterAddress(workers=workers)
    try:
        return ClusterAddress(read_host_port(text.removeprefix(CLIENT)), is_client=text.startswith(CLIENT))
    except ModelError as error:
        raise ModelError(f"{text!r} is not a cluster", advice=FORMS) from error


def refusal(address: ClusterAddress, host: str) -> AddressRefused:
    """Say that prompts would leave this machine."""
    return AddressRefused(
        f"the cluster {address} is not on this machine alone ({host}): prompts, with the text of your records, "
        "would go there",
        advice=f"If that is what you want, allow it: --allow-host {address.head}. It is recorded with the run.",
    )


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
