"""Read PPTX: a page per slide with the text of its shapes, tables, notes and comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pptx
from pptx.exc import PackageNotFoundError

from engine.documents.document import Hidden
from engine.documents.drafts import Contents, LineDraft, PageDraft
from engine.documents.office import DRAWN, counted, is_fallback, read_xml, reading_office, were
from engine.documents.options import ParseOptions

_PICTURES = ("{http://schemas.openxmlformats.org/presentationml/2006/main}pic", *DRAWN)

_AUTHORS = ("/commentAuthors", "/authors")
_NAMED = ("{*}cmAuthor", "{*}author")
_TEXTS = ("{*}text", "{*}t", "{*}p", "{*}br")


def parse_slides(path: Path, options: ParseOptions) -> Contents:
    """Read a PowerPoint file; raise DocumentError (corrupt, too_large)."""
    with reading_office(path, options, "PowerPoint file", "presentation program", PackageNotFoundError):
        show = pptx.Presentation(str(path))
        authors = {a.get("id"): a.get("name") for part in _parts(show, *_AUTHORS) for a in part.iter(*_NAMED)}
        slides = list(show.slides)
        pages = [_page(slide, authors) for slide in slides]
        pictures = sum(_pictures(slide) for slide in slides)
    warnings = [f"{were(pictures, 'picture', ' on the slides')} not read"] if pictures else []
    if hidden := [str(number) for number, slide in enumerate(slides, 1) if _is_hidden(slide)]:
        warnings.append(f"{counted(len(hidden), 'hidden slide')}, read as text that is not shown: {', '.join(hidden)}")
    return Contents(pages, warnings=warnings)


def _page(slide: Any, authors: Mapping[str, str]) -> PageDraft:
    how: Hidden | None = "invisible" if _is_hidden(slide) else None
    lines = [LineDraft(line, hidden=how) for line in (*_lines(slide), *_comments(slide, authors))]
    return PageDraft(lines, reason="hidden slide" if how else "slide")


def _is_hidden(slide: Any) -> bool:
    """Say whether a slide is left out when the slides are shown."""
    return slide._element.get("show") in ("0", "false")


def _lines(slide: Any) -> Iterator[str]:
    for shape in _shapes(slide.shapes):
        if shape.has_text_frame:
            yield from _text_lines(shape.text_frame.text)
        if getattr(shape, "has_table", False):
            for row in shape.table.rows:
                cells = [" ".join(cell.text.split()) for cell in row.cells]
                if any(cells):
                    yield " | ".join(cells)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        yield from (f"Notes: {line}" for line in _text_lines(slide.notes_slide.notes_text_frame.text))


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


def _shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield shapes in their order, those of groups in place of the group."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _text_lines(text: str) -> Iterator[str]:
    for line in text.replace("\v", "\n").split("\n"):
        if line.strip():
            yield " ".join(line.split())


def _pictures(slide: Any) -> int:
    """Count the pictures of a slide, linked ones too, its charts and its diagrams."""
    return sum(not is_fallback(picture) for picture in slide._element.iter(*_PICTURES))
