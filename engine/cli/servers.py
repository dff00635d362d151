"""Models behind a server, in `redwell models`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.padding import Padding

from engine.cli.console import messages, one_line, output, styled
from engine.cli.local_models import is_here
from engine.errors import UsageError
from engine.worker.health import server_state
from models.addresses import read_allowed
from models.catalog import catalog
from models.servers.remembered import RememberedServer, check_name, forget, list_servers, remember

SchemaModeOption = Annotated[
    str | None,
    typer.Option(
        "--schema-mode",
        metavar="MODE",
        help="How a server is held to schemas: json_schema, json_object or prompt; tried out if not given.",
    ),
]
ContextOption = Annotated[
    int | None,
    typer.Option("--context-tokens", min=512, metavar="N", help="A server's context, where it does not say."),
]
RequestsOption = Annotated[
    int | None,
    typer.Option("--requests", min=1, max=1024, metavar="N", help="How many requests a server gets at once."),
]


def add(address: str, name: str, settings: dict[str, Any], allowed: Sequence[str]) -> None:
    """Connect to a server, show what it is, and keep it under a name. Raises UsageError or ModelError."""
    _check_name(address, name)
    with messages().status(f"asking {one_line(address)} …"):
        description, warnings = _try_out(address, name, settings, allowed)
    remember(RememberedServer(name, address, settings, description))
    console = output()
    console.print(styled((one_line(name), "bold"), f": {one_line(description)}"), soft_wrap=True)
    for warning in warnings:
        console.print(styled(("note ", "yellow"), one_line(warning)), soft_wrap=True)
    console.print(f"use it with: --model {one_line(name)}", soft_wrap=True)


def remove(name: str) -> bool:
    """Forget a server and say so; False if there is none of that name."""
    if name not in [server.name for server in list_servers()]:
        return False
    forget(name)
    output().print(styled((one_line(name), "bold"), ": forgotten; the server itself is left alone"))
    return True


def show() -> None:
    """Print the servers that have a name: whether each answers now, and what it serves."""
    console = output()
    for server in list_servers():
        answers, state = server_state(server)
        mark = ("answers", "green") if answers else ("not reached", "yellow")
        console.print(styled((one_line(server.name), "bold"), "  ", mark, f", {one_line(server.location)}"))
        console.print(Padding(styled(one_line(state)), (0, 0, 1, 4)))


def _try_out(address: str, name: str, settings: dict[str, Any], allowed: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    from models.servers.backend import ServerBackend, ServerSettings  # noqa: PLC0415 - the HTTP client

    places = tuple(sorted(str(place) for place in read_allowed(allowed)))
    backend = ServerBackend(address, name=name, settings=ServerSettings(**settings, allowed=places))
    try:
        heard: list[str] = []
        backend.watch(lambda notice: heard.append(str(notice)))
        return backend.told, tuple(heard)
    finally:
        backend.close_now()


def _check_name(address: str, name: str) -> None:
    """Refuse a server without a name, or with one that another model has."""
    if not name:
        raise UsageError("a server needs a name", advice=f"redwell models add {address} --name NAME")
    check_name(name)
    others = [label.lower() for entry in catalog() for label in (entry.id, entry.place, entry.title)]
    if name.lower() in others or is_here(name):
        raise UsageError(f"{name!r} is the name of another model", advice="Choose a name that no model has.")
