"""`redwell models`: the weights on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.padding import Padding
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from engine.cli import servers
from engine.cli.console import messages, one_line, output, styled
from engine.cli.failure import show_error
from engine.cli.options import AllowHostOption
from engine.cli.settings import COMMAND_SETTINGS
from engine.errors import UsageError
from models import install as weights
from models.catalog import catalog, default_entry
from models.errors import ModelError
from models.install import ModelStatus, list_models
from models.servers.address import is_address
from models.verification import InstallProgress
from models.verification import Progress as Report

app = typer.Typer(no_args_is_help=True, **COMMAND_SETTINGS)

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Models of `redwell models list`.")]


@app.callback()
def _models() -> None:
    """List, install, add, check and remove the models on this machine."""


@app.command("list")
def show() -> None:
    """List the models of the catalogue and your own: what is installed, and what fits in memory now."""
    console = output()
    for status in list_models():
        console.print(_title(status))
        console.print(Padding(styled(one_line(_needs(status))), (0, 0, 0, 4)))
        console.print(Padding(styled((one_line(status.purpose), "dim")), (0, 0, 1, 4)))
    servers.show()
    output().print(styled((f"kept in {weights.models_folder()}", "dim")), soft_wrap=True)


@app.command()
def install(ids: Ids = None) -> None:
    """Download and verify models; the default language model and the embedding model if none is named."""
    for model_id in _known(ids or [default_entry().id, default_entry("embedding").id]):
        with _progress(model_id) as report:
            path = weights.install(model_id, progress=report)
        output().print(styled((one_line(model_id), "bold"), f": verified, {path}"), soft_wrap=True)


@app.command()
def add(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|FOLDER|ADDRESS",
            help="A GGUF file, a folder of safetensors, or a model's server.",
            show_default=False,
        ),
    ],
    name: servers.NameOption = "",
    schema_mode: servers.SchemaModeOption = None,
    context_tokens: servers.ContextOption = None,
    requests: servers.RequestsOption = None,
    allow_host: AllowHostOption = None,
) -> None:
    """Take your own GGUF file or a folder of safetensors (docs/gpu.md), or name a server (docs/servers.md)."""
    if is_address(file) or name:
        chosen = {"schema_mode": schema_mode, "context_tokens": context_tokens, "requests": requests}
        servers.add(file, name, {key: value for key, value in chosen.items() if value}, allow_host or [])
        return
    _add_file(Path(file))


def _add_file(file: Path) -> None:
    with _progress(file.name) as report:
        added = weights.add(file, progress=report)
    name = added.entry.id if added.entry else added.path.name.removesuffix(".gguf")
    output().print(styled((one_line(name), "bold"), f": SHA-256 {added.sha256}"), soft_wrap=True)
    output().print(f"use it with: --model {name}", soft_wrap=True)


@app.command()
def check(ids: Ids = None) -> None:
    """Hash installed models again and compare with the catalogue; all of them if none is named."""
    installed = [status.id for status in list_models() if status.installed]
    if not ids and not installed:
        output().print("no model is installed")
    failed = False
    for model_id in ids or installed:
        try:
            with _progress(model_id) as report:
                found = weights.check(model_id, progress=report)
        except ModelError as error:
            show_error(error)
            failed = True
        else:
            verdict = "as pinned in the catalogue" if found.entry else "your own file, nothing to compare with"
            output().print(styled((one_line(model_id), "bold"), f": SHA-256 {found.sha256}, {verdict}"), soft_wrap=True)
    raise typer.Exit(3 if failed else 0)


@app.command()
def remove(ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Models that are installed.")]) -> None:
    """Delete models from the cache, or forget servers."""
    for model_id in ids:
        if servers.remove(model_id):
            continue
        freed = weights.remove(model_id)
        output().print(styled((one_line(model_id), "bold"), f": removed, {_size(freed)} freed"))


def _known(ids: list[str]) -> list[str]:
    known = [entry.id for entry in catalog()]
    for model_id in ids:
        if model_id not in known:
            raise UsageError(
                f"there is no model {model_id!r} in the catalogue",
                advice=f"There are: {', '.join(known)}. A file of your own: `redwell models add FILE`.",
            )
    return ids


def _title(status: ModelStatus) -> Text:
    installed = ("installed", "green") if status.installed else ("not installed", "yellow")
    is_default = ", the default" if status.is_default else ""
    return styled((one_line(status.id), "bold"), "  ", installed, is_default)


def _needs(status: ModelStatus) -> str:
    """Say what a model takes: on the disk, in memory, in rights."""
    memory = ""
    if status.kind == "language":
        fits = "fits" if status.memory.fits else f"does not fit: {_size(status.memory.available_bytes)} free"
        memory = f", {_size(status.memory.needed_bytes)} of memory ({fits})"
    return f"{status.title}, {_size(status.bytes)}{memory}, licence {status.licence}"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


@contextmanager
def _progress(name: str) -> Iterator[Report]:
    """Draw a bar on stderr while a model is downloaded or hashed; away again when it is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=messages(), transient=True) as bar:
        task = bar.add_task(one_line(name), total=None)

        def report(step: InstallProgress) -> None:
            text = one_line(f"{name}: {step.note or step.stage}")
            bar.update(task, description=text, completed=step.done_bytes, total=step.total_bytes)

        yield report
