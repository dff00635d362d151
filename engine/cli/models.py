"""`redwell models`: the weights on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from engine.cli.console import messages, one_line, output, styled
from engine.cli.failure import show_error
from engine.cli.settings import COMMAND_SETTINGS
from engine.errors import UsageError
from models import install as weights
from models.catalog import catalog, default_entry
from models.errors import ModelError
from models.install import ModelStatus, list_models
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
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, justify in (("model", "left"), ("installed", "left"), ("size", "right"), ("memory", "right")):
        table.add_column(name, justify="right" if justify == "right" else "left", no_wrap=True)
    table.add_column("licence", overflow="fold")
    table.add_column("for", overflow="fold")
    for status in list_models():
        table.add_row(*_row(status))
    output().print(table)
    output().print(styled((f"kept in {weights.models_folder()}", "dim")), soft_wrap=True)


@app.command()
def install(ids: Ids = None) -> None:
    """Download and verify models; the default language model and the embedding model if none is named."""
    for model_id in _known(ids or [default_entry().id, default_entry("embedding").id]):
        with _progress(model_id) as report:
            path = weights.install(model_id, progress=report)
        output().print(styled((one_line(model_id), "bold"), f": verified, {path}"), soft_wrap=True)


@app.command()
def add(file: Annotated[Path, typer.Argument(metavar="FILE", help="A GGUF file.", show_default=False)]) -> None:
    """Take your own GGUF file into the cache."""
    with _progress(file.name) as report:
        added = weights.add(file, progress=report)
    name = added.entry.id if added.entry else added.path.stem
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
    """Delete models from the cache."""
    for model_id in ids:
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


def _row(status: ModelStatus) -> tuple[str, ...]:
    name = status.id + (" (default)" if status.is_default else "")
    fits = "" if status.memory.fits else ", too much now"
    memory = f"{_size(status.memory.needed_bytes)}{fits}" if status.kind == "language" else ""
    installed = "yes" if status.installed else "no"
    return tuple(one_line(t) for t in (name, installed, _size(status.bytes), memory, status.licence, status.purpose))


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
