"""A page as a picture, and its lines with their boxes."""

from __future__ import annotations

import hashlib

from engine.documents.codec import box_to_json
from engine.documents.options import ParseOptions
from engine.errors import DocumentError, UsageError
from engine.executor.case_documents import load_document
from engine.rows import DocumentId
from engine.worker.contract import pages as contract
from engine.worker.contract.pages import PageLine, PagePicture, PageText
from engine.worker.page_images import PageImage, draw
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query

POINTS_PER_INCH = 72
SCALES = (0.1, 6.0)
"""Smallest and largest scale of a picture; 1.0 is 72 pixels an inch."""

KEPT_PICTURES = 200
MOST_LINES = 2000
"""Lines in one answer: the one page of a text file can have many more."""


@query(contract.PICTURE, lane="slow")
def picture(
    desk: Desk, *, case: str, document: str, page: int, scale: float = 2.0, password: str | None = None
) -> PagePicture:
    """Draw a page in a child process; `password` opens an encrypted PDF."""
    if not SCALES[0] <= scale <= SCALES[1]:
        raise UsageError(f"pages.picture: scale is {scale}", advice=f"Write {SCALES[0]} to {SCALES[1]}.")
    dpi = round(POINTS_PER_INCH * scale)
    name = hashlib.sha256(f"{document} {page} {dpi}".encode()).hexdigest()[:24]
    out = desk.scratch / f"{name}.png"
    if not out.exists():
        options = ParseOptions(password=password, threads=1)
        drawn = out.with_suffix(f".{id(desk)}.png")
        try:
            draw(desk.reading(case).documents, PageImage(document, page, ()), drawn, options, dpi=dpi)
        except DocumentError as error:
            if error.reason != "encrypted":
                raise
            return PagePicture(document, page, "", needs_password=True)
        drawn.replace(out)
        _forget_oldest(desk)
    return PagePicture(document, page, str(out))


@query(contract.LINES)
def lines(desk: Desk, *, case: str, document: str, page: int, near: int | None = None) -> PageText:
    """Return the lines of a page, with their boxes: where there are too many, those around the line `near`."""
    loaded = load_document(desk.reading(case), DocumentId(document))
    if not 1 <= page <= len(loaded.pages):
        raise UsageError(f"{loaded.filename} has no page {page}", advice=f"Its pages: 1 to {len(loaded.pages)}.")
    at = loaded.pages[page - 1]
    page_lines = loaded.lines[at.lines.first - 1 : at.lines.last] if at.lines else ()
    total = len(page_lines)
    if total > MOST_LINES:
        before = (near or page_lines[0].number) - page_lines[0].number - MOST_LINES // 2
        start = min(max(before, 0), total - MOST_LINES)
        page_lines = page_lines[start : start + MOST_LINES]
    return PageText(
        document=document,
        name=loaded.filename,
        page=page,
        pages=len(loaded.pages),
        width=at.width,
        height=at.height,
        total_lines=total,
        lines=tuple(PageLine(ln.number, ln.text, box_to_json(ln.box), ln.source, ln.hidden) for ln in page_lines),
    )


def _forget_oldest(desk: Desk) -> None:
    """Keep the folder small; another thread may delete the same picture."""
    pictures = sorted(desk.scratch.glob("*.png"), key=lambda file: file.name)
    if len(pictures) <= KEPT_PICTURES:
        return
    ages = sorted((file.stat().st_mtime, file) for file in pictures if file.exists())
    for _, file in ages[: len(ages) - KEPT_PICTURES]:
        file.unlink(missing_ok=True)
