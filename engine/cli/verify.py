"""`redwell verify`: check an export against its manifest, as anybody can without Redwell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.console import COMMAND_SETTINGS, output
from engine.custody import verify_manifest
from engine.errors import UsageError
from storage.export.atomic import replacing

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def verify(
    manifest: Annotated[
        Path | None,
        typer.Argument(metavar="MANIFEST", help="The manifest of an export, such as out.csv.manifest.json."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="The source files, to compare them too.")
    ] = None,
    public_key: Annotated[
        str, typer.Option("--public-key", metavar="HEX", help="The key that must have signed the manifest.")
    ] = "",
    earlier: Annotated[
        Path | None,
        typer.Option("--earlier", metavar="MANIFEST", help="An earlier manifest of the case: its log must go on here."),
    ] = None,
    write_script: Annotated[
        Path | None,
        typer.Option("--write-script", metavar="FILE.py", help="Write the program that checks, to give it to others."),
    ] = None,
) -> None:
    """Check an export: the file, the source files, the custody log, the signature, the timestamp.

    Others can do the same without Redwell: --write-script writes one file of plain Python. The exit code is 0 if all
    agrees, 1 if something differs, 2 if something could not be checked.
    To check the case itself: `redwell case verify`.
    """
    if write_script is not None:
        program = Path(verify_manifest.__file__).read_bytes()
        if write_script.exists() and (not write_script.is_file() or write_script.read_bytes() != program):
            raise UsageError(f"there is another file {write_script} already", advice="Name a new file.")
        with replacing(write_script) as path:
            path.write_bytes(program)
        output().print(f"Written {write_script}: python3 {write_script.name} MANIFEST [FOLDER]", soft_wrap=True)
        if manifest is None:
            return
    if manifest is None:
        raise UsageError("MANIFEST is missing", advice="Name the manifest, such as results.csv.manifest.json.")
    arguments = [str(manifest), *([str(folder)] if folder else []), "--public-key", public_key]
    raise typer.Exit(verify_manifest.main([*arguments, *(["--earlier", str(earlier)] if earlier else [])]))
