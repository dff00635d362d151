"""Read HTML: the text a reader of the page would see."""

from __future__ import annotations

import re
import warnings as python_warnings
from collections.abc import Iterator

from bs4 import BeautifulSoup, Tag, XMLParsedAsHTMLWarning
from bs4.element import NavigableString, PageElement, PreformattedString

from engine.documents.drafts import Contents, text_page
from engine.documents.encoding import decode

_INVISIBLE = ("script", "style", "noscript", "template", "head", "title", "svg", "object", "iframe")
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(px|pt|em|%)?\s*(;|$)", re.I)
_BLOCK_NAMES = """
address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form
h1 h2 h3 h4 h5 h6 header hr html li main nav ol option p pre section summary table tbody td tfoot th thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_CELLS = frozenset(("td", "th"))
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?\s*([\w-]+)", re.I)


def parse_html(data: bytes) -> Contents:
    """Read an HTML file; scripts, styles and hidden elements are left out, table rows become one line each."""
    text, encoding, warnings = _decode(data)
    soup = _soup(text)
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    page = text_page("\n".join(_visible_lines(soup)), "HTML file")
    metadata = [("encoding", encoding)] + ([("title", title)] if title else [])
    return Contents([page], metadata=metadata, warnings=warnings)


def visible_text(html: str) -> str:
    """Return the visible text of an HTML string, one line per block."""
    return "\n".join(_visible_lines(_soup(html)))


def _soup(text: str) -> BeautifulSoup:
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        return BeautifulSoup(text, "lxml")


def _decode(data: bytes) -> tuple[str, str, list[str]]:
    """Decode as the page itself declares, when that fits; else as any text file."""
    declared = _CHARSET.search(data[:4096])
    if declared:
        name = declared[1].decode("ascii")
        try:
            return data.decode(name), name.lower(), []
        except (LookupError, UnicodeDecodeError):
            pass  # a wrong declaration is common; the statistics below decide
    return decode(data)


def _visible_lines(soup: BeautifulSoup) -> Iterator[str]:
    for tag in soup.find_all(_is_invisible):
        tag.extract()
    writer = _LineWriter()
    for node in soup.descendants:
        yield from writer.take(node)
    yield from writer.flush()


class _LineWriter:
    """Collects text until its block ends."""

    def __init__(self) -> None:
        self._line: list[str] = []
        self._block: Tag | None = None
        self._cell: Tag | None = None

    def take(self, node: PageElement) -> Iterator[str]:
        """Take the next node of the page; yield the lines it ends."""
        if isinstance(node, Tag) and node.name == "br":
            yield from self.flush()
        # Comments, declarations and processing instructions are preformatted strings too.
        if isinstance(node, NavigableString) and not isinstance(node, PreformattedString):
            yield from self._take_text(node)

    def flush(self) -> Iterator[str]:
        """Yield the line collected so far, if it has text."""
        text = " ".join("".join(self._line).split())
        self._line.clear()
        if text:
            yield text

    def _take_text(self, node: NavigableString) -> Iterator[str]:
        if not node.strip() and not self._line:
            return
        block, cell = _places(node)
        if block is not self._block:
            yield from self.flush()
        elif cell is not self._cell and self._line and node.strip():
            self._line.append(" | ")
        if node.strip():
            self._block, self._cell = block, cell
        pieces = str(node).split("\n") if block is not None and block.name == "pre" else [str(node)]
        for piece in pieces[:-1]:
            self._line.append(piece)
            yield from self.flush()
        self._line.append(pieces[-1])


def _is_invisible(tag: Tag) -> bool:
    if tag.name in _INVISIBLE or tag.has_attr("hidden"):
        return True
    return bool(_HIDDEN_STYLE.search(str(tag.get("style") or "")))


def _places(node: NavigableString) -> tuple[Tag | None, Tag | None]:
    """Return the block whose line the text belongs to and, when that is a table row, the cell.

    A cell with several blocks is layout, not data: each of its blocks is a line of its own.
    """
    block: Tag | None = None
    for parent in node.parents:
        if parent.name in _CELLS:
            row = parent.find_parent("tr")
            is_data = block is None or len(parent.find_all(_BLOCKS, limit=2)) < 2
            return (row, parent) if row is not None and is_data else (block or parent, None)
        if block is None and parent.name in _BLOCKS:
            block = parent
    return block, None
