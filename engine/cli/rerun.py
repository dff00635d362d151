"""`redwell rerun`: the same again, and what differs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import engine.cli.run as run_command
from engine.cli.console import COMMAND_SETTINGS, counted, one_line, output, styled
from engine.cli.interrupting import run_interruptible
from engine.cli.options import CaseArgument, QuietOption, find_run
from engine.cli.results_view import shown_value
from engine.cli.run_settings import takes_settings
from engine.cli.watching import choose_watch
from engine.custody.recording import record_beside, weights_of_run
from engine.executor.settings import RunSettings
from engine.worker.exit_codes import INTERRUPTED
from engine.worker.rerun import Comparison, Difference, run_again
from models.errors import ModelError
from models.install import find_model
from models.selftest import run_selftest
from storage.case import Case

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
@takes_settings("trust_code", "allow_host", "cluster")
def rerun(
    case: CaseArgument,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Which run; the latest with results if not given.")] = "",
    compare: Annotated[
        bool, typer.Option("--compare", hidden=True, help="Changes nothing: rerun always compares.")
    ] = True,
    *,
    quiet: QuietOption = False,
    settings: RunSettings,
) -> None:
    """Run the pipeline of a run again on the same documents, every reply asked anew, and report what differs.

    The files are not read again, and the case keeps nothing of it but an entry in its custody log. Where replies depend
    on what else a machine is doing, rows may differ though nothing was changed: the report says whether that is so
    here. The exit code is 1 if a row differs.
    """
    watch = choose_watch(quiet=quiet, json_events=False)
    models = run_command.new_models()
    with Case(case, read_only=True) as opened:
        stored = find_run(opened, run)
        opened.result_rows.columns(stored.id)  # there must be something to compare with, before a model is asked
        work = run_again(opened, stored, models, watch.take, settings)
        try:
            with watch:
                comparison = run_interruptible(work)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        facts = {"run": stored.id, "rows": comparison.rows_before, "same_rows": comparison.same_rows}
        weights = {name: after for name, (_, after) in comparison.weights.items()}
        problem = record_beside(opened, "rerun", {**facts, "models": weights})
        asked = weights_of_run(opened.custody, stored.id)
    _report(stored.id, comparison)
    output().print(exactness(asked or dict.fromkeys(comparison.weights)), soft_wrap=True)
    if problem:
        output().print(problem, soft_wrap=True)
    raise typer.Exit(0 if comparison.is_same else 1)


def _report(run_id: str, comparison: Comparison) -> None:
    console = output()
    for difference in comparison.differences:
        console.print(_line(difference), soft_wrap=True)
    for name in comparison.other_weights:
        before, after = comparison.weights[name]
        text = f"Model {one_line(name)}: weights {before or 'not recorded'} then, {after or 'not asked'} now"
        console.print(styled((text, "bold yellow")), soft_wrap=True)
    verdict = (
        f"Run {run_id}: {comparison.same_rows:,} of {counted(comparison.rows_before, 'row')} are the same; "
        f"{counted(comparison.rows_after, 'row')} came out now."
    )
    console.print(styled((verdict, "bold green" if comparison.is_same else "bold red")), soft_wrap=True)


def _line(difference: Difference) -> Any:
    row = f"row {difference.number} (id {difference.row_id})"
    if difference.column:
        before, after = shown_value(difference.before) or "(empty)", shown_value(difference.after) or "(empty)"
        return styled((row, "bold"), f"  {one_line(difference.column)}: ", before, (" → ", "bold"), after)
    return styled((row, "bold"), "  came out then and not now" if difference.after is None else "  came out only now")


def exactness(models: dict[str, Any]) -> str:
    """Say whether replies can be the same to the last bit on this machine, by the self-test of each model asked."""
    lines = []
    for name in models:
        try:
            path = find_model(name).path
        except ModelError:
            lines.append(f"{one_line(name)}: whether its replies can be the same to the last bit is not known here.")
            continue
        if not path.is_file():
            lines.append(f"{one_line(name)}: whether its replies can be the same to the last bit is not tried.")
        elif run_selftest(path).reproducible:
            lines.append(f"{one_line(name)}: replies are the same to the last bit here, whatever else is asked.")
        else:
            lines.append(
                f"{one_line(name)}: replies are not the same to the last bit here when others are asked beside them, "
                "so a row may differ though nothing was changed (docs/decisions/0005)."
            )
    return "\n".join(lines) or "No model was asked: the results are those of code alone."
