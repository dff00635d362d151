"""What works on this machine and what to install, as data: `redwell doctor` and the window show it."""

from __future__ import annotations

import asyncio
import os
import shlex
import stat
from glob import escape
from pathlib import Path

from engine.documents.events import FileFailed, Parsed
from engine.documents.ingest import ingest_folder
from engine.documents.leftovers import scratch_folder
from engine.documents.options import ParseOptions
from engine.fencing import this_process
from engine.worker.attempts import try_each_kind
from models.cache_place import cache_folder
from models.check import Check
from models.doctor import checks as model_checks
from models.errors import ModelError
from models.fence.process import missing_guards
from models.rates import load_rates
from models.servers.remembered import RememberedServer, list_servers

HELPFUL = frozenset({"Processor", "Graphics card", "Memory", "Disk", "Speed", "Private files"})
"""Checks that may fail without stopping a run; they are notes, the others are needs."""

OTHERS = stat.S_IRWXG | stat.S_IRWXO
_MOST_FILES = 5
"""Files that a check names."""

TEST_WORDS = "Record 4711 read by OCR"


def all_checks(*, trying: bool = True, again: bool = True) -> list[Check]:
    """Look at everything. Takes some seconds: a model answers once and a picture is read.

    `trying`: a process of each kind asks for a socket, to see that it gets none. Without `again`, a self-test of the
    runtime that passed on this machine is taken as passed.
    """
    machine = [*model_checks(again=again), *check_speed(), check_cache(), *check_private()]
    return [*machine, check_ocr(), *check_network(trying=trying), *server_checks()]


def check_speed() -> list[Check]:
    """Check that the speed of the default model was measured, for estimates; nothing where it is not installed."""
    try:
        rates = load_rates()
    except ModelError:
        return []  # what is wrong with the model itself is said by a check of its own
    if rates is None:
        advice = "Measure it, so that runs can be estimated: `redwell models measure`."
        return [Check("Speed", False, "the speed of the default model is not known here", advice)]
    read, written = rates.prompt_per_second, rates.sampled_per_second
    return [Check("Speed", True, f"the default model reads {read:,.0f} tokens a second and writes {written:,.0f}")]


def is_helpful(check: Check) -> bool:
    """Say whether a check that fails is only a note."""
    return check.name in HELPFUL or check.name.startswith(("Server ", "Network"))


def check_cache() -> Check:
    """Check that models can be kept: the cache folder, or the nearest folder that is there, can be written."""
    folder = cache_folder()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    ok = os.access(existing, os.W_OK)
    advice = "" if ok else "Get permission to write there, or set REDWELL_CACHE to another folder."
    return Check("Cache folder", ok, f"{folder}{'' if ok else ' cannot be written'}", advice)


def check_private() -> list[Check]:
    """Look for files of ours that others on this machine may read: earlier versions made such.

    Looks at the cache, the settings of the window, and the cases in the current folder.
    """
    if os.name != "posix":
        return []
    cache, settings = cache_folder(), Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "Redwell"
    here = Path.cwd()
    cases = [path for case in sorted(here.glob("*.redwell")) for path in here.glob(f"{escape(case.name)}*")]
    folders = [folder for folder in (cache, settings) if folder.is_dir()]
    files = [path for folder in folders for path in folder.iterdir() if path.is_file()]
    loose = sorted({str(path) for path in (*folders, *files, *cases) if _is_loose(path)})
    if not loose:
        return [Check("Private files", True, "the cache, the settings and the cases in this folder are yours alone")]
    named, more = loose[:_MOST_FILES], len(loose) - _MOST_FILES
    shown = ", ".join(named) + (f" and {more} more" if more > 0 else "")
    advice = f"Unless you share them on purpose, make them yours alone: chmod go= {' '.join(map(shlex.quote, named))}"
    return [Check("Private files", False, f"other users of this computer can read {shown}", advice)]


def _is_loose(path: Path) -> bool:
    """Say whether others may use a file; not of a link to nothing, or what is gone meanwhile."""
    try:
        return bool(path.stat().st_mode & OTHERS)
    except OSError:
        return False


def check_ocr() -> Check:
    """Read a picture of a few words in a parsing child, with the models that come with the OCR library."""
    with scratch_folder() as folder:
        picture = folder / "words.png"
        _draw_words(picture)
        text, error = asyncio.run(_read(picture))
    wanted, got = TEST_WORDS.replace(" ", ""), "".join(text.split())
    if wanted.lower() in got.lower():
        return Check("Reading files and OCR", True, f"read {text!r} from a test picture")
    detail = error or f"read {text!r}, not {TEST_WORDS!r}, from a test picture"
    return Check("Reading files and OCR", False, detail, "Install Redwell again (from source: `make setup`).")


def check_network(*, trying: bool) -> list[Check]:
    """Say whether the kernel keeps this process from the network, and what this machine cannot refuse.

    `trying`: a process of each kind asks for a socket, too.
    """
    state, why = this_process()
    is_refused = state == "refused"
    detail = "the kernel refuses it to this process and all that it starts" if is_refused else why
    advice = "" if is_refused else "Commands that name no server are fenced on Linux (docs/fence.md)."
    checks = [Check("Network", is_refused, detail, advice)]
    for tried in try_each_kind() if trying else ():
        answer = f"not tried: {tried.answer}" if tried.outcome == "untried" else tried.answer
        checks.append(Check(f"Network: {tried.kind}", tried.outcome == "kernel", answer))
    return [*checks, *(Check("Network: this machine", False, missing) for missing in missing_guards())]


async def _read(picture: Path) -> tuple[str, str]:
    """Return the text that was read, or what went wrong."""
    async for event in ingest_folder([picture], known=lambda id: False, options=ParseOptions(threads=1), workers=1):
        if isinstance(event, Parsed):
            return event.document.text, ""
        if isinstance(event, FileFailed):
            return "", event.message
    return "", "the parsing process gave no answer"


def _draw_words(path: Path) -> None:
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - only this check draws

    page = Image.new("RGB", (900, 200), "white")
    ImageDraw.Draw(page).text((40, 70), TEST_WORDS, fill="black", font=ImageFont.load_default(size=48))
    page.save(path)


def server_checks() -> list[Check]:
    """Check that each server with a name answers; a note, not a need."""
    checks = []
    for server in list_servers():
        answers, state = server_state(server)
        checks.append(
            Check(f"Server {server.name}", answers, state, "" if answers else "Start it, or remove its name.")
        )
    return checks


def server_state(server: RememberedServer) -> tuple[bool, str]:
    """Say whether a server answers now, and what it serves."""
    from models.servers.backend import look_at_server  # noqa: PLC0415 - the HTTP client

    try:
        facts = look_at_server(server.location)
    except ModelError as error:
        return False, f"{error}; when it was added: {server.told}"
    context = f"context {facts.context_tokens:,} tokens" if facts.context_tokens else "context not told"
    return True, f"{facts.kind}, model {facts.title}, {context}; when it was added: {server.told}"
