"""What `redwell eval` takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

WhatArgument = Annotated[
    str,
    typer.Argument(
        metavar="TASK|FOLDER",
        help="A task of the paper (contracts, reviews, casefiles, reactions, police), or a sample case: a folder "
        "with pipelines (*.yaml), records and gold.json.",
        show_default=False,
    ),
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="FOLDER", help="The task's data, where they are elsewhere.")
]
OptimisedOption = Annotated[
    Path | None,
    typer.Option("--optimised", metavar="FILE", help="Run this pipeline too, beside the task's own."),
]
BuildOption = Annotated[
    bool, typer.Option("--build", help="Find an optimised pipeline first, on documents that are not scored.")
]
BuildMinutesOption = Annotated[
    float | None,
    typer.Option("--minutes", metavar="N", help="Of --build: it takes no longer than so many; 20 if not given."),
]
PipelineOption = Annotated[
    Path | None, typer.Option("--pipeline", metavar="FILE", help="A pipeline in place of the task's own.")
]
SeedsOption = Annotated[int, typer.Option("--seeds", min=1, help="Run each pipeline so often.")]
SideBySideOption = Annotated[
    bool,
    typer.Option("--side-by-side", help="Run the seeds at once on one model, which reads each document once for all."),
]
JudgeOption = Annotated[
    bool,
    typer.Option("--judge/--no-judge", help="Let a model decide the task's criteria about each row, where it has any."),
]
TemperatureOption = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        min=0,
        help="Of all runs; if not given, the pipeline's own, or 0.3 for several seeds of a pipeline at 0.",
        show_default=False,
    ),
]
SplitOption = Annotated[
    Literal["dev", "sample"], typer.Option("--split", help="The documents that are scored, or those to build on.")
]
DocumentsOption = Annotated[
    int | None, typer.Option("--documents", min=1, metavar="N", help="Score the first N documents only.")
]
JsonOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Where the JSON goes; eval-TASK.json if not given.")
]
KeepOption = Annotated[
    Path | None, typer.Option("--keep", metavar="FOLDER", help="Keep the task's cases here, and go on from them.")
]
SampleCaseOption = Annotated[
    Path | None,
    typer.Option("--case", metavar="FILE", help="Of a sample case: keep its case here and use its replies."),
]
ModelOption = Annotated[str, typer.Option("--model", metavar="NAME", help="A model in place of the pipelines' own.")]
