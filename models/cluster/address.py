"""Which cluster: one that is started on this machine, or one that runs already."""

from __future__ import annotations

import re
from dataclasses import dataclass

from models.addresses import HostPort, read_host_port
from models.errors import AddressRefused, ModelError

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
