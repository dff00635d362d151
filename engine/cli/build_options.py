"""What `redwell build` takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PipelineArgument = Annotated[
    Path, typer.Argument(metavar="PIPELINE", help="The pipeline file (YAML).", show_default=False)
]
OutOption = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="Where the chosen pipeline is written (.yaml).")
]
CaseOption = Annotated[
    Path | None,
    typer.Option("--case", metavar="FILE", help="The case file; PIPELINE's name with .redwell if not given."),
]
MinutesOption = Annotated[
    float, typer.Option("--minutes", metavar="N", help="The whole build takes no longer than so many minutes.")
]
SampleOption = Annotated[int, typer.Option("--sample", metavar="N", min=1, help="Documents on which plans are tried.")]
PolicyOption = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help='Which plan is chosen: best, fastest (of those as good as yours), or "within-minutes N" for a run '
        "over all documents.",
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write what was tried and why (.html, and .json beside it)."),
]
ModelOption = Annotated[
    str, typer.Option("--model", metavar="NAME", help="A model in place of those that the pipeline names.")
]
AgentModelOption = Annotated[
    str, typer.Option("--agent-model", metavar="NAME", help="Who proposes prompts; the pipeline's if not given.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Another draw of documents.")]
JsonEventsOption = Annotated[
    bool, typer.Option("--json-events", help="Write events to stdout as JSON lines, in place of the summary.")
]
