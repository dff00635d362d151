"""Options and arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from engine.errors import UsageError
from storage.case import Case
from storage.errors import ExportError
from storage.runs import StoredRun

CaseArgument = Annotated[Path, typer.Argument(metavar="CASE", help="The case file.", show_default=False)]
PipelineArgument = Annotated[
    Path, typer.Argument(metavar="PIPELINE", help="The pipeline file (YAML).", show_default=False)
]
PipelineCaseOption = Annotated[
    Path | None,
    typer.Option("--case", metavar="FILE", help="The case file; PIPELINE's name with .redwell if not given."),
]
RunOption = Annotated[
    str, typer.Option("--run", metavar="ID", help="Which run of the case; the latest with results if not given.")
]
InputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="[NAME=]PATH",
        help="A folder or file to read in place of a dataset. case: reads the documents of the case; "
        "case:starred=1, case:tag=NAME or case:words=WORDS reads some of them.",
    ),
]
OutOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write the results: .csv, .xlsx, .jsonl, .json, .parquet, .sqlite, or .pdf (a report); with "
        "`export` also .graphml or .ftm.json (a network). May be repeated.",
    ),
]
ColumnsOption = Annotated[str, typer.Option("--columns", metavar="A,B", help="Columns of the table, in order.")]
BomOption = Annotated[
    bool, typer.Option("--bom", help="Begin CSV with a byte order mark, so that Excel reads it as UTF-8.")
]
ListsOption = Annotated[
    Literal["json", "joined"], typer.Option("--lists", help="Write lists as JSON, or joined by semicolons.")
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Also replace existing files that Redwell did not write.")
]
NetworkOption = Annotated[
    bool,
    typer.Option(
        "--network",
        help="Let it reach the network: to install models, and for servers that `models add` has not named "
        "(docs/fence.md).",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show problems only.")]


def split_columns(text: str, option: str = "--columns") -> tuple[str, ...]:
    """Split `a,b`; empty for no choice. Raises UsageError for a column named twice."""
    columns = tuple(part.strip() for part in text.split(",") if part.strip())
    if len(set(columns)) < len(columns):
        raise UsageError(f"{option} {text} names a column twice", advice="Name each column once.")
    return columns


def find_run(case: Case, run_id: str, *, with_results: bool = True) -> StoredRun:
    """Find the run a command is about: the one named, else the latest (with results, if that is asked for).

    Raises UsageError listing the runs there are.
    """
    runs = case.runs.all()
    if run_id:
        named = next((run for run in runs if run.id == run_id), None)
        if named is None:
            ids = ", ".join(run.id for run in runs) or "none"
            raise UsageError(f"{case.path} has no run {run_id!r}", advice=f"Runs: {ids}.")
        return named
    if not runs:
        raise UsageError(f"no pipeline has run in {case.path}", advice="Run one: `redwell run PIPELINE --case FILE`.")
    run = case.runs.latest_delivered() if with_results else runs[-1]
    if run is None:
        raise ExportError(
            f"no run of {case.path} has delivered results yet", advice="Run it again: it goes on where it stopped."
        )
    return run
