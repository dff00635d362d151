"""`redwell doctor`: what works on this machine and what to install."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from PIL import Image, ImageDraw, ImageFont
from rich.table import Table
from rich.text import Text

from engine.cli import servers
from engine.cli.console import messages, one_line, output, styled
from engine.cli.models_view import rates_text
from engine.cli.settings import COMMAND_SETTINGS
from engine.documents.events import FileFailed, Parsed
from engine.documents.ingest import ingest_folder
from engine.documents.options import ParseOptions
from models.doctor import Check
from models.doctor import checks as model_checks
from models.install import cache_folder
from models.rates import measure_model

app = typer.Typer(**COMMAND_SETTINGS)

HELPFUL = frozenset({"Processor", "Graphics card", "Memory", "Disk"})
"""Checks that may fail without stopping a run; they are notes, the others are needs."""

TEST_WORDS = "Record 4711 read by OCR"


@app.command()
def doctor(
    model: Annotated[
        str, typer.Argument(metavar="[MODEL]", help="With --measure: which model; the default one if not given.")
    ] = "",
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure how fast the model reads and writes, for `redwell explain`.")
    ] = False,
) -> None:
    """See what works on this machine and what to install.

    Takes some seconds: a model answers once and a picture is read. Ends with 3 if something needed is missing.
    """
    if measure:
        show_rates(model)
        return
    console = output()
    with messages().status("looking at this machine …"):
        found = [*model_checks(), check_cache(), check_ocr(), check_network(), *servers.checks()]
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(overflow="fold")
    for check in found:
        table.add_row(*_row(check))
    console.print(table)
    missing = [check for check in found if not check.ok and not _is_helpful(check)]
    verdict = f"{len(missing)} needed: {', '.join(check.name for check in missing)}" if missing else "Redwell can run."
    console.print(styled((verdict, "bold red" if missing else "bold green")))
    raise typer.Exit(3 if missing else 0)


def show_rates(model: str) -> None:
    """Measure a model (ten seconds or so) and say what came of it; raises models.errors.ModelError."""
    with messages().status("reading and writing …"):
        rates = measure_model(model)
    output().print(styled((model or "the default model", "bold"), f" {rates_text(rates)}"), soft_wrap=True)


def check_cache() -> Check:
    """Check that models can be kept: the cache folder, or the nearest folder that is there, can be written."""
    folder = cache_folder()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    ok = os.access(existing, os.W_OK)
    advice = "" if ok else "Give yourself the right to write there, or set REDWELL_CACHE to another folder."
    return Check("Cache folder", ok, f"{folder}{'' if ok else ' cannot be written'}", advice)


def check_ocr() -> Check:
    """Read a picture of a few words in a parsing child, with the models that come with the OCR library."""
    with tempfile.TemporaryDirectory(prefix="redwell-doctor-") as folder:
        picture = Path(folder) / "words.png"
        _draw_words(picture)
        text, error = asyncio.run(_read(picture))
    wanted, got = TEST_WORDS.replace(" ", ""), "".join(text.split())
    if wanted.lower() in got.lower():
        return Check("Reading files and OCR", True, f"read {text!r} from a test picture")
    detail = error or f"read {text!r}, not {TEST_WORDS!r}, from a test picture"
    return Check("Reading files and OCR", False, detail, "Install Redwell again: `make setup`.")


def check_network() -> Check:
    """State what holds on every machine: nothing is sent anywhere."""
    return Check(
        "Network",
        True,
        "not used: everything runs on this machine; only `models install` and `models get --online` download, and a "
        "server is asked where you name one",
    )


async def _read(picture: Path) -> tuple[str, str]:
    """Return the text that was read, or what went wrong."""
    async for event in ingest_folder([picture], known=lambda id: False, options=ParseOptions(threads=1), workers=1):
        if isinstance(event, Parsed):
            return event.document.text, ""
        if isinstance(event, FileFailed):
            return "", event.message
    return "", "the parsing process gave no answer"


def _draw_words(path: Path) -> None:
    page = Image.new("RGB", (900, 200), "white")
    ImageDraw.Draw(page).text((40, 70), TEST_WORDS, fill="black", font=ImageFont.load_default(size=48))
    page.save(path)


def _is_helpful(check: Check) -> bool:
    return check.name in HELPFUL or check.name.startswith("Server ")


def _row(check: Check) -> tuple[Text, Text, Text]:
    is_note = _is_helpful(check)
    mark = ("ok", "green") if check.ok else (("note", "yellow") if is_note else ("missing", "bold red"))
    text = styled(one_line(check.detail))
    if check.advice:
        text.append("\n").append(one_line(check.advice), "bold")
    return styled(mark), styled(check.name), text
