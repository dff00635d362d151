"""`redwell ledger`: what became of every file and every row."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Annotated, Any

import typer

from engine.cli.console import COMMAND_SETTINGS, output, styled, write_json
from engine.cli.ledger_view import (
    calls_view,
    decisions_view,
    failed_files,
    failed_rows,
    files_view,
    ledger_view,
    notes_view,
    rejected_rows,
    unread_view,
)
from engine.cli.options import CaseArgument, RunOption, find_run
from storage.case import Case
from storage.runs import StoredRun

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def ledger(
    case: CaseArgument,
    run: RunOption = "",
    failed: Annotated[
        bool, typer.Option("--failed", help="List files and rows that failed, with the reasons.")
    ] = False,
    rejected: Annotated[
        bool, typer.Option("--rejected", help="List rows that an operator left out, with the reasons.")
    ] = False,
    decisions: Annotated[bool, typer.Option("--decisions", help="List verdicts about pairs and names.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write everything as one JSON object.")] = False,
) -> None:
    """Show what became of every file and every row of a run; before the first run, of the files that were read."""
    with Case(case, read_only=True) as opened:
        if not run and not opened.runs.all():
            _show_files(opened, failed=failed, as_json=as_json)
            return
        chosen = find_run(opened, run, with_results=False)
        if as_json:
            write_json(everything(opened, chosen), indent=1)
            return
        console = output()
        console.print(styled((f"Run {chosen.id}", "bold"), f" of {opened.path.name}: {_when(chosen)}"))
        console.print(ledger_view(opened.ledger.sums(chosen.id)))
        if calls := calls_view(opened.replies, chosen.id):
            console.print(calls)
        if notes := notes_view(opened.ledger.decisions(chosen.id)):
            console.print(notes)
        if unread := unread_view(opened):
            console.print(unread)
        if failed or rejected or decisions:
            console.print()
        if failed:
            _show_failed(opened, chosen.id)
        if rejected:
            console.print(rejected_rows(opened, chosen.id, opened.ledger.fates(chosen.id, fate="rejected")))
        if decisions:
            console.print(decisions_view(opened.ledger.decisions(chosen.id)))


def _show_files(case: Case, *, failed: bool, as_json: bool) -> None:
    """Show the files of a case in which no pipeline has run."""
    sums, failures = case.ledger.case_document_sums(), case.documents.failures()
    if as_json:
        files = [dataclasses.asdict(file) for file in failures]
        report = {"run": None, "failed": sums.failed, "documents": dataclasses.asdict(sums), "files": files}
        write_json(report | _unread(case), indent=1)
        return
    console = output()
    console.print(styled(f"No pipeline has run in {case.path.name} yet."))
    console.print(files_view(sums))
    if unread := unread_view(case):
        console.print(unread)
    if failed:
        console.print()
        console.print(failed_files(failures) if failures else "Nothing failed.")


def _show_failed(case: Case, run_id: str) -> None:
    files, rows = case.ledger.run_documents(run_id, "failed"), case.ledger.fates(run_id, fate="failed")
    if files:
        output().print(failed_files(files))
    if rows:
        output().print(failed_rows(case, run_id, rows))
    if not files and not rows:
        output().print("Nothing failed.")


def everything(case: Case, run: StoredRun) -> dict[str, Any]:
    """Return the whole ledger of a run as JSON values."""
    sums = case.ledger.sums(run.id)
    return {
        "run": {"id": run.id, "status": run.status, "started_at": run.started_at, "finished_at": run.finished_at},
        "model": run.model_name,
        "adds_up": sums.adds_up,
        "failed": sums.failed,
        "documents": dataclasses.asdict(sums.documents),
        "operators": [dataclasses.asdict(operator) for operator in sums.operators],
        "files": [dataclasses.asdict(record) for record in case.ledger.run_documents(run.id)],
        "rows": [
            {"operator": fate.operator, **dataclasses.asdict(fate.record)}
            for fate in case.ledger.fates(run.id)
            if fate.record.fate != "output"
        ],
        "decisions": [{"operator": d.operator, **dataclasses.asdict(d.record)} for d in case.ledger.decisions(run.id)],
        "model_calls": case.replies.calls_of_run(run.id),
        **_unread(case),
        "model_calls_unfinished": case.replies.unfinished_calls_of_run(run.id),
        "model_calls_repeated": case.replies.repeated_calls_of_run(run.id),
    }


def _unread(case: Case) -> dict[str, Any]:
    """Return what of the documents of a case was not read, and its pages with hidden text."""
    warnings = [dataclasses.asdict(warning) for warning in case.documents.warnings()]
    return {"hidden_pages": dict(case.listing.count_hidden_pages()), "warnings": warnings}


def _when(run: StoredRun) -> str:
    ended = f", ended {_time(run.finished_at)}" if run.finished_at else ""
    return f"{run.status}, started {_time(run.started_at)}{ended}"


def _time(stored: str) -> str:
    """Write a stored time (UTC) in the zone of this machine."""
    return datetime.fromisoformat(stored).astimezone().strftime("%Y-%m-%d %H:%M:%S")
