"""Run the same again on the same documents, with every reply asked anew, and compare the results row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.custody.recording import weights_of_run
from engine.documents.leftovers import scratch_folder
from engine.executor.case_documents import load_document, save_document
from engine.executor.events import Emit, Warned
from engine.executor.run import RunOptions, row_of, run_pipeline
from engine.executor.settings import RunSettings
from engine.loader import Loaded, parse_pipeline
from engine.rows import Row
from engine.worker.allowed import note_allowed
from engine.worker.model_choice import Models, settled
from storage import passphrases
from storage.case import Case
from storage.runs import StoredRun


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that differs between two runs, or a row that only one of them has.

    `number` is that of the row in the first run, from 1, or in the second where only that has it. For a whole row
    `column` is empty, and `before` or `after` is None.
    """

    number: int
    row_id: str
    column: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two runs of one pipeline agree. `weights` are by model name: SHA-256 in the first run and in the second."""

    rows_before: int
    rows_after: int
    same_rows: int
    differences: tuple[Difference, ...]
    weights: Mapping[str, tuple[str, str]]

    @property
    def is_same(self) -> bool:
        """Say whether no row differs."""
        return not self.differences

    @property
    def other_weights(self) -> tuple[str, ...]:
        """Name the models that are not the same files as in the first run, or that the log says nothing of."""
        return tuple(name for name, (before, after) in self.weights.items() if before != after)


async def run_again(
    case: Case, run: StoredRun, models: Models, emit: Emit, settings: RunSettings | None = None
) -> Comparison:
    """Run the pipeline of a run on the rows that its datasets gave then, in a case that is thrown away, and compare.

    No file is read again and no reply comes from the case. The model is that of the run, whatever `settings` say.
    Raises what a run raises.
    """
    settings = settings or RunSettings()
    models.apply(settings)
    if problem := note_allowed(case, f"rerun of run {run.id}", settings.allow_hosts):
        emit(Warned(problem))
    loaded = parse_pipeline(run.pipeline_yaml, directory=case.path.parent)
    chosen = run.model_name if run.model_name != loaded.plan.default_model else ""
    loaded = settled(loaded, chosen, models)
    kept = kept_rows(case, run.id, loaded)
    columns = tuple(run.settings.get("columns", ()))
    options = RunOptions(replace(settings, model=chosen), columns, kept=kept)
    with scratch_folder() as folder:
        path = folder / "again.redwell"
        if case.is_encrypted:
            passphrases.share(case.path, path)
        try:
            with Case(path) as again:
                _copy_documents(case, again, kept)
                result = await run_pipeline(
                    loaded,
                    again,
                    open_model=models.open_model,
                    open_embedder=models.open_embedder,
                    emit=emit,
                    options=options,
                )
                return compare(case, run.id, again, result.run_id)
        finally:
            passphrases.forget(path)


def kept_rows(case: Case, run_id: str, loaded: Loaded) -> dict[str, tuple[Row, ...]]:
    """Return the rows that each dataset of a run gave, by its name."""
    made = {operator.operator for operator in case.ledger.sums(run_id).operators}
    names = [dataset.name for dataset in loaded.plan.datasets if dataset.name in made]
    return {name: tuple(map(row_of, case.rows.of_operator(run_id, name))) for name in names}


def _copy_documents(case: Case, again: Case, kept: Mapping[str, Sequence[Row]]) -> None:
    ids = dict.fromkeys(row.document_id for rows in kept.values() for row in rows if row.document_id is not None)
    for id in ids:
        with again.transaction():
            save_document(again, load_document(case, id))
            for path in case.documents.paths(id):
                again.documents.add_path(id, path.path)


def compare(first: Case, first_run: str, second: Case, second_run: str) -> Comparison:
    """Compare the results of two runs: rows by their id, which tells how a row was made, and value by value."""
    before = {row.id: row for row in first.result_rows.read(first_run)}
    after = {row.id: row for row in second.result_rows.read(second_run)}
    columns = tuple(dict.fromkeys([*first.result_rows.columns(first_run), *second.result_rows.columns(second_run)]))
    differences: list[Difference] = []
    same = 0
    for id, row in before.items():
        other = after.get(id)
        if other is None:
            differences.append(Difference(row.number + 1, id, "", row.values, None))
            continue
        changed = list(_changed(row.number + 1, id, row.values, other.values, columns))
        differences += changed
        same += not changed
    added = [row for id, row in after.items() if id not in before]
    differences += [Difference(row.number + 1, row.id, "", None, row.values) for row in added]
    old, new = weights_of_run(first.custody, first_run), weights_of_run(second.custody, second_run)
    weights = {name: (old.get(name, ""), new.get(name, "")) for name in dict.fromkeys([*old, *new])}
    return Comparison(len(before), len(after), same, tuple(differences), weights)


def _changed(
    number: int, id: str, before: Mapping[str, Any], after: Mapping[str, Any], columns: Sequence[str]
) -> Iterator[Difference]:
    for column in columns:
        if before.get(column) != after.get(column):
            yield Difference(number, id, column, before.get(column), after.get(column))
