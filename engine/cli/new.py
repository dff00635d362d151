"""`redwell new`: a pipeline to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.console import COMMAND_SETTINGS, output, shell_word, styled
from engine.errors import UsageError
from engine.templates import template, templates

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="TEMPLATE", help="One of the list.", show_default=False)] = "",
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The pipeline file to write (YAML).", show_default=False)
    ] = None,
) -> None:
    """Write a pipeline to begin with into a file; without arguments, list the templates.

    A file that is there is not overwritten. The pipeline reads the documents of its case: `redwell ingest` first, or
    give `redwell run` a folder with --input.
    """
    console = output()
    if not name:
        width = max(len(entry.name) for entry in templates())
        for entry in templates():
            console.print(
                styled((f"{entry.name:<{width}}  ", "bold"), f"{entry.title}. {entry.summary}"), soft_wrap=True
            )
        return
    chosen = template(name)
    if file is None:
        raise UsageError("there is no file to write", advice=f"Write `redwell new {name} FILE.yaml`.")
    write_new(file, chosen.text)
    console.print(styled(("Written ", "bold"), f"{file}: {chosen.title}"), soft_wrap=True)
    console.print(f"Next: redwell run {shell_word(file)} --case FILE.redwell", soft_wrap=True)


def write_new(file: Path, text: str) -> None:
    """Write a file that is not there yet; raises UsageError where it is, or cannot be written."""
    try:
        opened = file.open("x", encoding="utf-8")
    except FileExistsError as error:
        raise UsageError(f"{file} is there already", advice="Choose another name.") from error
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}", advice="Choose another place.") from error
    try:
        with opened:
            opened.write(text)
    except OSError as error:
        file.unlink()
        raise UsageError(f"{file} cannot be written: {error.strerror}", advice="Choose another place.") from error
