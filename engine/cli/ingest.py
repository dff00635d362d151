"""`redwell ingest`: records into a case, without a model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.console import COMMAND_SETTINGS, counted, messages, one_line, output, shell_word, styled
from engine.cli.interrupting import run_interruptible
from engine.cli.ledger_view import failed_files, unread_view
from engine.cli.options import QuietOption
from engine.cli.run_settings import READING, takes_settings
from engine.cli.watching import choose_watch
from engine.errors import UsageError
from engine.executor.gone_files import gone_files, gone_text
from engine.executor.reading_rates import remember_readings
from engine.executor.settings import RunSettings
from engine.executor.sources import Ingested
from engine.executor.sources import ingest as ingest_folder
from engine.worker.exit_codes import INTERRUPTED
from models.paths import expanded
from storage.case import Case
from storage.listing import DocumentFilter

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
@takes_settings(*READING)
def ingest(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of records, or one file.")],
    *,
    case: Annotated[Path, typer.Option("--case", metavar="FILE", help="The case file; made if it is not there.")],
    again: Annotated[
        bool, typer.Option("--again", help="Read files that are in the case again, and replace what was read.")
    ] = False,
    quiet: QuietOption = False,
    settings: RunSettings,
) -> None:
    """Read a folder into a case, without a model.

    Files that are in the case already are not read again, except with --again. The exit code is 1 if some
    files could not be read.
    """
    watch = choose_watch(quiet=quiet, json_events=False)
    folder = expanded(folder).resolve()
    if not folder.exists():  # before a case is made
        raise UsageError(f"there is nothing at {folder}", advice="Give an existing folder.")
    with Case(case) as opened:
        try:
            with watch:
                work = ingest_folder(
                    folder,
                    opened,
                    watch.take,
                    dataset=folder.name,
                    options=settings.parse,
                    workers=settings.workers,
                    again=again,
                )
                ingested = run_interruptible(work)
        except KeyboardInterrupt:
            messages().print("Stopped. Files read so far are kept; the same command goes on from there.")
            raise typer.Exit(INTERRUPTED) from None
        remember_readings(ingested.readings)
        _report(opened, ingested, gone_text(gone_files(opened.documents, folder)), quiet=quiet)
    raise typer.Exit(1 if ingested.failed else 0)


def _report(case: Case, ingested: Ingested, gone: str, *, quiet: bool) -> None:
    if not quiet:
        sums = Counter(record.fate for record in ingested.fates)
        files = counted(len(ingested.fates), "file")
        parts = f"{files}: {sums['parsed']:,} read, {counted(sums['duplicate'], 'duplicate')}"
        output().print(styled((parts, "bold"), f", {sums['failed']:,} failed"))
        entries = [entry for entry in case.documents.entries() if entry.id in ingested.documents]
        pages, lines = sum(entry.page_count for entry in entries), sum(entry.line_count for entry in entries)
        output().print(f"{counted(pages, 'page')}, {counted(lines, 'line')} in {case.path.name}")
        if removed := set(ingested.documents) & case.listing.documents_that_fit(DocumentFilter(removed=True)):
            message = f"{counted(len(removed), 'document')} of these stay removed: redwell case put-back"
            output().print(styled(("Note ", "bold yellow"), message), soft_wrap=True)
        if gone:
            output().print(styled(("Note ", "bold yellow"), one_line(gone)), soft_wrap=True)
        if unread := unread_view(case, ingested.documents):
            output().print(unread)
        command = f"redwell search {shell_word(case.path)} WORDS"
        output().print(styled("Search them: ", (command, "bold cyan")), soft_wrap=True)
    if ingested.failed:
        messages().print(failed_files([record for record in ingested.fates if record.fate == "failed"]))
