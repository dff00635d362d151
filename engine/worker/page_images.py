"""Pictures of the pages that evidence lies on, with its lines marked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.disk import sha256_of
from engine.documents.document import Box
from engine.documents.options import ParseOptions
from engine.documents.render import Child, render_page
from engine.errors import DocumentError
from engine.executor.case_documents import load_document
from engine.rows import DocumentId
from storage.case import Case
from storage.documents import Documents
from storage.evidence import EvidenceRecord


@dataclass(frozen=True, slots=True)
class PageImage:
    """A page to draw, or that was drawn: `file` and `page` as in citations."""

    document_id: str
    page: int
    boxes: tuple[Box, ...]


def marked_pages(case: Case, places: Iterable[EvidenceRecord]) -> list[PageImage]:
    """Gather the boxes of all places by page, in the order of first mention."""
    boxes: dict[tuple[str, int], list[Box]] = {}
    for place in places:
        if place.document_id is None or place.first_line is None or place.last_line is None:
            continue
        document = load_document(case, DocumentId(place.document_id))
        for line in document.lines[place.first_line - 1 : place.last_line]:
            marks = boxes.setdefault((place.document_id, line.page), [])
            if line.box is not None and line.box not in marks:
                marks.append(line.box)
    return [PageImage(document, page, tuple(page_boxes)) for (document, page), page_boxes in boxes.items()]


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
    if not member and sha256_of(file) != image.document_id:
        raise DocumentError(
            f"{file} has changed since it was read",
            reason="changed",
            advice="Read the file again to see its pages.",
        )
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

    Raises DocumentError when it is not where it was found.
    """
    paths = [Path(place.path) for place in documents.paths(document_id)]
    for path in paths:
        for outer in (path, *path.parents):
            if outer.is_file():
                return outer, "" if outer == path else path.relative_to(outer).as_posix()
    tried = ", ".join(str(path) for path in paths) or "no known place"
    raise DocumentError(
        f"the file is no longer at {tried}", reason="missing", advice="Put it back, or add it from where it is now."
    )
