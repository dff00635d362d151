"""`redwell case`: what can be done with a case file as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from engine.cli.console import COMMAND_SETTINGS, counted, messages, one_line, output, styled
from engine.cli.options import CaseArgument
from engine.cli.passphrases import NewPassphraseFileOption, current_passphrase, has_terminal, new_passphrase
from engine.custody.recording import (
    put_back_documents,
    record_backup,
    record_conversion,
    record_verify,
    remove_documents,
    repair_facts,
)
from engine.errors import UsageError
from models.paths import expanded
from storage import conversion, passphrases
from storage.backup import backup_case
from storage.case import Case
from storage.conversion import Phase, Tell
from storage.listing import DocumentFilter
from storage.repair import repair_case
from storage.verification import Verification, verify_case

app = typer.Typer(no_args_is_help=True, **COMMAND_SETTINGS)

SHORTEST_DIGEST, MOST_NAMES = 6, 8
"""Characters of a SHA-256 that name a document, at least; names that a message lists, at most."""


@app.callback()
def _case() -> None:
    """Check a case, back it up, repair it, encrypt or decrypt it, and take documents out of it."""


@app.command()
def verify(
    case: CaseArgument,
    digest: Annotated[bool, typer.Option("--digest", help="Also write a SHA-256 of the contents of the case.")] = False,
) -> None:
    """Check that a case is as it was written: the file, all documents, lines, replies, rows, reviews, ledger and log.

    Lists what differs; the exit code is then 1. This finds damage, not a deliberate change by someone who knows how.
    Where the case is sound and can be written, its custody log notes the check.
    """
    with messages().status("checking …") as status:
        result = verify_case(case, lambda what, rows: status.update(f"checking: {what}, {rows:,}"))
    _show(case, result)
    _say_not_recorded(record_verify(case, result))
    if digest:
        with Case(case, read_only=True) as opened:
            output().print(f"SHA-256 of its content: {opened.contents.digest()}", soft_wrap=True)
    raise typer.Exit(0 if result.is_sound else 1)


DocumentsArgument = Annotated[
    list[str], typer.Argument(metavar="DOCUMENT", help="Names or paths of files, or beginnings of their SHA-256.")
]


@app.command()
def remove(
    case: CaseArgument,
    documents: DocumentsArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove them without asking.")] = False,
) -> None:
    """Take documents out of a case, with their attachments: no list or search shows them, and no later run reads them.

    Results that were made from them stay, with their pages, so their text stays in the case, too. The files themselves
    are not touched. `redwell case put-back` undoes it. If rows of results show them, you are told first, and asked in a
    terminal.
    """
    with Case(case, create=False) as opened:
        chosen = _documents_named(opened, documents, removed=False)
        if shown := _shown_in_results(opened, chosen):
            messages().print(shown, soft_wrap=True)
            question = f"Remove {counted(len(chosen), 'document')}?"
            if not yes and has_terminal() and not typer.confirm(question, err=True):
                output().print("Nothing was removed.")
                raise typer.Exit
        removed = remove_documents(opened, chosen)
    output().print(f"{counted(len(removed), 'document')} removed from {case.name}", soft_wrap=True)


@app.command()
def put_back(case: CaseArgument, documents: DocumentsArgument) -> None:
    """Put documents back that were taken out of a case, with their attachments."""
    with Case(case, create=False) as opened:
        back = put_back_documents(opened, _documents_named(opened, documents, removed=True))
    output().print(f"{counted(len(back), 'document')} put back into {case.name}", soft_wrap=True)


def _shown_in_results(case: Case, documents: Set[str]) -> str:
    """Say how many rows of results show documents or what stands inside of them, reviewed or not; empty for none."""
    whole = case.labels.with_contents(documents)
    rows, reviewed = case.labels.count_result_rows_of(whole), case.labels.count_result_rows_of(whole, reviewed=True)
    if not rows:
        return ""
    shown = counted(rows, "row of results shows", "rows of results show")
    return f"{shown} {'them' if len(documents) > 1 else 'it'} and will go on doing so (reviewed: {reviewed:,})."


def _documents_named(case: Case, names: Sequence[str], *, removed: bool) -> set[str]:
    """Find the documents that are in the case, or those that were removed, by name; raises UsageError."""
    here = case.listing.documents_that_fit(DocumentFilter(removed=removed))
    by_name: dict[str, set[str]] = {}
    for entry in case.documents.entries():
        if entry.id in here:
            for name in (entry.filename, *(path.path for path in case.documents.paths(entry.id))):
                by_name.setdefault(name, set()).add(entry.id)
    return {id for name in names for id in _of_one_name(name, here, by_name, removed=removed)}


def _places(path: Path) -> tuple[str, str]:
    """Return where a path leads: as it is written, without `..`, and after every link."""
    return os.path.abspath(path), os.path.realpath(path)  # noqa: PTH100 - Path.absolute keeps `..`


def _of_one_name(name: str, here: set[str], by_name: Mapping[str, set[str]], *, removed: bool) -> set[str]:
    matches = next((by_name[each] for each in (name, *_places(expanded(name))) if each in by_name), set[str]())
    matches = matches or ({id for id in here if id.startswith(name)} if len(name) >= SHORTEST_DIGEST else set())
    if not matches:
        what = "no removed document" if removed else "no document"
        shown = ", ".join(sorted(by_name)[:MOST_NAMES]) or "none"
        raise UsageError(f"the case has {what} {name!r}", advice=f"There are: {shown}.")
    if len(matches) > 1:
        raise UsageError(
            f"{name!r} means {len(matches)} documents", advice=f"Name them by SHA-256: {', '.join(sorted(matches))}."
        )
    return matches


@app.command()
def encrypt(case: CaseArgument, new_passphrase_file: NewPassphraseFileOption = None) -> None:
    """Encrypt a case: without the passphrase nobody reads it again, and nobody can recover the passphrase.

    The case is copied, compared and replaced; nothing else may use it meanwhile. What stands outside of the file is not
    encrypted: the records themselves, exports, pipelines (docs/encryption.md).
    """
    conversion.refuse_encrypted(case)
    known = passphrases.passphrase_of(case) if new_passphrase_file is None else None
    passphrase = known or new_passphrase(new_passphrase_file)
    _convert(case, "encrypt", lambda tell: conversion.encrypt_case(case, passphrase, tell))


@app.command()
def decrypt(case: CaseArgument) -> None:
    """Write an encrypted case as a plain file again."""
    conversion.refuse_plain(case)
    passphrase = current_passphrase(case)
    _convert(case, "decrypt", lambda tell: conversion.decrypt_case(case, passphrase, tell))


@app.command()
def rekey(case: CaseArgument, new_passphrase_file: NewPassphraseFileOption = None) -> None:
    """Encrypt a case with another passphrase; copies made before keep the old one."""
    conversion.refuse_plain(case)
    current = current_passphrase(case)
    passphrase = new_passphrase(new_passphrase_file)
    _convert(case, "rekey", lambda tell: conversion.rekey_case(case, current, passphrase, tell))


@app.command()
def backup(
    case: CaseArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to make; one that is there is left alone.")],
) -> None:
    """Copy a case to a new file, also while a run writes to it, and check the copy.

    The copy is the case as it was at one moment. An encrypted case keeps its passphrase. The exit code is 1 where the
    copy, and so the case, is damaged.
    """
    with messages().status("copying …") as status:
        done = backup_case(
            case,
            out,
            lambda done, total: status.update(f"copying: {done:,} of {total:,} pages"),
            lambda what, rows: status.update(f"checking the copy: {what}, {rows:,}"),
        )
    what = "encrypted with the same passphrase, " if done.is_encrypted else ""
    console = output()
    console.print(styled(("Written ", "bold"), one_line(f"{out}, {what}{done.size_bytes:,} bytes")), soft_wrap=True)
    _show(case, done.verification)
    _say_not_recorded(record_backup(case, out, done))
    raise typer.Exit(0 if done.verification.is_sound else 1)


@app.command()
def repair(
    case: CaseArgument,
    out: Annotated[Path, typer.Option("--out", metavar="NEW", help="The case to make; a file there is left alone.")],
) -> None:
    """Save what can be read of a damaged case in a new one, and list what was lost. The case itself is only read.

    The custody log goes on in the new case as far as its links hold.

    Lines that were lost have a mark in their place. Run the pipelines again in the new case: replies that are still
    there are not asked for again. The exit code is 1 where anything was lost.
    """
    with messages().status("reading …") as status:
        facts = repair_facts(case) if case.is_file() else {}
        done = repair_case(case, out, lambda what, rows: status.update(f"reading: {what}, {rows:,}"), facts=facts)
    console = output()
    for part, name in done.lost:
        console.print(styled(("lost: ", "red"), one_line(f"{part}: {name}")), soft_wrap=True)
    sums = f"{out}, {counted(done.kept, 'row')} kept, {len(done.lost):,} lost"
    console.print(styled(("Written ", "bold"), one_line(sums)), soft_wrap=True)
    _show(out, done.verification)
    raise typer.Exit(1 if done.lost or not done.verification.is_sound else 0)


def _say_not_recorded(why: str) -> None:
    if why:
        messages().print(styled((one_line(why), "yellow")), soft_wrap=True)


def _convert(case: Path, event: str, work: Callable[[Tell], conversion.Converted]) -> None:
    """Convert a case, with a bar on stderr that goes away again, and say so. Ctrl+C leaves the case as it was."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=messages(), transient=True) as bar:
        task = bar.add_task("copied", total=None)

        def tell(phase: Phase, done: int, total: int) -> None:
            bar.update(task, description=one_line(f"{case.name}: {phase}"), completed=done, total=total or None)

        made = work(tell)
    what = "encrypted" if made.is_encrypted else "not encrypted any more"
    sums = f", {counted(made.rows, 'row')} in {counted(made.tables, 'table')} compared"
    output().print(styled((f"{case} is {what}", "bold"), sums), soft_wrap=True)
    if made.is_encrypted:
        messages().print("Copies made before, and what was deleted, may still be on the disk.", soft_wrap=True)
        if copies := conversion.plain_copies_beside(case):
            messages().print(styled((one_line(copies), "yellow")), soft_wrap=True)
    _say_not_recorded(record_conversion(case, event))


def _show(case: Path, result: Verification) -> None:
    """List what differs, and say what that makes of the case."""
    console = output()
    for difference in result.differences:
        named = one_line(": ".join(filter(None, (difference.part, difference.name))))
        console.print(styled((named, "bold"), ": ", one_line(difference.problem)), soft_wrap=True)
    for left_out in result.not_checked:
        console.print(styled(("not checked: ", "yellow"), one_line(left_out)), soft_wrap=True)
    if result.is_sound:
        checked = f"{case} is as it was written: {counted(result.rows, 'value')} compared with their checksums"
        console.print(styled((one_line(checked), "green")), soft_wrap=True)
        return
    verdict = f"{case} is damaged: {counted(len(result.differences), 'difference')}"
    console.print(styled((one_line(verdict), "bold red")), soft_wrap=True)
    messages().print("Restore a backup, or save what can be read: `redwell case repair`.", soft_wrap=True)
