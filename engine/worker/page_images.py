"""Pictures of the pages that evidence lies on, with its lines marked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from engine.disk import sha256_of
from engine.documents.document import Box, Document
from engine.documents.options import ParseOptions
from engine.documents.render import Child, render_page
from engine.errors import DocumentError
from engine.executor.case_documents import load_document
from engine.rows import DocumentId
from storage.case import Case
from storage.documents import Documents
from storage.evidence import EvidenceRecord

KEPT_DOCUMENTS = 4
"""Documents that are kept in memory while the pages of many places are gathered."""

Load = Callable[[str], Document]


@dataclass(frozen=True, slots=True)
class PageImage:
    """A page to draw, or that was drawn. `columns` are those whose evidence lies on it, which change no picture."""

    document_id: str
    page: int
    boxes: tuple[Box, ...]
    columns: tuple[str, ...] = field(default=(), compare=False)


def loading(case: Case) -> Load:
    """Return what loads the documents of a case, and keeps the last ones."""

    @lru_cache(KEPT_DOCUMENTS)
    def load(document_id: str) -> Document:
        return load_document(case, DocumentId(document_id))

    return load


def marked_pages(case: Case, places: Iterable[EvidenceRecord], load: Load | None = None) -> list[PageImage]:
    """Gather the boxes of all places by page, in the order of first mention; `load` as `loading` makes it."""
    load = load or loading(case)
    boxes: dict[tuple[str, int], list[Box]] = {}
    columns: dict[tuple[str, int], dict[str, None]] = {}
    for place in places:
        if place.document_id is None or place.first_line is None or place.last_line is None:
            continue
        for line in load(place.document_id).lines[place.first_line - 1 : place.last_line]:
            columns.setdefault((place.document_id, line.page), {})[place.column] = None
            marks = boxes.setdefault((place.document_id, line.page), [])
            if line.box is not None and line.box not in marks:
                marks.append(line.box)
    return [PageImage(*page, tuple(page_boxes), tuple(columns[page])) for page, page_boxes in boxes.items()]


def draw(  # noqa: PLR0913 - what is drawn, and how
    documents: Documents,
    image: PageImage,
    out: Path,
    options: ParseOptions,
    *,
    dpi: int = 150,
    child: Child | None = None,
) -> None:
    """Write a PNG of the page with its boxes; raises DocumentError when that cannot be done.

    `child` draws it if there is one, which may read the file of the page.
    """
    file, member = source_file(documents, image.document_id)
    render_page(
        file,
        image.page,
        boxes=image.boxes,
        out=out,
        dpi=dpi,
        member=member,
        member_id=image.document_id,
        options=options,
        child=child,
    )


def source_file(documents: Documents, document_id: str) -> tuple[Path, str]:
    """Find the file of a document: its path, and the name within it for one that lies inside a mail or archive.

    Where it was found at several places, the first is taken at which it is as it was read. Raises DocumentError when
    there is none: `changed`, `unreadable` or `missing`.
    """
    paths = [Path(place.path) for place in documents.paths(document_id)]
    refused: DocumentError | None = None
    for path in paths:
        try:
            if (found := _found_at(path, document_id)) is not None:
                return found
        except DocumentError as error:
            refused = refused or error
    tried = ", ".join(str(path) for path in paths) or "no known place"
    raise refused or DocumentError(
        f"the file is no longer at {tried}", reason="missing", advice="Put it back, or add it from where it is now."
    )


def _found_at(path: Path, document_id: str) -> tuple[Path, str] | None:
    """Return the file at a path, or the one that holds it; None where there is neither. Raises DocumentError."""
    try:
        outer = next((outer for outer in (path, *path.parents) if outer.is_file()), None)
        if outer is None:
            return None
        if outer != path:
            return outer, path.relative_to(outer).as_posix()
        if sha256_of(path) == document_id:
            return path, ""
    except OSError as error:
        advice = "Connect its disk again, or get permission to read it."
        raise DocumentError(f"{path} cannot be read: {error.strerror}", reason="unreadable", advice=advice) from error
    raise DocumentError(
        f"{path} has changed since it was read", reason="changed", advice="Read the file again to see its pages."
    )
