"""Read DOCX: paragraphs and tables in document order, with headers, footers, notes and comments."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import docx
from docx.opc.exceptions import PackageNotFoundError
from docx.oxml.ns import qn
from lxml import etree

from engine.documents.archive import OFFICE_ERRORS, check_bomb
from engine.documents.document import Hidden
from engine.documents.drafts import Contents, LineDraft, PageDraft
from engine.documents.options import ParseOptions
from engine.documents.word_looks import Looks
from engine.errors import DocumentError

_COMMENT = "Comment"
_SHOWN, _DELETED = "shown", "deleted"
_HIDDEN: Final[tuple[Hidden, ...]] = ("invisible", "white")
_NOTES = {"footnotes": "Footnote", "endnotes": "Endnote", "comments": _COMMENT}
_CONTAINERS = frozenset(
    qn(tag)
    for tag in ("w:sdt", "w:sdtContent", "w:ins", "w:moveTo", "w:customXml", "w:smartTag", "w:txbxContent", "w:body")
)
_BREAKS = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SKIPPED = frozenset((_FALLBACK, qn("w:moveFrom"), qn("w:pPr"), qn("w:rPr")))
_ERRORS = (PackageNotFoundError, *OFFICE_ERRORS)


def parse_docx(path: Path, options: ParseOptions) -> Contents:
    """Read a Word file; raise DocumentError (corrupt, too_large)."""
    with zipfile.ZipFile(path) as archive:
        check_bomb(archive.infolist(), options)
    try:
        document: Any = docx.Document(str(path))
        lines = list(_document_lines(document))
        metadata = _metadata(document)
        pictures = len(document.inline_shapes)
    except _ERRORS as error:
        raise DocumentError(
            f"the Word file cannot be read ({error})",
            reason="corrupt",
            advice="Open it in a word processor and save it again.",
        ) from error
    warnings = [f"{pictures} pictures in the text were not read"] if pictures else []
    return Contents([PageDraft(lines, reason="Word file")], metadata=metadata, warnings=warnings)


def _document_lines(document: Any) -> Iterator[LineDraft]:
    looks = Looks(document)
    yield from _margin_lines(document, "header", looks)
    yield from _block_lines(document.element.body, looks)
    yield from _note_lines(document, looks)
    yield from _margin_lines(document, "footer", looks)


def _margin_lines(document: Any, which: str, looks: Looks) -> Iterator[LineDraft]:
    """Yield each distinct header (or footer) once, however many sections repeat it."""
    seen = set()
    for section in document.sections:
        for name in (f"first_page_{which}", which, f"even_page_{which}"):
            margin = getattr(section, name)
            if margin.is_linked_to_previous:
                continue
            lines = tuple(_block_lines(margin._element, looks))
            if lines not in seen:
                seen.add(lines)
                yield from lines


def _block_lines(parent: Any, looks: Looks) -> Iterator[LineDraft]:
    """Yield the lines of paragraphs and tables below an element; a table row is one line, cells parted by ` | `."""
    for element in parent:
        if element.tag == qn("w:p"):
            yield from _paragraph_lines(element, looks)
        elif element.tag == qn("w:tbl"):
            yield from _table_lines(element, looks)
        elif element.tag in _CONTAINERS:
            yield from _block_lines(element, looks)


def _paragraph_lines(paragraph: Any, looks: Looks) -> Iterator[LineDraft]:
    """Yield the text; then what was deleted while changes were tracked, with a mark; then what no reader sees."""
    pieces = list(_pieces(paragraph, looks))
    for line in _lines_of(pieces, _SHOWN):
        yield LineDraft(line)
    for line in _lines_of(pieces, _DELETED):
        yield LineDraft(f"[deleted] {line}")
    for how in _HIDDEN:
        for line in _lines_of(pieces, how):
            yield LineDraft(line, hidden=how)
    for box in _text_boxes(paragraph):
        yield from _block_lines(box, looks)


def _lines_of(pieces: Sequence[tuple[str, str]], how: str) -> Iterator[str]:
    for line in "".join(text for kind, text in pieces if kind == how).split("\n"):
        if line.strip():
            yield " ".join(line.split())


def _pieces(element: Any, looks: Looks, how: str = _SHOWN) -> Iterator[tuple[str, str]]:
    """Yield the text of runs, hyperlinks, insertions and deletions, each with how it is shown; not of text boxes."""
    for child in element:
        if child.tag in (qn("w:t"), qn("w:delText")):
            yield how, child.text or ""
        elif child.tag in _BREAKS:
            yield how, _BREAKS[child.tag]
        elif child.tag == qn("w:del"):
            yield from _pieces(child, looks, _DELETED)
        elif child.tag == qn("w:r") and how == _SHOWN:
            yield from _pieces(child, looks, looks.hidden(child) or how)
        elif child.tag not in _SKIPPED and child.tag != qn("w:txbxContent"):
            yield from _pieces(child, looks, how)


def _text_boxes(paragraph: Any) -> Iterator[Any]:
    """Yield text boxes once: Word writes each a second time as a fallback for old readers."""
    for box in paragraph.iter(qn("w:txbxContent")):
        if not any(ancestor.tag == _FALLBACK for ancestor in box.iterancestors()):
            yield box


def _table_lines(table: Any, looks: Looks) -> Iterator[LineDraft]:
    for row in table.iter(qn("w:tr")):
        if next(row.iterancestors(qn("w:tbl"))) is not table:
            continue  # a table inside a cell is part of that cell's text
        cells = [list(_block_lines(cell, looks)) for cell in _cells(row)]
        texts = [" ".join(line.text for line in lines if not line.hidden) for lines in cells]
        if any(texts):
            yield LineDraft(" | ".join(texts))
        yield from (line for lines in cells for line in lines if line.hidden)


def _cells(row: Any) -> Iterable[Any]:
    return (cell for cell in row.iter(qn("w:tc")) if next(cell.iterancestors(qn("w:tr"))) is row)


def _note_lines(document: Any, looks: Looks) -> Iterator[LineDraft]:
    """Yield footnotes, endnotes and comments, each with its kind in front."""
    for relation in document.part.rels.values():
        label = _NOTES.get(relation.reltype.rsplit("/", 1)[-1])
        if label is None or relation.is_external:
            continue
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        for note in etree.fromstring(relation.target_part.blob, parser):
            text = " ".join(line.text for line in _block_lines(note, looks))
            author = " ".join((note.get(qn("w:author")) or "").split())
            if text:
                said = f"[comment] {author}: {text}" if author else f"[comment] {text}"
                yield LineDraft(said if label == _COMMENT else f"{label}: {text}")


def _metadata(document: Any) -> list[tuple[str, str]]:
    properties = document.core_properties
    values = {
        "title": properties.title,
        "author": properties.author,
        "subject": properties.subject,
        "created": properties.created and properties.created.isoformat(),
        "modified": properties.modified and properties.modified.isoformat(),
    }
    return [(key, str(value)) for key, value in values.items() if value]
