"""Read PDF files through PyMuPDF, page by page the better of text layer and OCR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.documents.document import Box, OutlineEntry, Table
from engine.documents.drafts import ChildFailure, ChildFile, Contents, LineDraft, PageDraft, Progress
from engine.documents.extracted import Scratch
from engine.documents.mupdf import MUPDF_ERRORS, first_line, picture_of, pymupdf
from engine.documents.ocr_choice import added_by_ocr, need_of_ocr, ocr_is_better
from engine.documents.options import ParseOptions
from engine.documents.pages import mostly_ocr, ocr_doubts, page_lines, read_picture, with_hidden
from engine.documents.pdf_text import WIDGET_ERRORS, TextLayer, read_text_layer
from engine.documents.raised import raised
from engine.errors import DocumentError

if TYPE_CHECKING:
    from engine.documents.ocr import Image, OcrPage

# Tables of a PDF page, where ruling lines make them likely.
#
# Measured on forms, filings and lists: the line-based finder takes 0.02 to 0.1 s a page and keeps the words apart;
# the layout model that PyMuPDF puts before it takes 0.1 to 0.5 s, joins words and takes court captions for tables.

_LEAST_RULES = 4
_MOST_RULES = 3000


def find_tables(page: Any, number: int, layer: TextLayer) -> list[Table]:
    """Return the tables of at least two rows and two columns; page `number` counts from 1."""
    if not _LEAST_RULES <= len(layer.rules) <= _MOST_RULES:
        return []
    tables = page.find_tables(use_layout=False).tables
    large = [table for table in tables if table.row_count >= 2 and table.col_count >= 2]
    if large:
        _write_raised(large[0]._chars, layer.raised)  # all tables of a page have the same characters
    return [_table(table, number) for table in large]


def _write_raised(characters: Iterable[dict[str, Any]], boxes: Sequence[Box]) -> None:
    """Write those characters of a page that stand in boxes of raised digits as such."""
    for character in characters if boxes else ():
        x, y = (character["x0"] + character["x1"]) / 2, (character["top"] + character["bottom"]) / 2
        if any(box.x0 <= x <= box.x1 and box.y0 <= y <= box.y1 for box in boxes):
            character["text"] = raised(character["text"])


def _table(table: Any, number: int) -> Table:
    rows = tuple(tuple(" ".join((cell or "").split()) for cell in row) for row in table.extract())
    header = table.header
    # An outer header lies above the grid and is not among the extracted rows.
    has_header = bool(header and not header.external and any(header.names))
    return Table(number, Box(*(round(float(v), 2) for v in table.bbox)), rows, has_header)


_mupdf = pymupdf.mupdf

_UNREAD_PICTURE = 0.15
_NAMED = 10
_DYNAMIC_FORM = (
    "it is a dynamic form (XFA), of which only what stands on its pages was read; open it in Adobe Reader and print it"
    " to a new PDF"
)
_DECRYPT = "Open the PDF in a reader with the password, and save the attachment as a file of its own."


@dataclass
class _Reading:
    """What accumulates while the pages are read."""

    pages: list[PageDraft] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failed: int = 0


def parse_pdf(path: Path, options: ParseOptions, scratch: Scratch, progress: Progress) -> Contents:
    """Read a PDF; raise DocumentError (encrypted, corrupt, no_pages, too_many_pages)."""
    with open_pdf(path, options.password) as pdf:
        count = _page_count(pdf)
        if count > options.max_pages:
            raise DocumentError(
                f"the PDF has {count} pages; the limit is {options.max_pages}",
                reason="too_many_pages",
                advice="Split it into smaller PDFs and read those.",
            )
        progress("pages", count)
        reading = _Reading()
        for number in range(1, count + 1):
            if options.pages and number not in options.pages:
                reading.pages.append(PageDraft((), reason="not asked for"))
            else:
                _read_page(pdf, number, options, reading)
            progress("page", number)
        if reading.failed == count:
            raise DocumentError(
                f"no page could be read (of {count}): {reading.warnings[-1]}",
                reason="corrupt",
                advice="Ask for the file again, or open it in a PDF reader and print it to a new PDF.",
            )
        if pdf.is_repaired:  # known only now: a damaged object is met when it is read
            if not any(page.lines for page in reading.pages) and _content_is_lost(pdf):
                raise DocumentError(
                    f"the PDF is damaged, and nothing on its {count} pages could be recovered",
                    reason="corrupt",
                    advice="Ask for the file again; it may have been cut short when it was copied.",
                )
            reading.warnings.insert(0, "the PDF was damaged and has been repaired; parts of it may be missing")
        children, failures = _attachments(pdf, scratch)
        reading.warnings += _layers_off(pdf)
        if _is_dynamic_form(pdf):
            reading.warnings.append(_DYNAMIC_FORM)
        return Contents(
            reading.pages,
            reading.tables,
            _outline(pdf),
            _metadata(pdf),
            reading.warnings,
            children,
            failures,
        )


@contextmanager
def open_pdf(path: Path, password: str | None) -> Iterator[Any]:
    """Open a PDF, trying the empty password and then `password`; raise DocumentError (corrupt, encrypted)."""
    try:
        pdf = pymupdf.open(path, filetype="pdf")
    except MUPDF_ERRORS as error:
        raise DocumentError(
            "this is no readable PDF: neither its index nor its pages can be found",
            reason="corrupt",
            advice="Ask for the file again; it may have been cut short when it was copied.",
        ) from error
    with pdf:
        is_open = not pdf.needs_pass or any(pdf.authenticate(word) for word in ("", password or ""))
        if not is_open and _encrypts_attachments_only(pdf):
            pdf.is_encrypted = False  # of the library's own; the text of the pages needs no password
            pdf.init_doc()
        elif not is_open:
            raise DocumentError(
                "the PDF needs a password" + (", and the one given is wrong" if password else ""),
                reason="encrypted",
                advice="Give the password, or save a copy of the file without one.",
            )
        yield pdf


def _encrypts_attachments_only(pdf: Any) -> bool:
    """Say whether strings and streams are as they are, and attachments alone need a password."""
    try:
        kind, value = pdf.xref_get_key(-1, "Encrypt")
        prefix = "Encrypt/" if kind == "dict" else ""
        number = -1 if kind == "dict" else int(value.split()[0])
        filters = [pdf.xref_get_key(number, f"{prefix}{key}") for key in ("StmF", "StrF")]
        handler = pdf.xref_get_key(number, f"{prefix}EFF")
    except WIDGET_ERRORS:
        return False
    return handler[0] == "name" and all(kind == "null" or name == "/Identity" for kind, name in filters)


def render_page(page: Any, dpi: float, max_pixels: int) -> tuple[Image, float]:
    """Draw a page in colour; return the picture and points per pixel. Huge pages get fewer dots per inch."""
    points = max(page.rect.width * page.rect.height, 1.0)
    zoom = min(dpi / 72, (max_pixels / points) ** 0.5)
    # A scale below one pixel per page side would make an empty picture.
    zoom = max(zoom, 1 / max(min(page.rect.width, page.rect.height), 1.0))
    return picture_of(page, zoom)[:, :, ::-1], 1 / zoom


def _page_count(pdf: Any) -> int:
    try:
        count = int(pdf.page_count)
    except MUPDF_ERRORS as error:
        raise DocumentError(
            f"the list of its pages is broken ({first_line(error)})",
            reason="corrupt",
            advice="Open it in a PDF reader and print it to a new PDF.",
        ) from error
    if count == 0:
        raise DocumentError("the PDF has no pages", reason="no_pages", advice="Ask for the file again.")
    return count


def _content_is_lost(pdf: Any) -> bool:
    """Say whether a page names content that cannot be read: it is not just blank."""
    for page in pdf:
        try:
            if not all(pdf.xref_is_stream(number) for number in page.get_contents()):
                return True
        except MUPDF_ERRORS:
            return True
    return False


def _read_page(pdf: Any, number: int, options: ParseOptions, reading: _Reading) -> None:
    """Read one page into `reading`; a page that cannot be read is kept, empty, with a warning."""
    try:
        page, layer, doubts = _load(pdf, number)
        draft, warnings = _better_reading(page, layer, options)
        if options.ocr != "only" and (layer.hidden or layer.notes):
            draft = replace(draft, lines=[*with_hidden(draft.lines, layer.hidden), *layer.notes])
        tables = find_tables(page, number, layer) if options.tables and draft.source == "text" else []
    except MUPDF_ERRORS as error:
        reading.failed += 1
        reading.warnings.append(f"page {number} could not be read: {first_line(error)}")
        reading.pages.append(PageDraft((), reason=f"could not be read: {first_line(error)}"))
        return
    reading.pages.append(draft)
    reading.tables += tables
    reading.warnings += [f"page {number}: {warning}" for warning in [*doubts, *warnings]]


def _load(pdf: Any, number: int) -> tuple[Any, TextLayer, Sequence[str]]:
    """Load a page and its text, without its form fields and notes where the library stumbles over them."""
    try:
        page = pdf.load_page(number - 1)
        layer = read_text_layer(page)
    except MUPDF_ERRORS as error:
        xref = pdf.page_xref(number - 1)
        if pdf.xref_get_key(xref, "Annots")[0] == "null":
            raise
        pdf.xref_set_key(xref, "Annots", "null")
        page = pdf.load_page(number - 1)
        return page, read_text_layer(page), [f"its form fields could not be read ({first_line(error)}); its text was"]
    return page, layer, layer.doubts


def _better_reading(page: Any, layer: TextLayer, options: ParseOptions) -> tuple[PageDraft, list[str]]:
    """Read the page by text layer or OCR; return it with warnings about what neither could read."""
    size = float(page.rect.width), float(page.rect.height)
    need = need_of_ocr(layer, options)
    if need is None:
        lines = page_lines(layer.fragments, layer.rules)
        return PageDraft(lines, *size, "text", "text layer" if lines else "blank page"), _unread(layer)
    picture, scale = render_page(page, options.ocr_dpi, options.max_pixels)
    read = read_picture(picture, scale, options.threads)
    if need.use == "add":
        return _extended(layer, read, need.reason, size)
    if options.ocr == "only" or ocr_is_better(layer, read):
        lines = page_lines(read.fragments)
        return PageDraft(lines, *size, "ocr", _found(need.reason, lines), read.rotation), ocr_doubts(read)
    lines = page_lines(layer.fragments, layer.rules)
    return PageDraft(lines, *size, "text", f"text layer, better than OCR ({need.reason})"), []


def _extended(layer: TextLayer, read: OcrPage, reason: str, size: tuple[float, float]) -> tuple[PageDraft, list[str]]:
    added = added_by_ocr(layer, read)
    lines = page_lines([*layer.fragments, *added], layer.rules)
    if layer.fragments and not mostly_ocr(lines):
        how = "text layer, and OCR of its pictures" if added else "text layer; OCR found nothing more"
        return PageDraft(lines, *size, "text", f"{how} ({reason})"), ocr_doubts(read) if added else []
    return PageDraft(lines, *size, "ocr", _found(reason, lines), read.rotation), ocr_doubts(read)


def _found(reason: str, lines: Sequence[LineDraft]) -> str:
    return reason if lines else f"no text found ({reason})"


def _unread(layer: TextLayer) -> list[str]:
    if layer.unread_share < _UNREAD_PICTURE:
        return []
    return [f"pictures covering {100 * layer.unread_share:.0f} % of the page were not read; its text layer was"]


def _outline(pdf: Any) -> list[OutlineEntry]:
    """Return the outline; entries that point nowhere in the file are left out."""
    try:
        entries = pdf.get_toc(simple=True)
    except MUPDF_ERRORS:
        return []
    return [OutlineEntry(int(level), str(title), int(page)) for level, title, page in entries if page >= 1]


def _metadata(pdf: Any) -> list[tuple[str, str]]:
    values = pdf.metadata or {}
    return [(key, value.strip()) for key, value in values.items() if isinstance(value, str) and value.strip()]


def _layers_off(pdf: Any) -> list[str]:
    """Name the layers that are switched off: nothing of them is read."""
    try:
        names = [str(layer["name"]) for layer in pdf.get_ocgs().values() if not layer["on"]]
    except WIDGET_ERRORS as error:
        return [f"its layers could not be listed ({first_line(error)})"]
    if not names:
        return []
    what = "1 layer that is" if len(names) == 1 else f"{len(names)} layers that are"
    return [f"{what} switched off {'was' if len(names) == 1 else 'were'} not read: {', '.join(names[:_NAMED])}"]


def _is_dynamic_form(pdf: Any) -> bool:
    """Say whether the pages are made only when the form is opened: the file holds a notice in their place."""
    has_form = pdf.xref_get_key(-1, "Root/AcroForm/XFA")[0] != "null"
    return has_form and bool(pdf.xref_get_key(-1, "Root/NeedsRendering") == ("bool", "true"))


def _attachments(pdf: Any, scratch: Scratch) -> tuple[list[ChildFile], list[ChildFailure]]:
    """Take out the files embedded in the PDF."""
    children, failures = [], []
    try:
        _flatten_embedded(pdf)
    except MUPDF_ERRORS as error:
        failures.append(_stuck("embedded files", error))
    for number, name in enumerate(pdf.embfile_names()):
        try:
            info = pdf.embfile_info(number)
            scratch.claim(1, int(info.get("size") or 0))
            data = pdf.embfile_get(number)
            if data or not info.get("length"):
                children.append(scratch.write(info.get("filename") or name, data))
            else:
                failures.append(ChildFailure(name, "encrypted", "the attachment is encrypted", _DECRYPT))
        except DocumentError as error:
            failures.append(ChildFailure(name, error.reason, str(error), error.advice))
        except MUPDF_ERRORS as error:
            failures.append(_stuck(name, error))
    for number, page in enumerate(_pages_with_pins(pdf), 1):
        for pin in page.annots(types=(pymupdf.PDF_ANNOT_FILE_ATTACHMENT,)):
            name = f"pinned-{number}"
            try:
                name = pin.file_info.get("filename") or name
                children.append(scratch.write(name, pin.get_file()))
            except DocumentError as error:
                failures.append(ChildFailure(name, error.reason, str(error), error.advice))
            except MUPDF_ERRORS as error:
                failures.append(_stuck(name, error))
    return children, failures


def _flatten_embedded(pdf: Any) -> None:
    """List all embedded files at the root of their tree of names, where alone the library looks for them."""
    tree = _mupdf.pdf_dict_getp(_mupdf.pdf_trailer(_mupdf.PdfDocument(pdf.this)), "Root/Names/EmbeddedFiles")
    if not _items(tree, "Kids"):
        return
    names: list[Any] = []
    waiting, seen = [tree], set[int]()
    while waiting:
        node = waiting.pop()
        number = _mupdf.pdf_to_num(node)  # 0 for one that lies in its parent
        if number in seen:
            continue
        if number:
            seen.add(number)
        names += _items(node, "Names")
        waiting += reversed(_items(node, "Kids"))
    flat = _mupdf.pdf_dict_put_array(tree, pymupdf.PDF_NAME("Names"), len(names))
    for name in names:
        _mupdf.pdf_array_push(flat, name)


def _items(node: Any, key: str) -> list[Any]:
    array = _mupdf.pdf_dict_gets(node, key)
    return [_mupdf.pdf_array_get(array, number) for number in range(_mupdf.pdf_array_len(array))]


def _pages_with_pins(pdf: Any) -> Iterator[Any]:
    """Yield the pages that have annotations; a page that cannot be loaded was reported when it was read."""
    for number in range(pdf.page_count):
        try:
            page = pdf.load_page(number)
            annotated = page.first_annot is not None
        except MUPDF_ERRORS:
            continue
        if annotated:
            yield page


def _stuck(name: str, error: BaseException) -> ChildFailure:
    return ChildFailure(
        name, "corrupt", f"the attachment cannot be taken out: {first_line(error)}", "Ask for it as a file of its own."
    )
