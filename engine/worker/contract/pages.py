"""A page as a picture, and its lines with their boxes."""

from __future__ import annotations

from dataclasses import dataclass

from engine.worker.contract.query import Query


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A PNG of one page. The file lasts at least until some hundred other pages were drawn.

    `needs_password`: the document is encrypted and the password was none or wrong; then there is no file.
    """

    document: str
    page: int
    file: str
    needs_password: bool = False


@dataclass(frozen=True, slots=True)
class PageLine:
    """One line; `box` is x0, y0, x1, y1 in points from the page's top left, None for formats without pages.

    `hidden` says why no reader of the page sees it, None for an ordinary line.
    """

    number: int
    text: str
    box: list[float] | None
    hidden: str | None = None


@dataclass(frozen=True, slots=True)
class PageText:
    """The lines of one page, up to MOST_LINES of `total_lines`; `width`, `height` in points, 0 for pageless formats."""

    document: str
    name: str
    page: int
    pages: int
    width: float
    height: float
    total_lines: int
    lines: tuple[PageLine, ...]


LINES = Query[PageText]("pages.lines")
PICTURE = Query[PagePicture]("pages.picture")
