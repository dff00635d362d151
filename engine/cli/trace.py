"""`redwell trace`: from a cell of the table to the lines of the records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from engine.cli.console import counted, messages, one_line, output, styled, visible
from engine.cli.evidence_view import Generation, Leaf, TracedRow, find_row
from engine.cli.failure import show_problem
from engine.cli.ledger_view import decisions_view
from engine.cli.options import CaseArgument, RunOption, find_run
from engine.cli.passwords import PasswordOption
from engine.cli.results_view import shown_value
from engine.cli.settings import COMMAND_SETTINGS
from engine.custody.guard import change_warning
from engine.documents.options import ParseOptions
from engine.errors import DocumentError, UsageError
from engine.results.hidden import HIDDEN_WORDS
from engine.worker.page_images import draw, marked_pages
from storage.case import Case
from storage.evidence import NOT_LOCATED, EvidenceRecord

app = typer.Typer(**COMMAND_SETTINGS)

SHOWN_FILES = 6

METHODS = {
    "exact": "exact",
    "normalised": "normalised: but for spaces, case, hyphens or quotation marks",
    "date": "by value: this date",
    "number": "by value: this number",
    "name": "by value: a form of this name",
    "fuzzy": "fuzzy",
    "quote": "not itself in the text: the quote it was drawn from",
    "document": "the file itself",
}
"""How a value was found (engine.evidence.locate.Method), in words."""


@app.command()
def trace(
    case: CaseArgument,
    row: Annotated[
        str, typer.Argument(metavar="ROW", help="The row's number in the table, its id, or the beginning of its id.")
    ],
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="A column; all if not given.")] = "",
    run: RunOption = "",
    replies: Annotated[
        bool, typer.Option("--replies", "--decisions", help="Show the verdicts about the names in this row.")
    ] = False,
    image: Annotated[
        Path | None, typer.Option("--image", metavar="FILE.png", help="Draw the pages with the lines marked.")
    ] = None,
    password: PasswordOption = None,
) -> None:
    """Show the lines of the records that a cell of the table comes from.

    Each value is shown with its file, page and lines, how it was found (exact, normalised, fuzzy with a score,
    by value), or that it was not located. Then come the operators that the row passed through. Ends with 1, and a
    warning, where the row or the lines differ from what was recorded of the run.
    """
    if image is not None:
        check_target(image)
    with Case(case, read_only=True) as opened:
        traced = find_row(opened, find_run(opened, run).id, row)
        columns = _chosen(traced, column)
        title = f"Row {traced.number} of run {traced.run_id}"
        output().print(styled((title, "bold"), (f"  id {traced.row.id}", "dim")))
        warning = change_warning(opened, traced.run_id, only={traced.row.id}, reviews=False)
        if warning:
            messages().print(styled(("WARNING: ", "bold red"), warning), soft_wrap=True)
        leaves = [leaf for name in columns for leaf in _show_column(traced, name)]
        _show_lineage(traced.generations())
        if replies:
            output().print(decisions_view(list(traced.decisions())))
        if image is not None:
            places = [place for leaf in leaves for place in leaf.places]
            code = _draw(opened, places, image, ParseOptions(password=password))
            raise typer.Exit(1 if warning else code)
        if warning:
            raise typer.Exit(1)


def _chosen(traced: TracedRow, column: str) -> Sequence[str]:
    if not column:
        return traced.columns
    if column not in traced.columns:
        raise UsageError(f"the table has no column {column!r}", advice=f"Columns: {', '.join(traced.columns)}.")
    return [column]


def _show_column(traced: TracedRow, column: str) -> list[Leaf]:
    leaves = traced.leaves(column)
    console = output()
    console.print()
    if not leaves:
        value = shown_value(traced.row.values.get(column))
        console.print(styled((one_line(column), "bold cyan"), "  ", value or ("empty", "dim")))
    for leaf in leaves:
        console.print(styled((one_line(leaf.path), "bold cyan"), "  ", shown_value(leaf.value)))
        for place in leaf.places:
            _show_place(traced, place)
    return leaves


def _show_place(traced: TracedRow, place: EvidenceRecord) -> None:
    console = output()
    if place.method == NOT_LOCATED:
        console.print(styled("  ", ("not located in the records", "bold yellow")))
        return
    console.print(styled("  ", (visible(traced.citation(place)), "bold"), (f"  {_method(place)}", "dim")))
    lines = traced.lines(place) if place.method != "document" else []
    width = len(str(lines[-1].number)) if lines else 0
    for line in lines:
        style = "dim" if line.is_context else ""
        mark = " " if line.is_context else "│"
        text = Text(f"  {mark} {line.number:>{width}}  {visible(line.text)}", style=style)
        if line.hidden:
            text.append(f"  (not shown by the page: {HIDDEN_WORDS.get(line.hidden, line.hidden)})", "bold yellow")
        console.print(text, soft_wrap=not console.is_terminal)


def _method(place: EvidenceRecord) -> str:
    score = f", score {place.score:.2f}" if place.score is not None and place.score < 1 else ""
    return METHODS.get(place.method, place.method) + score


def _show_lineage(generations: Sequence[Generation]) -> None:
    console = output()
    console.print()
    console.print(styled(("How this row was made", "bold")))
    for generation in generations:
        files = [one_line(name) for name in generation.files[:SHOWN_FILES]]
        more = len(generation.files) - len(files)
        names = ", ".join(files) + (f" and {more} more" if more > 0 else "")
        from_files = f" from {names}" if names else ""
        console.print(
            styled(f"  {one_line(generation.operator)}: {counted(generation.rows, 'row')}", (from_files, "dim"))
        )


def _draw(case: Case, places: Sequence[EvidenceRecord], target: Path, options: ParseOptions) -> int:
    """Draw each page that has evidence; return the exit code: 1 when there was none to draw or one failed."""
    pages = marked_pages(case, places)
    if not pages:
        messages().print("There is no picture to draw: nothing here was located in a record.")
        return 1
    failed = 0
    for index, page in enumerate(pages):
        out = image_path(target, index, len(pages))
        try:
            draw(case, page, out, options)
        except DocumentError as error:
            failed += 1
            show_problem(f"no picture of page {page.page}", str(error), error.advice)
        else:
            output().print(f"Written {out}: page {page.page}", soft_wrap=True)
    return 1 if failed else 0


def image_path(target: Path, index: int, count: int) -> Path:
    """Name the picture at `index` of `count`: the target itself, or numbered when there are several."""
    return target if count == 1 else target.with_name(f"{target.stem}-{index + 1}{target.suffix}")


def check_target(target: Path) -> None:
    """Raise UsageError unless pictures can be written there."""
    if target.suffix.lower() != ".png":
        raise UsageError(f"--image {target}: pictures are PNG files", advice="Name it FILE.png.")
    if not target.parent.is_dir():
        raise UsageError(f"--image {target}: there is no folder {target.parent}", advice="Make the folder first.")
