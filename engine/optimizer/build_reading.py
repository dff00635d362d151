"""What a build reads: the rows of the datasets, and what people said of rows before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.errors import UsageError
from engine.executor.datasets import DatasetReader
from engine.executor.events import Emit
from engine.executor.parsing import ParsingFunctions
from engine.loader import Loaded
from engine.optimizer.build_options import BuildOptions
from engine.optimizer.file_draw import FileDraw
from engine.optimizer.gold import Gold, reviewed_gold
from engine.results.gold import gold_rows
from engine.rows import Row
from storage.case import Case


async def read_datasets(
    loaded: Loaded, case: Case, emit: Emit, options: BuildOptions, draw: FileDraw
) -> dict[str, Sequence[Row]]:
    """Read the datasets that a step needs, of folders the drawn files; what the case knows is not parsed again.

    Raises UsageError where there are no rows, or none on one side of a join: then nothing matches, whatever the plan.
    """
    plan = loaded.plan
    used = {name for step in plan.steps for name in plan.sources_of(step)}
    reader = DatasetReader(
        case=case,
        emit=emit,
        options=options.parse,
        workers=options.workers,
        directory=loaded.directory,
        tables={},
        choose=draw,
        borders=loaded.borders,
    )
    functions = ParsingFunctions(reader, plan.parsing_tools, trusts_code=options.trust_code)
    found: dict[str, Sequence[Row]] = {}
    for dataset in plan.datasets:
        if dataset.name in used:
            read = await reader.read(dataset)
            await functions.apply(dataset, read)
            found[dataset.name] = read.rows
    if not any(found.values()):
        raise UsageError("the datasets have no rows to try plans on", advice="Give other data with --input.")
    joined = {name for step in plan.steps if len(step.inputs) > 1 for name in step.inputs}
    for name in joined & found.keys():
        if not found[name]:
            advice = f"Give other data with --input {name}=PATH."
            raise UsageError(f"the dataset {name!r} has no rows, so nothing can be joined with it", advice=advice)
    return found


def reviewed_files(case: Case) -> frozenset[Path]:
    """Return the files of which a person judged rows of the last run with results."""
    runs = [run for run in case.runs() if case.results(run.id) is not None]
    documents = {name for row in gold_rows(case, runs[-1].id) for name in row.documents} if runs else set()
    return frozenset(Path(found.path) for name in documents for found in case.paths(name))


def reviewed(case: Case, datasets: Mapping[str, Sequence[Row]]) -> Gold:
    """Return what people said of the rows of the last run with results, by the rows of the same documents."""
    runs = [run for run in case.runs() if case.results(run.id) is not None]
    by_document = {row.document_id: row.id for rows in datasets.values() for row in rows if row.document_id}
    return reviewed_gold(case, runs[-1].id, by_document) if runs and by_document else Gold({})
