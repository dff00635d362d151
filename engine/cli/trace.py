"""`redwell trace`: from a cell of the table to the lines of the records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from engine.cli.console import COMMAND_SETTINGS, counted, messages, one_line, output, show_problem, styled, visible
from engine.cli.ledger_view import decisions_view
from engine.cli.options import CaseArgument, OverwriteOption, RunOption, find_run
from engine.cli.passwords import PasswordOption
from engine.cli.results_view import shown_value
from engine.custody.guard import change_warning
from engine.documents.options import ParseOptions
from engine.errors import DocumentError, UsageError
from engine.results.hidden import HIDDEN_WORDS
from engine.worker.crossings import recorded
from engine.worker.page_images import draw, marked_pages
from storage.case import Case
from storage.documents import LineRecord
from storage.evidence import NOT_LOCATED, EvidenceRecord
from storage.export.assemble import citation_of, file_names
from storage.export.atomic import replacing
from storage.export.table import Citation, citation_text, inner_value
from storage.ledger import StoredDecision
from storage.rows import RowRecord

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
    decisions: Annotated[
        bool, typer.Option("--decisions", help="Show the verdicts about the names in this row.")
    ] = False,
    image: Annotated[
        Path | None, typer.Option("--image", metavar="FILE.png", help="Draw the pages with the lines marked.")
    ] = None,
    password: PasswordOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Show the lines of the records that a cell of the table comes from.

    Each value is shown with its file, page and lines, how it was found (exact, normalised, fuzzy with a score,
    by value), or that it was not located. Then come the operators that the row passed through. Where the row
    or the lines differ from what was recorded of the run, a warning says so and the exit code is 1.
    """
    if image is not None:
        check_target(image)
    with Case(case, read_only=True) as opened:
        traced = find_row(opened, find_run(opened, run).id, row)
        columns = _chosen(traced, column)
        title = f"Row {traced.number} of run {traced.run_id}"
        output().print(styled((title, "bold"), (f"  id {traced.row.id}", "dim")))
        warning = change_warning(opened.seals, traced.run_id, only={traced.row.id}, reviews=False)
        if warning:
            messages().print(styled(("WARNING: ", "bold red"), one_line(warning)), soft_wrap=True)
        leaves = [leaf for name in columns for leaf in _show_column(traced, name)]
        _show_lineage(traced.generations())
        if decisions:
            output().print(decisions_view(list(traced.decisions())))
        if image is not None:
            places = [place for leaf in leaves for place in leaf.places]
            code = _draw(opened, places, image, ParseOptions(password=password), overwrite=overwrite)
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
    width = len(str(lines[-1][0].number)) if lines else 0
    for line, is_context in lines:
        mark, style = (" ", "dim") if is_context else ("│", "")
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


def _draw(case: Case, places: Sequence[EvidenceRecord], target: Path, options: ParseOptions, *, overwrite: bool) -> int:
    """Draw each page that has evidence; return the exit code: 1 when there was none to draw or one failed."""
    pages = marked_pages(case, places)
    if not pages:
        messages().print("There is no picture to draw: nothing here was located in a record.")
        return 1
    failed = 0
    for index, page in enumerate(pages):
        out = image_path(target, index, len(pages))
        try:
            with recorded(case, [out], overwrite=overwrite), replacing(out) as part:
                draw(case.documents, page, part, options)
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


LONGEST_NAME = 300
"""Texts that decisions are about are names; longer values of a row are not looked up among them."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value of a cell (the whole cell, or one inside a list or object), and the places it was found at."""

    path: str
    value: Any
    places: tuple[EvidenceRecord, ...]


@dataclass(frozen=True, slots=True)
class Generation:
    """Rows that one operator made on the way to the row. `files` are those of its documents, where it has any."""

    operator: str
    rows: int
    files: tuple[str, ...]


class TracedRow:
    """One result row of a run. `number` counts from 1 as in the table."""

    def __init__(self, case: Case, run_id: str, number: int, row_id: str, columns: Sequence[str]) -> None:
        self.case = case
        self.run_id = run_id
        self.number = number
        self.row: RowRecord = case.rows.get(run_id, row_id)
        self.columns = tuple(columns)
        self.files = file_names(case.documents)

    def leaves(self, column: str) -> list[Leaf]:
        """List the values of a cell that were looked for, in order; empty when it holds nothing to look for."""
        by_path: dict[str, list[EvidenceRecord]] = {}
        for record in self.case.evidence.of_row(self.run_id, self.row.id, column):
            by_path.setdefault(record.path or column, []).append(record)
        value = self.row.values.get(column)
        return [Leaf(path, inner_value(value, column, path), tuple(records)) for path, records in by_path.items()]

    def citation(self, place: EvidenceRecord) -> str:
        """Write a place compactly: `file p.3 l.12-14`."""
        citation: Citation = citation_of(self.case.documents, place, self.files)
        return citation_text([citation])

    def lines(self, place: EvidenceRecord) -> list[tuple[LineRecord, bool]]:
        """Return the lines of a place, and as context (True) the one before and after it; empty if it has none."""
        if place.document_id is None or place.first_line is None or place.last_line is None:
            return []
        first, last = place.first_line, place.last_line
        lines = self.case.documents.lines(place.document_id, max(1, first - 1), last + 1)
        return [(line, not first <= line.number <= last) for line in lines]

    def generations(self) -> list[Generation]:
        """Say which operators made the rows that this one comes from, the records first."""
        made: dict[str, list[str | None]] = {}
        for relative in reversed(self.case.rows.ancestors(self.run_id, self.row.id)):
            made.setdefault(relative.operator or "(not kept)", []).append(relative.document_id)
        return [
            Generation(name, len(ids), tuple(sorted({self.files[id] for id in ids if id is not None})))
            for name, ids in made.items()
        ]

    def decisions(self) -> Iterator[StoredDecision]:
        """Give the verdicts about names that occur in this row or in the rows it comes from."""
        kept = self.case.rows
        ancestors = kept.ancestors(self.run_id, self.row.id)
        rows = [self.row, *(kept.get(self.run_id, relative.id) for relative in ancestors if relative.operator)]
        names = {name for row in rows for name in _names_in(row.values)}
        for decision in self.case.ledger.decisions(self.run_id):
            if decision.record.left in names or decision.record.right in names:
                yield decision


def find_row(case: Case, run_id: str, wanted: str) -> TracedRow:
    """Find a row by its number in the table (from 1), its id, or the beginning of its id.

    Raises UsageError when there is none, or more than one.
    """
    results = case.runs.results(run_id)
    if results is None:
        raise UsageError(
            f"run {run_id} has delivered no results yet", advice="Run it again: it goes on where it stopped."
        )
    ids = results.row_ids
    if wanted.isdecimal() and 1 <= int(wanted) <= len(ids):
        return TracedRow(case, run_id, int(wanted), ids[int(wanted) - 1], results.columns)
    matches = [row_id for row_id in ids if row_id.startswith(wanted)]
    if len(matches) == 1:
        return TracedRow(case, run_id, ids.index(matches[0]) + 1, matches[0], results.columns)
    if matches:
        raise UsageError(f"{len(matches)} rows have an id that begins with {wanted!r}", advice="Write more of the id.")
    numbers = f"1 to {len(ids)}" if ids else "none: the table is empty"
    raise UsageError(f"run {run_id} has no row {wanted!r}", advice=f"Rows: {numbers}; or give a row's id.")


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) <= LONGEST_NAME:
            yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _names_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _names_in(item)
