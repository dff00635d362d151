"""`redwell models`: the weights on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.padding import Padding
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from engine.cli import servers
from engine.cli.console import COMMAND_SETTINGS, messages, one_line, output, shell_word, show_error, styled, write_json
from engine.cli.models_view import detail_lines, show_rates, size_text, title_line
from engine.cli.run_settings import AllowHostOption
from engine.errors import UsageError
from engine.worker.model_facts import facts_of
from models import install as weights
from models.cache_place import models_folder
from models.carrying import add_models, export_models, holds_models
from models.catalog import catalog, default_entry
from models.errors import ModelError
from models.install import InstalledModel, list_models
from models.own_models import source_of
from models.paths import expanded
from models.placing import size_of
from models.prospects import prospects
from models.selftest import run_selftest
from models.servers.address import is_address
from models.verification import InstallProgress
from models.verification import Progress as Report

app = typer.Typer(no_args_is_help=True, **COMMAND_SETTINGS)

Ids = Annotated[list[str] | None, typer.Argument(metavar="ID", help="Models of `redwell models list`.")]


@app.callback()
def _models() -> None:
    """List, install, add, measure, check, choose and remove the models on this machine."""


@app.command("list")
def show(
    *,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Whole hashes.")] = False,
    as_data: Annotated[bool, typer.Option("--json", help="Write all that is known as JSON, for a program.")] = False,
) -> None:
    """List the models of the catalogue and your own: which fit, which will be slow, which will not fit.

    A model is slow if it reads fewer than 20 tokens a second, or writes fewer than 3 in several replies at once.
    Speeds are measured with `redwell models measure`, and estimated by size for the other models.
    """
    statuses = list_models()
    pairs = list(zip(statuses, prospects(statuses), strict=True))
    if as_data:
        write_json([asdict(facts_of(*each)) for each in pairs], indent=1)
        return
    console = output()
    for status, prospect in pairs:
        console.print(title_line(status))
        lines = detail_lines(status, prospect, verbose=verbose)
        console.print(Padding(Text("\n").join(lines), (0, 0, 1, 4)))
    servers.show()
    console.print(styled((f"kept in {models_folder()}", "dim")), soft_wrap=True)


@app.command()
def measure(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Models that are installed.")] = None,
) -> None:
    """Measure how fast models read and write on this machine, ten seconds or so each, and remember it.

    For a model of your own it also finds, in a minute or two, the layout of JSON in which it answers best.

    Without an ID the default model is measured.
    """
    for model_id in ids or [""]:
        show_rates(model_id)


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
            help="A GGUF file, a folder of safetensors, a folder that `models export` wrote, or a model's server.",
            show_default=False,
        ),
    ],
    *,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="What to call it; the file's own name if not given.")
    ] = "",
    test: Annotated[bool, typer.Option("--test", help="Check that it answers, in a separate process.")] = False,
    schema_mode: servers.SchemaModeOption = None,
    context_tokens: servers.ContextOption = None,
    requests: servers.RequestsOption = None,
    allow_host: AllowHostOption = None,
) -> None:
    """Take your own GGUF file or folder of safetensors (docs/models.md), or name a server (docs/servers.md).

    A file on the same disk is linked, so that it takes no more room.
    """
    chosen = {"schema_mode": schema_mode, "context_tokens": context_tokens, "requests": requests}
    chosen = {key: value for key, value in chosen.items() if value}
    if is_address(file):
        if test:
            raise UsageError("--test is for files and folders", advice="Leave it out: a server is asked in any case.")
        servers.add(file, name, chosen, allow_host or [])
        return
    if chosen or allow_host:
        options = ", ".join(f"--{key.replace('_', '-')}" for key in [*chosen, *(["allow_host"] if allow_host else [])])
        raise UsageError(f"{file} is no address of a server", advice=f"Leave out {options}: it is for servers.")
    path = expanded(file)
    if not path.exists():
        raise UsageError(
            f"there is no file or folder {file}", advice="Check the path. A server is named by its address: http://..."
        )
    are_several = holds_models(path)
    if name and are_several:
        raise UsageError(f"{file} holds models with names of their own", advice="Leave out --name.")
    if name and path.is_dir():
        raise UsageError(f"{file} is a folder, which keeps its name", advice="Leave out --name, or rename the folder.")
    with _progress(path.name) as report:
        models = add_models(path, progress=report) if are_several else [weights.add(path, name=name, progress=report)]
    for added in models:
        _introduce(added, test=test)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the copies go: a folder, a stick.")],
    ids: Ids = None,
) -> None:
    """Copy installed models into a folder, for a computer without a network: `redwell models add FOLDER` there.

    All of them if none is named. Each copy is read again and compared.
    """
    with _progress("copying") as report:
        copies = export_models(expanded(folder), ids or (), progress=report)
    for copy in copies:
        output().print(styled((one_line(copy.name), "bold"), f": {size_text(size_of(copy))}, {copy}"), soft_wrap=True)
    output().print(f"on the other computer: redwell models add {shell_word(folder)}", soft_wrap=True)


@app.command("get")
def get_from_hub(
    address: Annotated[
        str, typer.Argument(metavar="hf:OWNER/REPO/FILE.gguf", help="A file of a hub; @REVISION may follow.")
    ],
    *,
    online: Annotated[bool, typer.Option("--online", help="Allow this command to use the network.")] = False,
    test: Annotated[bool, typer.Option("--test", help="Check that it answers, in a separate process.")] = False,
) -> None:
    """Download a GGUF file from a model hub, with --online only, and check it against the hash that the hub says.

    Nothing is sent but the file's address. What is downloaded is pinned to the hash and the commit.
    """
    from models import hub  # noqa: PLC0415 - the only code that opens connections, on this command alone

    hub.HubFile.parse(address)  # before anybody is told to contact a hub for it
    if not online:
        host = urlsplit(hub.hub_address()).netloc
        raise UsageError(
            f"this would contact {host}", advice=f"If you want that: redwell models get {address} --online"
        )
    hosts: set[str] = set()

    def tell(host: str) -> None:
        if host not in hosts:
            hosts.add(host)
            messages().print(styled(one_line(f"contacting {host}")), soft_wrap=True)

    with _progress(address.rpartition("/")[2]) as report:
        added = hub.get(address, tell=tell, progress=report)
    _introduce(added, test=test)


def _introduce(added: InstalledModel, *, test: bool) -> None:
    """Say what a model is that was taken in, and how to use it; with `test`, whether it answers."""
    name = added.id
    if added.entry and added.entry.kind == "embedding":
        output().print(styled((one_line(name), "bold"), f": as pinned in the catalogue, {added.path}"), soft_wrap=True)
        return
    statuses = list_models()
    pair = next(each for each in zip(statuses, prospects(statuses), strict=True) if each[0].id == name)
    output().print(styled((one_line(name), "bold"), f": SHA-256 {added.sha256}"), soft_wrap=True)
    for line in detail_lines(*pair, verbose=False):
        output().print(Padding(line, (0, 0, 0, 4)))
    if test:
        with messages().status("asking it …"):
            verdict = run_selftest(added.path)
        if not verdict.ok:
            raise ModelError(
                f"{name} does not answer: {verdict.detail}", advice=f"redwell models remove {shell_word(name)}"
            )
        output().print(styled(one_line(f"it answers: {verdict.detail}")), soft_wrap=True)
    output().print(f"use it with: --model {shell_word(name)}", soft_wrap=True)


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
                model = weights.check(model_id, progress=report)
        except ModelError as error:
            show_error(error)
            failed = True
        else:
            text = f": SHA-256 {model.sha256}, {_compared(model)}"
            output().print(styled((one_line(model_id), "bold"), text), soft_wrap=True)
    raise typer.Exit(3 if failed else 0)


def _compared(model: InstalledModel) -> str:
    """Say with what the hash of a model was compared."""
    if model.entry:
        return "as pinned in the catalogue"
    if source_of(model.path):
        return "as pinned when it was downloaded"
    return f"your own {'folder' if model.path.is_dir() else 'file'}, nothing to compare with"


@app.command()
def default(model_id: Annotated[str, typer.Argument(metavar="ID", help="A GGUF model that is installed.")]) -> None:
    """Choose the model that is used wherever none is named, in pipelines too."""
    weights.choose_default(model_id)
    output().print(styled((one_line(weights.default_model()), "bold"), ": the default model now"), soft_wrap=True)


@app.command()
def remove(ids: Annotated[list[str], typer.Argument(metavar="ID", help="Models that are installed.")]) -> None:
    """Delete models from the cache, or forget servers."""
    for model_id in ids:
        if servers.remove(model_id):
            continue
        freed = weights.remove(model_id)
        told = f"removed, {size_text(freed)} freed" if freed else "removed; your own file stays where it is"
        output().print(styled((one_line(model_id), "bold"), f": {told}"))


def _known(ids: list[str]) -> list[str]:
    known = [entry.id for entry in catalog()]
    for model_id in ids:
        if model_id not in known:
            raise UsageError(
                f"there is no model {model_id!r} in the catalogue",
                advice=f"There are: {', '.join(known)}. A file of your own: `redwell models add FILE`.",
            )
    return ids


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
