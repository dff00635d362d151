"""`redwell ask`: a question in plain words becomes a table."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from engine.ask.drafting import Draft, changes, draft_once, revise_once
from engine.ask.pipeline import columns_of, pipeline_text
from engine.ask.proposal import Proposal, described
from engine.cli import run as run_command
from engine.cli.console import COMMAND_SETTINGS, messages, output, shell_word, styled
from engine.cli.new import write_new
from engine.cli.options import OutOption, QuietOption
from engine.cli.passphrases import has_terminal
from engine.cli.run_settings import EVERY, takes_settings
from engine.cli.watching import choose_watch
from engine.custody.manifest import with_manifests
from engine.documents.leftovers import scratch_folder
from engine.errors import UsageError
from engine.executor.settings import RunSettings
from engine.worker.crossings import refuse_foreign
from engine.worker.exit_codes import INTERRUPTED
from engine.worker.exports import OutputOptions
from engine.worker.jobs import RunJob, check_outs, check_writable, make_ready
from engine.worker.model_choice import open_or_say_why
from models.protocol import ModelBackend
from storage.case import Case

app = typer.Typer(**COMMAND_SETTINGS)

_YES = frozenset({"y", "yes", "run", "ok"})
_NO = frozenset({"n", "no", "q", "quit", "stop"})


@app.command()
@takes_settings(*(name for name in EVERY if name != "trust_code"))
def ask(  # noqa: PLR0913 - one parameter per option
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.", show_default=False)],
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="The documents; those of --case if not given.", show_default=False),
    ] = None,
    *,
    out: OutOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Run at once, without asking.")] = False,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Keep the pipeline (YAML), to change and run again.")
    ] = None,
    note: Annotated[
        list[str] | None,
        typer.Option("--note", metavar="TEXT", help="Change the proposal in plain words. May be repeated."),
    ] = None,
    case: Annotated[
        Path | None,
        typer.Option("--case", metavar="FILE", help="The case file; FOLDER's name with .redwell if not given."),
    ] = None,
    quiet: QuietOption = False,
    settings: RunSettings,
) -> None:
    """Ask a folder of records a question in plain words: a table is proposed, then filled.

    You can answer the proposal with a change in plain words ("split make and model", "only cars, not weapons"). With
    --save and without FOLDER, --case and --out, the pipeline is written and nothing is run. The exit codes are those of
    `redwell run`.
    """
    runs = folder is not None or case is not None
    outs = tuple(out or ())
    _check_order(folder, case, save, outs)
    if not settings.overwrite:
        refuse_foreign(with_manifests(outs), case or _case_of(folder))
    proposal = _agreed(question, note or [], settings, runs=runs, asks=runs and not yes)
    if proposal is None:
        messages().print("Nothing was run.")
        raise typer.Exit
    text = pipeline_text(proposal, model=settings.model)
    if save is not None:
        write_new(save, text)
        messages().print(styled(("Written ", "bold"), str(save)), soft_wrap=True)
    if not runs:
        return
    with scratch_folder() as scratch:
        file = save or scratch / "ask.yaml"
        if save is None:
            file.write_text(text, encoding="utf-8")
        job = RunJob(
            pipeline=file,
            case=case or _case_of(folder),
            inputs=(str(folder.resolve()),) if folder is not None else (),  # one called a=b or case: is a folder, too
            outs=outs,
            settings=settings,
            output=OutputOptions(tuple(columns_of(proposal))),
        )
        raise typer.Exit(_run(job, quiet=quiet))


def _check_order(folder: Path | None, case: Path | None, save: Path | None, outs: tuple[Path, ...]) -> None:
    """Refuse before a model is loaded what could not be run after it. Raises UsageError or ExportError."""
    if folder is None and case is None and not save:
        raise UsageError("there are no documents to ask", advice="Name a folder, or a case that has read one: --case.")
    if folder is None and case is None and outs:
        raise UsageError("nothing is run, so nothing comes into --out", advice="Name a folder, or a case: --case.")
    if folder is None and case is not None and not case.is_file():
        raise UsageError(f"there is no case {case}", advice="Name a folder, or a case that has read one.")
    if save is not None and save.exists():
        raise UsageError(f"{save} is there already", advice="Name a new file.")
    if save is not None:
        check_writable(save)
    if folder is not None:
        _check_folder(folder, (*outs, *([save] if save is not None else [])))
    check_outs(outs, case=case or _case_of(folder))


def _check_folder(folder: Path, written: Sequence[Path]) -> None:
    """Refuse a folder without documents, and files that would lie in it. Raises UsageError."""
    if not folder.exists():
        raise UsageError(f"there is no folder or file {folder}", advice="Check the path.")
    for file in written:
        if file.resolve().is_relative_to(folder.resolve()):
            raise UsageError(f"{file} would be read as a record of {folder}", advice="Name a file in another folder.")
    if folder.is_dir() and not any(path.is_file() for path in folder.rglob("*")):
        raise UsageError(f"there are no files in {folder}", advice="Give a folder that holds documents.")


def _run(job: RunJob, *, quiet: bool) -> int:
    models = run_command.new_models()
    ready = make_ready(job, models)
    with Case(job.case) as opened:
        watch = choose_watch(quiet=quiet, json_events=False)
        code = run_command.carry_out(ready, models, opened, watch, silent=quiet)
    if not quiet and code != INTERRUPTED:
        _say_next(job.case)
    return code


def _agreed(question: str, notes: list[str], settings: RunSettings, *, runs: bool, asks: bool) -> Proposal | None:
    """Draft the table, show it, and change it until the user agrees; None where the user wants none.

    Without a model nothing could be run, which is said first; a pipeline that is only saved is drafted without one.
    """
    made = asyncio.run(draft_once(question, notes, *_opened(settings, is_needed=runs)))
    _show(made)
    while asks:
        answer = _answer()
        if not answer:
            continue  # blanks say nothing
        if answer.lower() in _YES:
            break
        if answer.lower() in _NO:
            return None
        changed = asyncio.run(revise_once(made.proposal, answer, *_opened(settings, is_needed=runs)))
        for sentence in changes(made.proposal, changed.proposal) or ["Nothing changed."]:
            messages().print(f"  {sentence}", markup=False, soft_wrap=True)
        made = changed
        _show(made)
    return made.proposal


def _answer() -> str:
    """Ask what is to be done with the proposal; raises UsageError where nobody can say, Abort where somebody stops."""
    try:
        text: str = typer.prompt("Run it? [Y/n, or say what to change]", default="y", show_default=False, err=True)
    except typer.Abort:
        if has_terminal():
            raise
        raise UsageError("nobody can agree here", advice="Add --yes.") from None
    return text.strip()


def _opened(settings: RunSettings, *, is_needed: bool) -> tuple[ModelBackend | None, str]:
    models, model = run_command.new_models(), settings.model
    models.apply(settings)
    if is_needed:
        models.stand_in(model, is_chosen=bool(model))
    return open_or_say_why(models, model)


def _show(made: Draft) -> None:
    console, proposal = messages(), made.proposal
    if made.problem:
        console.print(
            f"Drafted from the words of the question alone, because {made.problem}.", markup=False, soft_wrap=True
        )
    row = f"{proposal.row} and document" if proposal.row else "document"
    console.print(styled("One row per ", (row, "bold"), ", with"), soft_wrap=True)
    for column in proposal.columns:
        console.print(styled("  ", (column.name, "bold"), f"  {described(column).removeprefix(column.name).strip()}"))
    for wish in proposal.notes:
        console.print(f"The model is also told: {wish}", markup=False, soft_wrap=True)


def _case_of(folder: Path | None) -> Path:
    if folder is None:
        return Path.cwd() / "ask.redwell"
    path = folder.resolve()
    return Path.cwd() / f"{path.name if path.is_dir() else path.stem}.redwell"  # a folder may be called 2024.01


def _say_next(case: Path) -> None:
    word = shell_word(case)
    console = output()
    console.print()
    console.print("Next: look at every row before you rely on it.")
    for command, what in (
        (f"redwell desktop {word}", "review the rows, page by page"),
        (f"redwell trace {word} ROW COLUMN", "the lines that a cell comes from"),
        (f"redwell export {word} --out FILE", "write the table again, in any format"),
    ):
        console.print(styled("  ", (command, "bold cyan"), f"   {what}"), soft_wrap=True)
