"""Read XLSX: its sheets as rows with named columns, or as pages of lines. Formulas are read as their last values."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import openpyxl
from lxml import etree
from openpyxl.utils.exceptions import InvalidFileException

from engine.documents.document import Hidden
from engine.documents.drafts import Contents, LineDraft, PageDraft
from engine.documents.office import DRAWN, SAFE, counted, is_fallback, read_xml, reading_office, were
from engine.documents.options import ParseOptions
from engine.documents.records import column_names, with_surplus
from engine.errors import DocumentError

# What a sheet of an XLSX holds besides its values: comments, text boxes, pictures, hidden rows, and formulas that were
# never computed.

_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_STRICT: Final = "{http://purl.oclc.org/ooxml/spreadsheetml/main}"
_WORKBOOK: Final = "xl/workbook.xml"
_SHAPE: Final = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_TEXT: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


@dataclass
class SheetRemains:
    """`comments` are pairs of cell and text; `texts` are the lines of text boxes; `pictures` counts charts, too.

    `formulas` are the cells whose formula has no stored value.
    """

    comments: list[tuple[str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    pictures: int = 0
    hidden_rows: int = 0
    hidden_columns: int = 0


def sheet_remains(archive: zipfile.ZipFile, sheet: str) -> SheetRemains:
    """Look through a sheet, named by its path in the archive; raises etree.XMLSyntaxError or zipfile.BadZipFile."""
    remains = SheetRemains()
    tags = [_MAIN + tag for tag in ("col", "c", "row")]
    with archive.open(sheet) as stream:
        for _, element in etree.iterparse(stream, events=("end",), tag=tags, **SAFE):
            _take(element, remains)
    remains.comments += _comments(archive, sheet)
    for path in _related(archive, sheet, "drawing"):
        drawing = _parsed(archive, path)
        remains.texts += _box_lines(drawing)
        remains.pictures += sum(not is_fallback(picture) for picture in drawing.iter(f"{_SHAPE}pic", *DRAWN))
    return remains


def _take(element: Any, remains: SheetRemains) -> None:
    is_hidden = element.get("hidden") in ("1", "true")
    if element.tag == _MAIN + "c":
        value = element.findtext(_MAIN + "v")
        if element.find(_MAIN + "f") is not None and not value and element.get("t") != "str":
            remains.formulas.append(element.get("r") or "?")
    elif element.tag == _MAIN + "row":
        remains.hidden_rows += is_hidden and len(element) > 0
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]
    elif is_hidden:
        first, last = int(element.get("min") or 0), int(element.get("max") or 0)
        remains.hidden_columns += max(last - first + 1, 1)


def _comments(archive: zipfile.ZipFile, sheet: str) -> Iterator[tuple[str, str]]:
    for path in _related(archive, sheet, "comments"):
        root = _parsed(archive, path)
        authors = [author.text or "" for author in root.iter(_MAIN + "author")]
        for comment in root.iter(_MAIN + "comment"):
            text = " ".join("".join(part.text or "" for part in comment.iter(_MAIN + "t")).split())
            number = int(comment.get("authorId") or 0)
            author = " ".join(authors[number].split()) if number < len(authors) else ""
            if text:
                yield comment.get("ref") or "?", f"{author}: {text}" if author else text


def _box_lines(drawing: Any) -> Iterator[str]:
    for box in drawing.iter(f"{_SHAPE}sp"):
        for paragraph in () if is_fallback(box) else box.iter(f"{_TEXT}p"):
            parts = paragraph.iter(f"{_TEXT}t", f"{_TEXT}br")
            if text := " ".join("".join(part.text or " " for part in parts).split()):
                yield text


def _related(archive: zipfile.ZipFile, part: str, kind: str) -> Iterator[str]:
    """Yield the paths of the parts of a kind that belong to a part and are in the file."""
    folder, name = posixpath.split(part)
    relations = f"{folder}/_rels/{name}.rels"
    names = frozenset(archive.namelist())
    for relation in _parsed(archive, relations) if relations in names else ():
        if not str(relation.get("Type")).endswith(f"/{kind}") or relation.get("TargetMode") == "External":
            continue
        target = str(relation.get("Target"))
        path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"{folder}/{target}")
        if path in names:
            yield path


def _parsed(archive: zipfile.ZipFile, path: str) -> Any:
    return read_xml(archive.read(path))


_NAMED = 10
_ZEROS = re.compile(r"0[0 -]*0")
_DIGITS = 15
"""So many digits of a number a sheet keeps: 0.1 + 0.2 is 0.3."""
_FORM = re.compile(
    r"""(?P<digits>[0#?][0#?.,]*|General)|(?P<end>;)|"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|"""
    r"""\[\$(?P<currency>[^\]-]*)(?:-[^\]]*)?\]|\[(?![<>=])[^\]]*\]|(?P<plain>[$€£¥%+\-() ])|(?P<other>.)""",
    re.DOTALL,
)
"""The parts of a format of numbers, as of `_("$"* #,##0.00_);[Red]\\-0" km"`. What is behind `;` is not looked at."""


def parse_workbook(path: Path, options: ParseOptions) -> Contents:
    """Read an Excel file, a page per sheet and a line per row, cells parted by ` | `; raise DocumentError.

    Comments follow the rows of their sheet as `[comment CELL] AUTHOR: TEXT`, text boxes as `[text box] TEXT`. Hidden
    sheets come last; their lines are hidden.
    """
    pages: list[PageDraft] = []
    warnings: list[str] = []
    with _opened(path, options) as book:
        sheets = _visible(book)
        hidden = [sheet for sheet in book.worksheets if sheet not in sheets]
        for sheet in [*sheets, *hidden]:
            how: Hidden | None = "invisible" if sheet in hidden else None
            lines = [sheet.title] if len(sheets) > 1 or how else []
            lines += [" | ".join(_plain(cell) for cell in cells) for cells in _rows(sheet, _shown)]
            remains = sheet_remains(book._archive, sheet._worksheet_path)
            lines += [f"[comment {cell}] {text}" for cell, text in remains.comments]
            lines += [f"[text box] {text}" for text in remains.texts]
            reason = f"{'hidden ' if how else ''}sheet {sheet.title}"
            pages.append(PageDraft([LineDraft(line, hidden=how) for line in lines], reason=reason))
            warnings += _left_out(sheet.title, remains)
        if hidden:
            names = ", ".join(sheet.title for sheet in hidden)
            warnings.append(f"{counted(len(hidden), 'hidden sheet')}, read as text that is not shown: {names}")
        if charts := [sheet.title for sheet in book.chartsheets]:
            warnings.append(f"{were(len(charts), 'chart sheet')} not read: {', '.join(charts)}")
    return Contents(pages, metadata=[("sheets", [sheet.title for sheet in sheets])], warnings=warnings)


def _left_out(sheet: str, remains: SheetRemains) -> Iterator[str]:
    """Say what a reader of the sheet sees otherwise than the lines say it."""
    parts = [
        counted(number, what)
        for number, what in ((remains.hidden_rows, "hidden row"), (remains.hidden_columns, "hidden column"))
        if number
    ]
    if parts:
        yield f"sheet {sheet}: {' and '.join(parts)}, read like the others"
    if remains.pictures:
        yield f"sheet {sheet}: {were(remains.pictures, 'picture')} not read"
    if cells := remains.formulas:
        places = ", ".join(cells[:_NAMED]) + (", …" if len(cells) > _NAMED else "")
        yield f"sheet {sheet}: {counted(len(cells), 'formula')} without a stored value, read as empty: {places}"


def workbook_rows(path: Path, options: ParseOptions, sheet: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (sheet, row) of the sheet of that name, or of every visible sheet that has rows, in their order.

    The first row with a value names the columns, as in CSV. Dates become ISO text, empty cells null; rows and
    unnamed columns without any value are left out. Raises DocumentError (corrupt, too_large, no_sheet, unsupported).
    """
    with _opened(path, options) as book:
        for worksheet in [_named(book, sheet)] if sheet else _visible(book):
            yield from ((worksheet.title, row) for row in _named_rows(worksheet))


@contextmanager
def _opened(path: Path, options: ParseOptions) -> Iterator[Any]:
    with reading_office(path, options, "Excel file", "spreadsheet program", InvalidFileException) as archive:
        _refuse_strict(archive)
        with path.open("rb") as file:  # openpyxl refuses a path that does not end in .xlsx, as of a file in a ZIP
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            with closing(book):
                yield book


def _refuse_strict(archive: zipfile.ZipFile) -> None:
    """Raise DocumentError (unsupported) for the strict variant of the format, in which no sheet would be found."""
    if _WORKBOOK in archive.namelist() and str(_parsed(archive, _WORKBOOK).tag).startswith(_STRICT):
        raise DocumentError(
            "the workbook is in the strict variant of Open XML, which cannot be read",
            reason="unsupported",
            advice="Save it again in the spreadsheet program, as an ordinary Excel workbook (.xlsx).",
        )


def _visible(book: Any) -> list[Any]:
    return [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]


def _named(book: Any, name: str) -> Any:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if name not in sheets:
        raise DocumentError(
            f"the workbook has no sheet {name!r}", reason="no_sheet", advice=f"Its sheets: {', '.join(sheets)}."
        )
    return sheets[name]


def _rows(sheet: Any, read: Callable[[Any], Any]) -> Iterator[list[Any]]:
    """Yield the cells of each row that has any, each as `read` gives it, without the empty ones at its end."""
    sheet.reset_dimensions()  # files may claim a million columns
    for row in sheet.iter_rows():
        cells = [read(cell) for cell in row]
        while cells and cells[-1] in (None, ""):
            cells.pop()
        if cells:
            yield cells


def _named_rows(sheet: Any) -> Iterator[dict[str, Any]]:
    header: list[str] = []
    named: set[str] = set()
    for cells in _rows(sheet, _value):
        if not header:
            texts = [_plain(cell) for cell in cells]
            header = column_names(texts)
            named = {name for name, text in zip(header, texts, strict=True) if text.strip()}
            continue
        header = with_surplus(header, len(cells))
        filled = [*cells, *[None] * (len(header) - len(cells))]
        yield {n: v for n, v in zip(header, filled, strict=True) if n in named or v is not None}


def _value(cell: Any) -> Any:
    """Return the value of a cell; a whole number that is shown with leading zeros (02139) as the text that is shown."""
    value = cell.value
    if type(value) is int and value >= 0 and (form := _zeros(cell.number_format)):
        digits = f"{value:0{form.count('0')}}"
        surplus = len(digits) - form.count("0")
        rest = iter(digits[surplus:])
        return digits[:surplus] + "".join(next(rest) if sign == "0" else sign for sign in form)
    return _json(value)


def _zeros(form: str) -> str:
    """Return a format that is made of zeros, as `00000` and `000-00-0000`; "" for any other."""
    bare = form.replace("\\", "").replace('"', "")
    return bare if _ZEROS.fullmatch(bare) else ""


def _json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    return value if value is None or isinstance(value, str | int) else str(value)


def _duration(value: timedelta) -> str:
    """Write a duration in hours, as sheets do: 25:30:00."""
    minutes, seconds = divmod(abs(value), timedelta(minutes=1))
    rest = f"{seconds.total_seconds():09.6f}".removesuffix(".000000")
    return f"{'-' if value < timedelta() else ''}{minutes // 60}:{minutes % 60:02}:{rest}"


def _shown(cell: Any) -> Any:
    """Return what a cell shows, with a mark if it is struck through."""
    shown = _with_signs(cell)
    is_struck = shown not in (None, "") and cell.font is not None and cell.font.strike
    return f"[struck through] {shown}" if is_struck else shown


def _with_signs(cell: Any) -> Any:
    """Return the value of a cell; a number with what its sheet writes beside it: 25%, $1200.5, 5 km, No. 0017."""
    value = _value(cell)
    if isinstance(value, bool):
        return str(value).upper()
    if not isinstance(value, int | float):
        return value
    before, after, least = _signs(cell.number_format)
    number = Decimal(f"{abs(value):.{_DIGITS}g}" if isinstance(value, float) else abs(value))
    if "%" in before + after:
        number = (100 * number).normalize()
    text = f"{number:f}".zfill(least) if not number or 1e-6 <= number < 1e21 else str(number)
    return f"-{before.lstrip('+-')}{text}{after}" if value < 0 else f"{before}{text}{after}"


@lru_cache(maxsize=1000)
def _signs(form: str) -> tuple[str, str, int]:
    """Return what a format of numbers writes before and behind them, and how many digits of a whole number at least.

    Nothing for one that writes between the digits (phone numbers, fractions), counts in thousands, or has conditions.
    """
    signs, digits = ["", ""], ""
    for token in _FORM.finditer(form):
        if token["end"]:
            break
        if token["other"] or (token["digits"] and (digits or token["digits"].endswith(","))):
            return "", "", 0
        digits = digits or token["digits"] or ""
        signs[bool(digits)] += token["quoted"] or token["escaped"] or token["currency"] or token["plain"] or ""
    if not digits:
        return "", "", 0
    return signs[0].lstrip(), signs[1].rstrip(), len(digits) if set(digits) == {"0"} else 0


def _plain(cell: Any) -> str:
    return "" if cell is None else " ".join(str(cell).split())


def texts_of_rows(rows: Sequence[dict[str, Any]], *, by_column: bool, columns: Sequence[str] = ()) -> str:
    """Write rows as text: a block `NAME: value, one a line` per column, or a line `NAME: value | ...` per row.

    `columns` are those to be written, in that order; all of them if there are none.
    """
    names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
    if by_column:
        return "\n\n".join(f"{n}: " + "\n".join(_plain(row.get(n)) for row in rows) for n in names)
    return "\n".join(" | ".join(f"{n}: {_plain(row.get(n))}" for n in names) for row in rows)
