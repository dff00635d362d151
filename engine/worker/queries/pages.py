"""A page as a picture, and its lines with their boxes."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from engine.documents.codec import box_to_json, lines_from_json, page_from_json
from engine.documents.options import ParseOptions
from engine.errors import CaseError, DocumentError, UsageError
from engine.rows import Span
from engine.worker.contract import pages as contract
from engine.worker.contract.pages import PageLine, PagePicture, PageText
from engine.worker.page_images import PageImage, draw
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from storage.case import Case

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
    if not _is_kept(out):
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
def lines(case: Case, *, document: str, page: int, near: int | None = None) -> PageText:
    """Return the lines of a page, with their boxes: where there are too many, those around the line `near`."""
    stored = case.documents.get(document)
    name, pages = stored.entry.filename, stored.entry.page_count
    if not 1 <= page <= pages:
        raise UsageError(f"{name} has no page {page}", advice=f"Its pages: 1 to {pages}.")
    try:
        at = page_from_json(stored.body, page)
        shown = lines_from_json(stored.body, *_window(at.lines, near))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise CaseError(
            f"the case {case.path} is damaged: page {page} of document {document} has another form ({error})",
            advice="Restore the case from a backup, or read the file again: `redwell ingest --again`.",
        ) from error
    return PageText(
        document=document,
        name=name,
        page=page,
        pages=pages,
        width=at.width,
        height=at.height,
        total_lines=at.lines.last - at.lines.first + 1 if at.lines else 0,
        lines=tuple(PageLine(ln.number, ln.text, box_to_json(ln.box), ln.hidden) for ln in shown),
    )


def _window(lines: Span | None, near: int | None) -> tuple[int, int]:
    """Return the first and the last line to show of a page: where there are too many, those around `near`."""
    if lines is None:
        return 1, 0
    if lines.last - lines.first < MOST_LINES:
        return lines.first, lines.last
    first = min(max((near or lines.first) - MOST_LINES // 2, lines.first), lines.last - MOST_LINES + 1)
    return first, first + MOST_LINES - 1


def _is_kept(picture: Path) -> bool:
    """Say whether a picture is there; it is among the newest then."""
    try:
        os.utime(picture)
    except FileNotFoundError:
        return False
    return True


def _forget_oldest(desk: Desk) -> None:
    """Keep the folder small; another thread may delete the same picture."""
    pictures = sorted(desk.scratch.glob("*.png"), key=lambda file: file.name)
    if len(pictures) <= KEPT_PICTURES:
        return
    ages: list[tuple[float, Path]] = []
    for file in pictures:
        with contextlib.suppress(FileNotFoundError):
            ages.append((file.stat().st_mtime, file))
    ages.sort()
    for _, file in ages[: len(ages) - KEPT_PICTURES]:
        file.unlink(missing_ok=True)
