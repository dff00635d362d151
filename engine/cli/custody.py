"""`redwell custody`: the log of a case, keys that sign manifests, timestamps of manifests."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.console import COMMAND_SETTINGS, one_line, output, shell_word, styled
from engine.cli.options import CaseArgument
from engine.cli.passphrases import has_terminal, new_passphrase
from engine.custody.keys import SigningKey, is_hidden, new_key, read_key
from engine.custody.manifest import attach_token, request_of
from engine.errors import UsageError
from storage import passphrases
from storage.case import Case
from storage.export.atomic import replacing

app = typer.Typer(no_args_is_help=True, **COMMAND_SETTINGS)
keys = typer.Typer(no_args_is_help=True, **COMMAND_SETTINGS)
app.add_typer(keys, name="key", help="Make a key that signs manifests, or show its public half.")

ManifestArgument = Annotated[Path, typer.Argument(metavar="MANIFEST", help="The manifest of an export.")]
PassphraseFileOption = Annotated[
    Path | None,
    typer.Option("--passphrase-file", metavar="FILE", help="A file with the passphrase; asked for if not given."),
]
SignOption = Annotated[
    Path | None,
    typer.Option(
        "--sign", metavar="KEY", help="Sign the manifest of each file with a key (`redwell custody key new`)."
    ),
]
SignPassphraseFileOption = Annotated[
    Path | None,
    typer.Option(
        "--sign-passphrase-file", metavar="FILE", help="A file with the passphrase of the key; asked for if not given."
    ),
]


@app.callback()
def _custody() -> None:
    """Show the log of a case, make keys that sign manifests, add timestamps (docs/custody.md)."""


@app.command()
def log(case: CaseArgument) -> None:
    """Write the custody log of a case, every link checked: one JSON line for each entry."""
    with Case(case, read_only=True) as opened:
        entries = opened.custody.entries()
    for entry in entries:
        typer.echo(entry.line.encode())  # the digests are of these bytes, whatever the encoding of stdout


@keys.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file for the key.")],
    passphrase: Annotated[
        bool, typer.Option("--passphrase/--no-passphrase", help="Keep the key under a passphrase.")
    ] = True,
    passphrase_file: PassphraseFileOption = None,
) -> None:
    """Make a key, and show its public half: give that to others by a way that nobody can tamper with.

    Whoever has the file (and its passphrase) can sign as you. Nobody can recover either.
    """
    if file.exists():
        raise UsageError(f"there is a file {file} already", advice="Name a new file.")
    hidden_by = ""
    if passphrase or passphrase_file:
        hidden_by = new_passphrase(passphrase_file, option="--passphrase-file", lost="nobody can sign with the key")
    _show(file, new_key(file, hidden_by))


@keys.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file of a key.")],
    passphrase_file: PassphraseFileOption = None,
) -> None:
    """Show the public half of a key, and check that its passphrase opens it."""
    _show(file, signing_key(file, passphrase_file))


def _show(file: Path, key: SigningKey) -> None:
    output().print(
        styled(("Public key ", "bold"), key.public.hex(), (f"  of {one_line(str(file))}", "dim")), soft_wrap=True
    )


def signing_key(file: Path, passphrase_file: Path | None) -> SigningKey:
    """Read a key, with its passphrase from a file or from who sits at the terminal.

    Raises UsageError or BadPassphrase.
    """
    if not is_hidden(file):
        return read_key(file)
    if passphrase_file is not None:
        return read_key(file, passphrases.read_passphrase_file(passphrase_file))
    if not has_terminal():
        raise UsageError(
            f"the passphrase of the key {file} is missing", advice="Name a file that holds it, or use a terminal."
        )
    return read_key(file, getpass.getpass(f"Passphrase of the key {shell_word(file)}: ", sys.stderr))


def chosen_signer(sign: Path | None, passphrase_file: Path | None) -> SigningKey | None:
    """Read the key of --sign; None where it is not given. Raises UsageError or BadPassphrase."""
    if sign is None and passphrase_file is not None:
        raise UsageError("--sign-passphrase-file belongs to --sign", advice="Name the key with --sign KEY.")
    return signing_key(sign, passphrase_file) if sign else None


@app.command()
def timestamp(
    manifest: ManifestArgument,
    request: Annotated[
        Path | None, typer.Option("--request", metavar="FILE.tsq", help="Write the request to send to an authority.")
    ] = None,
    token: Annotated[
        Path | None, typer.Option("--token", metavar="FILE.tsr", help="Put the authority's reply beside the manifest.")
    ] = None,
) -> None:
    """Add a timestamp (RFC 3161) to a manifest. Redwell sends and fetches nothing: you carry request and reply.

    An authority learns the SHA-256 of the manifest and nothing of what is in it. For example, on another machine:
    curl --data-binary @FILE.tsq -H "Content-Type: application/timestamp-query" ADDRESS -o FILE.tsr
    """
    if not manifest.is_file():
        raise UsageError(f"there is no manifest {manifest}", advice="Export first: it is written beside the export.")
    if (request is None) == (token is None):
        raise UsageError("name --request or --token", advice="First --request, then, with the reply, --token.")
    if request is not None:
        if request.exists():
            raise UsageError(f"there is a file {request} already", advice="Name a new file.")
        with replacing(request) as path:
            path.write_bytes(request_of(manifest))
        output().print(f"Written {request}: send it to a timestamp authority.", soft_wrap=True)
    if token is not None:
        path, time = attach_token(manifest, token)
        output().print(
            f"Written {path}: a timestamp that says {time}. Who made it is checked with openssl:", soft_wrap=True
        )
        output().print(
            f"openssl ts -verify -data {shell_word(manifest)} -in {shell_word(path)} -CAfile AUTHORITY.pem",
            soft_wrap=True,
        )
