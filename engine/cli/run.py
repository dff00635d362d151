"""`redwell run`: the main job."""

from __future__ import annotations

from typing import Annotated

import typer

from engine.cli.console import COMMAND_SETTINGS, counted, messages, one_line, output, shell_word, styled
from engine.cli.custody import SignOption, SignPassphraseFileOption, chosen_signer
from engine.cli.interrupting import run_interruptible
from engine.cli.ledger_view import failed_files, failed_rows, ledger_view, notes_view, rejections_view
from engine.cli.local_models import LocalModels
from engine.cli.options import (
    BomOption,
    ColumnsOption,
    InputOption,
    ListsOption,
    OutOption,
    PipelineArgument,
    PipelineCaseOption,
    QuietOption,
    split_columns,
)
from engine.cli.results_view import results_view, show_written
from engine.cli.run_settings import EVERY, takes_settings
from engine.cli.watching import SHOWN_PROBLEMS, Watch, choose_watch
from engine.errors import UsageError
from engine.executor.run import run_pipeline
from engine.executor.run_state import CallState
from engine.executor.settings import RunSettings
from engine.results.hidden import hidden_warning
from engine.results.same_question import new_rows
from engine.worker.exit_codes import INTERRUPTED
from engine.worker.exports import OutputOptions
from engine.worker.jobs import NewModels, ReadyRun, RunJob, default_case, make_ready, write_results
from engine.worker.model_choice import Models
from storage.case import Case
from storage.evidence import NOT_LOCATED
from storage.export.table import ResultTable

app = typer.Typer(**COMMAND_SETTINGS)

new_models: NewModels = LocalModels
"""Makes the models of a run; tests put scripted ones here."""


@app.command()
@takes_settings(*EVERY)
def run(  # noqa: PLR0913 - one parameter per option
    pipeline: PipelineArgument,
    *,
    input: InputOption = None,
    case: PipelineCaseOption = None,
    out: OutOption = None,
    columns: ColumnsOption = "",
    bom: BomOption = False,
    lists: ListsOption = "json",
    sign: SignOption = None,
    sign_passphrase_file: SignPassphraseFileOption = None,
    quiet: QuietOption = False,
    json_events: Annotated[
        bool, typer.Option("--json-events", help="Write events to stdout as JSON lines, in place of the table.")
    ] = False,
    settings: RunSettings,
) -> None:
    """Run a pipeline over a folder of records; show and write the table.

    Everything is kept in the case file, so the same command resumes after a stop and asks the model nothing twice.
    The exit code is 0 if every row was output or rejected, 1 if some files or rows failed, 2 for a wrong command or
    pipeline, 3 if something is missing on this machine.
    """
    job = RunJob(
        pipeline=pipeline,
        case=case or default_case(pipeline),
        inputs=tuple(input or ()),
        outs=tuple(out or ()),
        settings=settings,
        output=OutputOptions(split_columns(columns), bom, lists, signer=chosen_signer(sign, sign_passphrase_file)),
    )
    models = new_models()
    ready = make_ready(job, models)
    if sign and not ready.outs:
        raise UsageError("--sign signs files, and none is written", advice="Name one with --out, or leave out --sign.")
    watch = choose_watch(quiet=quiet, json_events=json_events)
    with Case(job.case) as opened:
        code = carry_out(ready, models, opened, watch, silent=quiet or json_events)
    raise typer.Exit(code)


def carry_out(ready: ReadyRun, models: Models, case: Case, watch: Watch, *, silent: bool) -> int:
    """Run a job that passed its checks, write and print its results; returns the exit code."""
    try:
        with watch:
            result = run_interruptible(
                run_pipeline(
                    ready.loaded,
                    case,
                    open_model=models.open_model,
                    open_embedder=models.open_embedder,
                    emit=watch.take,
                    options=ready.options,
                )
            )
    except KeyboardInterrupt:
        _say_stopped(case)
        return INTERRUPTED
    table, written = write_results(ready, case, result.run_id)
    if written and (warning := hidden_warning(case, result.run_id)):
        messages().print(styled(("Note ", "bold yellow"), one_line(warning)), soft_wrap=True)
    if not silent:
        report(case, result.run_id, table, watch.state.calls)
        if written:
            output().print()
        show_written(written)
        _say_evidence(case, result.run_id, table)
    elif result.failed_items:
        _show_failed(case, result.run_id)
    return result.exit_code


def report(case: Case, run_id: str, table: ResultTable, calls: CallState) -> None:
    """Print the table, the ledger, the model calls and all that failed."""
    console = output()
    new = new_rows(case, run_id)
    since = f", {len(new):,} of them new since the last run" if new else ", none of them new" if new is not None else ""
    console.print(
        styled((f"{counted(len(table.rows), 'result')}", "bold"), f" (run {run_id} of {case.path.name}){since}")
    )
    console.print(results_view(table, console.width))
    console.print()
    console.print(ledger_view(case.ledger.sums(run_id)))
    if rejected := case.ledger.fates(run_id, fate="rejected"):
        console.print()
        console.print(rejections_view(rejected))
    if notes := notes_view(case.ledger.decisions(run_id)):
        console.print()
        console.print(notes)
    console.print()
    console.print(styled(("Model   ", "bold"), calls_text(calls)))
    _show_failed(case, run_id)


def calls_text(calls: CallState) -> str:
    """Sum up the model calls of a run."""
    if not calls.made:
        cached = counted(calls.from_cache, "reply", "replies")
        return f"no calls; all {cached} came from the case." if calls.from_cache else "no calls."
    tokens = (
        f"{calls.prompt_tokens:,} prompt tokens ({calls.reused_tokens:,} reused), {calls.sampled_tokens:,} tokens "
        f"sampled, {calls.forced_tokens:,} forced by the schema"
    )
    return f"{counted(calls.made, 'call')} made, {calls.from_cache:,} from the case. {tokens}."


def _show_failed(case: Case, run_id: str) -> None:
    """List what failed; to stderr, so that it is seen when the table goes to a file."""
    console = messages()
    files, rows = case.ledger.run_documents(run_id, "failed"), case.ledger.fates(run_id, fate="failed")
    if files:
        console.print()
        console.print(failed_files(files, SHOWN_PROBLEMS))
    if rows:
        console.print()
        console.print(failed_rows(case, run_id, rows, SHOWN_PROBLEMS))
    if max(len(files), len(rows)) > SHOWN_PROBLEMS:
        command = f"redwell ledger {shell_word(case.path)} --failed"
        console.print(styled("all of them: ", (command, "bold")), soft_wrap=True)


def _say_evidence(case: Case, run_id: str, table: ResultTable) -> None:
    """Name the command that opens the evidence of a cell which has some."""
    for number, row in enumerate(table.rows, 1):
        for column in table.columns:
            citations = [c for c in row.citations.get(column, ()) if c.method != NOT_LOCATED]
            if citations and column not in ("filename", "path"):
                command = f"redwell trace {shell_word(case.path)} {number} {shell_word(column)}"
                output().print(styled(("Evidence", "bold"), " of a cell: ", (command, "bold cyan")), soft_wrap=True)
                return


def _say_stopped(case: Case) -> None:
    run = case.runs.latest()
    kept = sum(case.replies.calls_of_run(run.id).values()) if run else 0
    replies = f"{counted(kept, 'reply', 'replies')} of the model and all parsed files are kept in {case.path.name}"
    console = messages()
    text = styled(("Stopped. ", "bold"), f"{replies}. Run the same command again to go on from there.")
    console.print(text, soft_wrap=not console.is_terminal)
