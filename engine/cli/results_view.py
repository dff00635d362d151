"""The results table on a screen: columns fitted to its width, long cells shortened there and nowhere else."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Column, Table

from engine.cli.console import counted, one_line, output, styled
from engine.values.cells import cell_text as typed_text
from engine.values.cells import is_typed
from storage.export.cells import cell_text
from storage.export.table import ResultTable

if TYPE_CHECKING:
    from engine.worker.exports import Written

MOST_ROWS = 40
MOST_LINES = 3
"""Lines of one cell."""

LEAST_WIDTH = 10
"""A column that needs more is never narrower; columns for which there is no room are left out and named."""

LONGEST_WORD = 36
"""Words up to this are kept whole where there is room."""

_GAP = 2
"""Between columns: one blank of padding and one that the box draws."""


def plain_table(*columns: Column | str, gap: int = 2) -> Table:
    """Begin a table with a line below its heading and no frame."""
    return Table(*columns, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap, 0, 0))


def results_view(table: ResultTable, width: int) -> RenderableType:
    """Draw the first rows; `width` is the screen's, in characters. Rows carry the number that `trace` takes."""
    if not table.rows:
        return styled(("No rows came out.", "bold"))
    rows = table.rows[:MOST_ROWS]
    texts = [[shown_value(row.values.get(column)) for column in table.columns] for row in rows]
    number_width = len(str(len(rows)))
    widths = fitted_widths(
        [max(len(column), *(len(cells[i]) for cells in texts)) for i, column in enumerate(table.columns)],
        [
            max(_longest_word(column), *(_longest_word(cells[i]) for cells in texts))
            for i, column in enumerate(table.columns)
        ],
        width - number_width - _GAP,
    )
    view = plain_table(gap=1)
    view.add_column("", justify="right", style="dim", width=number_width)
    for column, column_width in zip(table.columns, widths, strict=False):
        view.add_column(styled(one_line(column)), width=column_width, overflow="fold")
    for number, cells in enumerate(texts, 1):
        limits = zip(cells, widths, strict=False)
        view.add_row(str(number), *(styled(wrapped(text, w)) for text, w in limits))
    return Group(view, *_notes(table, len(widths)))


def show_written(written: Sequence[Written]) -> None:
    """Name the files that were written, with what a person should know of each."""
    for file in written:
        output().print(styled(("Written ", "bold"), f"{file.path}, {counted(file.rows, 'row')}"), soft_wrap=True)
        for note in file.notes:
            output().print(f"        {one_line(note)}", soft_wrap=True)


def shown_value(value: Any) -> str:
    """Write a JSON value for people: yes or no, lists joined by `; `, objects as `key: value`, null as nothing.

    A date or another typed value is written as code read it, with the words of the document: `2022-09-30 (Sept. 30)`.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return "; ".join(shown_value(item) for item in value)
    if is_typed(value):
        return one_line(typed_text(value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {shown_value(item)}" for key, item in value.items())
    return one_line(cell_text(value))


def fitted_widths(wanted: Sequence[int], words: Sequence[int], room: int) -> list[int]:
    """Share `room` characters among columns: small ones get what they want, the others equal parts of the rest.

    `words` are the longest words of each column; where there is room for them they are not broken. Columns at the
    end for which there is no room at all are left out; the first always stays.

    >>> fitted_widths([4, 90, 50], [4, 9, 28], 60)
    [4, 22, 28]
    """
    shown = list(wanted)
    while len(shown) > 1 and sum(min(w, LEAST_WIDTH) + _GAP for w in shown) > room:
        shown.pop()
    left = room - _GAP * len(shown)
    whole = [min(word, LONGEST_WORD) for word in words[: len(shown)]]
    widths = whole if sum(whole) <= left else [min(w, LEAST_WIDTH, left) for w in shown]
    while sum(widths) < left and (narrow := [i for i, w in enumerate(shown) if widths[i] < w]):
        widths[min(narrow, key=lambda i: widths[i])] += 1
    return [max(1, width) for width in widths]


def _longest_word(text: str) -> int:
    return max((len(word) for word in text.split()), default=0)


def wrapped(text: str, width: int) -> str:
    """Break text into at most MOST_LINES lines of `width` characters, ending in an ellipsis where it is cut."""
    lines = textwrap.wrap(text, width, max_lines=MOST_LINES, placeholder="…", break_on_hyphens=False)
    return "\n".join(lines)


def _notes(table: ResultTable, columns_shown: int) -> list[RenderableType]:
    notes = []
    if more := len(table.rows) - MOST_ROWS:
        notes += [f"and {counted(more, 'row')} more"] if more > 0 else []
    if hidden := table.columns[columns_shown:]:
        notes.append(f"columns without room here: {', '.join(one_line(c) for c in hidden)}")
    return [styled((note, "dim")) for note in notes]
