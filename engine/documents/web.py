"""Read HTML: the text a reader of the page would see."""

from __future__ import annotations

import re
import warnings as python_warnings
from collections.abc import Iterator

from bs4 import BeautifulSoup, Tag, XMLParsedAsHTMLWarning
from bs4.element import NavigableString, PageElement, PreformattedString

from engine.documents.document import Hidden
from engine.documents.drafts import Contents, LineDraft, PageDraft
from engine.documents.encoding import decode
from engine.documents.web_looks import Looks

_INVISIBLE = ("script", "style", "noscript", "template", "head", "title", "svg", "object", "iframe")
_UNSEEN = re.compile("[\u00ad\u034f\u200b-\u200f\u2060\ufeff]")
"""Characters without a width, of which mails have long rows."""

_BLOCK_NAMES = """
address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form
h1 h2 h3 h4 h5 h6 header hr html li main nav ol option p pre section summary table tbody td tfoot th thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_CELLS = frozenset(("td", "th"))
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?\s*([\w-]+)", re.I)


def parse_html(data: bytes) -> Contents:
    """Read an HTML file; scripts and styles are left out, table rows become one line each.

    What a `style` or an attribute hides stands, marked, behind the line of its block.
    """
    text, encoding, warnings = _decode(data)
    soup = _soup(text)
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    page = PageDraft(list(_lines(soup)), reason="HTML file")
    metadata = [("encoding", encoding)] + ([("title", title)] if title else [])
    return Contents([page], metadata=metadata, warnings=warnings)


def visible_text(html: str) -> str:
    """Return the visible text of an HTML string, one line per block."""
    return "\n".join(line.text for line in html_lines(html) if not line.hidden)


def html_lines(html: str) -> list[LineDraft]:
    """Return the text of an HTML string, one line per block, and behind it what is hidden in the block."""
    return list(_lines(_soup(html)))


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


def _lines(soup: BeautifulSoup) -> Iterator[LineDraft]:
    looks = Looks(soup)
    for tag in soup.find_all(_INVISIBLE):
        tag.extract()
    writer = _LineWriter(looks)
    for node in soup.descendants:
        yield from writer.take(node)
    yield from writer.flush()


class _LineWriter:
    """Collects text until its block ends; what is hidden apart from what is seen."""

    def __init__(self, looks: Looks) -> None:
        self._looks = looks
        self._line: list[str] = []
        self._hidden: dict[Hidden, list[str]] = {}
        self._block: Tag | None = None
        self._cell: Tag | None = None

    def take(self, node: PageElement) -> Iterator[LineDraft]:
        """Take the next node of the page; yield the lines it ends."""
        if isinstance(node, Tag) and node.name == "br":
            yield from self.flush()
        # Comments, declarations and processing instructions are preformatted strings too.
        if isinstance(node, NavigableString) and not isinstance(node, PreformattedString):
            yield from self._take_text(node)

    def flush(self) -> Iterator[LineDraft]:
        """Yield the line collected so far, if it has text, and what is hidden in it."""
        text = " ".join("".join(self._line).split())
        self._line.clear()
        if text:
            yield LineDraft(text)
        hidden, self._hidden = self._hidden, {}
        for how, pieces in hidden.items():
            if unseen := " ".join(_UNSEEN.sub("", "".join(pieces)).split()):
                yield LineDraft(unseen, hidden=how)

    def _take_text(self, node: NavigableString) -> Iterator[LineDraft]:
        if not node.strip() and not self._line:
            return
        block, cell = _places(node)
        if block is not self._block:
            yield from self.flush()
        if node.strip() and (how := self._looks.of(node.parent)) is not None:
            self._block = block
            self._hidden.setdefault(how, []).append(f"{node} ")
            return
        if block is self._block and cell is not self._cell and self._line and node.strip():
            self._line.append(" | ")
        if node.strip():
            self._block, self._cell = block, cell
        pieces = str(node).split("\n") if block is not None and block.name == "pre" else [str(node)]
        for piece in pieces[:-1]:
            self._line.append(piece)
            yield from self.flush()
        self._line.append(pieces[-1])


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
