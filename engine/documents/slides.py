"""Read PPTX: a page per slide with the text of its shapes, tables, notes and comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pptx
from lxml import etree
from pptx.exc import PackageNotFoundError
from pptx.oxml.ns import qn

from engine.documents.document import Hidden
from engine.documents.drafts import Contents, LineDraft, PageDraft
from engine.documents.office import DRAWN, FORMULA, counted, formula, is_fallback, read_xml, reading_office, were
from engine.documents.options import ParseOptions
from engine.documents.raised import raised

_SHAPE: Final = qn("p:sp")
_TABLE: Final = qn("a:tbl")
_PLACEHOLDER: Final = f"{qn('p:nvSpPr')}/{qn('p:nvPr')}/{qn('p:ph')}"
_EMBEDDED: Final = qn("p:oleObj")
_PICTURES: Final = (qn("p:pic"), *DRAWN)
_OFF: Final = ("0", "false")
_IS_HIDDEN = etree.XPath("boolean(ancestor-or-self::*/*/*[local-name() = 'cNvPr'][@hidden = '1' or @hidden = 'true'])")
"""Somebody switched the shape off, or a group that it is in."""

_AUTHORS = ("/commentAuthors", "/authors")
_NAMED = ("{*}cmAuthor", "{*}author")
_TEXTS = ("{*}text", "{*}t", "{*}p", "{*}br")


def parse_slides(path: Path, options: ParseOptions) -> Contents:
    """Read a PowerPoint file; raise DocumentError (corrupt, too_large)."""
    with reading_office(path, options, "PowerPoint file", "presentation program", PackageNotFoundError):
        show = pptx.Presentation(str(path))
        authors = {a.get("id"): a.get("name") for part in _parts(show, *_AUTHORS) for a in part.iter(*_NAMED)}
        slides = list(show.slides)
        done: set[str] = set()
        pages = [_page(slide, authors, done) for slide in slides]
        pictures = sum(_pictures(slide) for slide in slides)
        embedded = sum(_embedded(slide) for slide in slides)
    warnings = [f"{were(pictures, 'picture', ' on the slides')} not read"] if pictures else []
    if embedded:
        warnings.append(f"{were(embedded, 'embedded file', ' on the slides')} not read; save it as a file of its own")
    if hidden := [str(number) for number, slide in enumerate(slides, 1) if _is_hidden(slide)]:
        warnings.append(f"{counted(len(hidden), 'hidden slide')}, read as text that is not shown: {', '.join(hidden)}")
    return Contents(pages, warnings=warnings)


def _page(slide: Any, authors: Mapping[str, str], done: set[str]) -> PageDraft:
    how: Hidden | None = "invisible" if _is_hidden(slide) else None
    lines = [*_shape_lines(slide._element), *(() if how else _shared_lines(slide, done))]
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
        lines += (LineDraft(f"Notes: {line}") for line in _text_lines(notes._txBody))
    lines += (LineDraft(line) for line in _comments(slide, authors))
    lines = [replace(line, hidden=how or line.hidden) for line in lines]
    return PageDraft(lines, reason="hidden slide" if how else "slide")


def _is_hidden(slide: Any) -> bool:
    """Say whether a slide is left out when the slides are shown."""
    return slide._element.get("show") in _OFF


def _shared_lines(slide: Any, done: set[str]) -> Iterator[LineDraft]:
    """Yield what the layout of a slide and its master show beside it, of each of these once for the whole file."""
    part, element = slide.part, slide._element
    for kind in ("/slideLayout", "/slideMaster"):
        inner = (r.target_part for r in part.rels.values() if not r.is_external and r.reltype.endswith(kind))
        if element.get("showMasterSp") in _OFF or (part := next(inner, None)) is None:
            return
        element = part._element
        if part.partname not in done:
            done.add(part.partname)
            yield from _shape_lines(element, with_placeholders=False)


def _shape_lines(slide: Any, *, with_placeholders: bool = True) -> Iterator[LineDraft]:
    """Yield the texts of the shapes and tables of a slide; placeholders of a layout only say where others stand."""
    for element in slide.iter(_SHAPE, _TABLE):
        if is_fallback(element) or not (with_placeholders or element.find(_PLACEHOLDER) is None):
            continue
        how: Hidden | None = "invisible" if _IS_HIDDEN(element) else None
        lines = _table_lines(element) if element.tag == _TABLE else _text_lines(element)
        yield from (LineDraft(line, hidden=how) for line in lines)


def _table_lines(table: Any) -> Iterator[str]:
    for row in table.iterchildren(qn("a:tr")):
        cells = [" ".join(_text_lines(cell)) for cell in row.iterchildren(qn("a:tc"))]
        if any(cells):
            yield " | ".join(cells)


def _text_lines(element: Any) -> Iterator[str]:
    for paragraph in element.iter(qn("a:p")):
        for line in _text(paragraph).split("\n"):
            if line.strip():
                yield " ".join(line.split())


def _text(paragraph: Any) -> str:
    """Return the text of a paragraph, raised digits as such; behind it, on a line, what is struck through."""
    pieces: list[str] = []
    struck: list[str] = []
    for piece in paragraph.iter(qn("a:t"), qn("a:br"), FORMULA):
        if is_fallback(piece):
            continue
        if piece.tag == qn("a:t"):
            properties = piece.getparent().find(qn("a:rPr"))
            baseline = properties.get("baseline") if properties is not None else None
            is_raised = baseline is not None and not baseline.startswith(("0", "-"))
            is_struck = properties is not None and properties.get("strike", "noStrike") != "noStrike"
            (struck if is_struck else pieces).append(raised(piece.text or "") if is_raised else piece.text or "")
        else:
            pieces.append("\n" if piece.tag == qn("a:br") else formula(piece))
    if struck:
        pieces += ["\n[struck through] ", *struck]
    return "".join(pieces).replace("\v", "\n")


def _comments(slide: Any, authors: Mapping[str, str]) -> Iterator[str]:
    """Yield the comments on a slide, of old and of new versions of PowerPoint, as `[comment] AUTHOR: TEXT`."""
    for part in _parts(slide, "/comments"):
        for comment in part.iter("{*}cm", "{*}reply"):
            bodies = comment.iterchildren("{*}text", "{*}txBody")
            pieces = (piece for body in bodies for piece in body.iter(*_TEXTS))
            author = " ".join((authors.get(comment.get("authorId")) or "").split())
            if text := " ".join("".join(piece.text or " " for piece in pieces).split()):
                yield f"[comment] {author}: {text}" if author else f"[comment] {text}"


def _parts(owner: Any, *kinds: str) -> Iterator[Any]:
    """Yield the parts of a file that belong to a slide or the whole, by how the names of their relations end."""
    for relation in owner.part.rels.values():
        if not relation.is_external and relation.reltype.endswith(kinds):
            yield read_xml(relation.target_part.blob)


def _pictures(slide: Any) -> int:
    """Count the pictures of a slide, linked ones too, its charts and its diagrams; no icons of embedded files."""
    pictures = (picture for picture in slide._element.iter(*_PICTURES) if not is_fallback(picture))
    return sum(next(picture.iterancestors(_EMBEDDED), None) is None for picture in pictures)


def _embedded(slide: Any) -> int:
    """Count the files that are embedded in a slide."""
    return sum(not is_fallback(file) for file in slide._element.iter(_EMBEDDED))
