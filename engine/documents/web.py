"""Read HTML: the text a reader of the page would see."""

from __future__ import annotations

import codecs
import re
import warnings as python_warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

from bs4 import BeautifulSoup, Tag, XMLParsedAsHTMLWarning
from bs4.element import NavigableString, PageElement, PreformattedString

from engine.documents.document import Hidden
from engine.documents.drafts import Contents, LineDraft, PageDraft
from engine.documents.encoding import decode, decode_declared
from engine.documents.office import were
from engine.documents.raised import raised

# Whether a reader of an HTML page sees a text: what the `style` and the attributes of its elements say.
#
# Style sheets are not read. Where one could decide, a text counts as seen.

_Colour = tuple[int, int, int]

_WHITE: Final = (255, 255, 255)
_NAMED: Final = {"white": _WHITE, "black": (0, 0, 0), "snow": (255, 250, 250), "red": (255, 0, 0), "navy": (0, 0, 128)}
_HEX = re.compile(r"#([0-9a-f]{3}|[0-9a-f]{6})", re.I)
_RGB = re.compile(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)", re.I)
_SIZE = re.compile(r"(\d*\.?\d+)\s*(px|pt|)", re.I)
_NO_SIZE = re.compile(r"0+(\.0*)?(px|pt|em|rem|ex|%|)", re.I)
_STRIKING: Final = ("s", "strike", "del")
_DECORATIONS: Final = ("text-decoration", "text-decoration-line")
_SMALLEST_SEEN: Final = 1.0
"""Letters of no more pixels or points are dots."""


@dataclass(frozen=True, slots=True)
class _Look:
    """How the text in an element looks. A colour is None where it is not known."""

    is_shown: bool = True
    is_visible: bool = True
    is_tiny: bool = False
    is_struck: bool = False
    colour: _Colour | None = (0, 0, 0)
    ground: _Colour | None = _WHITE


class Looks:
    """The looks of the elements of one page, from the outside to the inside."""

    def __init__(self, page: BeautifulSoup) -> None:
        self._has_sheet = page.find("style") is not None or any(
            "stylesheet" in (link.get("rel") or ()) for link in page.find_all("link")
        )
        self._looks: dict[int, _Look] = {}

    def of(self, element: Tag | None) -> Hidden | None:
        """Say how the text right in an element is hidden; None where it is seen."""
        look = self._look(element)
        if not (look.is_shown and look.is_visible):
            return "invisible"
        if look.is_tiny:
            return "tiny"
        is_lost = look.colour is not None and look.colour == look.ground
        return "white" if is_lost else None

    def is_struck(self, element: Tag | None) -> bool:
        """Say whether the text right in an element is struck through."""
        return self._look(element).is_struck

    def _look(self, element: Tag | None) -> _Look:
        chain = []
        while element is not None and id(element) not in self._looks:
            chain.append(element)
            element = element.parent
        look = self._looks[id(element)] if element is not None else _Look()
        for inner in reversed(chain):
            look = self._looks[id(inner)] = self._inside(look, inner)
        return look

    def _inside(self, outer: _Look, element: Tag) -> _Look:
        style = _declarations(str(element.get("style") or ""))
        look = outer
        if element.has_attr("hidden") or style.get("display") == "none" or _is_nothing(style.get("opacity", "")):
            look = replace(look, is_shown=False)
        if "visibility" in style:
            look = replace(look, is_visible=style["visibility"] not in ("hidden", "collapse"))
        if size := style.get("font-size") or style.get("font", "").partition("/")[0]:
            look = replace(look, is_tiny=_is_tiny(size, outer=look.is_tiny))
        if element.name in _STRIKING or any("line-through" in style.get(name, "") for name in _DECORATIONS):
            look = replace(look, is_struck=True)
        return replace(look, colour=_text_colour(look, element, style), ground=self._ground(look, element, style))

    def _ground(self, look: _Look, element: Tag, style: dict[str, str]) -> _Colour | None:
        if element.has_attr("background"):  # a picture
            return None
        text = style.get("background-color") or style.get("background") or str(element.get("bgcolor") or "")
        if "background-image" in style or "url(" in text or "gradient" in text:
            return None
        if text in ("", "none", "transparent", "inherit"):
            is_open = self._has_sheet and (element.has_attr("class") or element.has_attr("id"))
            return None if is_open or (self._has_sheet and element.name == "body") else look.ground
        return _colour(text)


def _text_colour(look: _Look, element: Tag, style: dict[str, str]) -> _Colour | None:
    text = style.get("color") or (str(element.get("color") or "") if element.name == "font" else "")
    if text and text != "inherit":
        return _colour(text)
    return None if element.name == "a" else look.colour  # a link has a colour of its own


def _declarations(style: str) -> dict[str, str]:
    pairs = (part.partition(":") for part in style.lower().split(";"))
    return {name.strip(): value.replace("!important", "").strip() for name, _, value in pairs}


def _is_nothing(value: str) -> bool:
    return _NO_SIZE.fullmatch(value) is not None


def _is_tiny(size: str, *, outer: bool) -> bool:
    """Say whether letters of this size are too small to see; a relative size keeps what it is relative to."""
    if _is_nothing(size.rsplit(maxsplit=1)[-1]):
        return True
    if (length := _SIZE.fullmatch(size.rsplit(maxsplit=1)[-1])) is not None:
        return float(length[1]) <= _SMALLEST_SEEN
    return outer and ("%" in size or "em" in size or size in ("inherit", "smaller", "larger"))


def _colour(text: str) -> _Colour | None:
    """Read a colour; None for one that is not known here."""
    text = text.strip().lower()
    if (match := _HEX.fullmatch(text)) is not None:
        digits = match[1] if len(match[1]) > 3 else "".join(digit * 2 for digit in match[1])
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)
    if (match := _RGB.fullmatch(text)) is not None:
        return int(match[1]), int(match[2]), int(match[3])
    return _NAMED.get(text)


_INVISIBLE = ("script", "style", "noscript", "template", "head", "title", "svg", "object", "iframe", "datalist")
_UNSEEN = re.compile("[\u00ad\u034f\u200b-\u200f\u2060\ufeff]")
"""Characters without a width, of which mails have long rows."""
_NOT_SHOWN = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Those of them that only say where a line may break, or may not; the others join letters or tell their direction."""

_BLOCK_NAMES = """
address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form
h1 h2 h3 h4 h5 h6 header hr html li main nav ol option p pre section summary table tbody td tfoot th thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_CELLS = frozenset(("td", "th"))
_DIGITS_OF_SPAN: Final = 3
_FRAMES: Final = ("frame", "iframe")
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?\s*([\w-]+)", re.I)
_WIDE = ("utf-16", "utf-32")
_TICKS = frozenset(("checkbox", "radio"))
_WITHOUT_TEXT = frozenset(("hidden", "password", "file", "image"))


def parse_html(data: bytes) -> Contents:
    """Read an HTML file; scripts and styles are left out, table rows become one line each.

    Controls of forms say what is filled in. What a `style` or an attribute hides stands, marked, behind the line of its
    block.
    """
    text, encoding, warnings = _decode(data)
    soup = _soup(text)
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    warnings += _unread(soup)
    page = PageDraft(list(_lines(soup)), reason="HTML file")
    if not page.lines:
        warnings.append("no text was found; open it in a browser, and print what is shown to a PDF")
    metadata = [("encoding", encoding)] + ([("title", title)] if title else [])
    return Contents([page], metadata=metadata, warnings=warnings)


def _unread(soup: BeautifulSoup) -> list[str]:
    """Name the pictures and the framed pages, of which nothing is read."""
    pictures = sum(not _is_dot(picture) for picture in soup.find_all("img"))
    pictures += sum(drawing.find("text") is not None for drawing in soup.find_all("svg"))
    frames = sum(not _is_dot(frame) for frame in soup.find_all(_FRAMES))
    counts = ((pictures, "picture"), (frames, "framed page"))
    return [f"{were(number, what)} not read" for number, what in counts if number]


def _is_dot(element: Tag) -> bool:
    """Say whether a picture or frame is too small to show anything, as those that only count who reads a page."""
    return any(str(element.get(side) or "") in ("0", "1", "2", "3") for side in ("width", "height"))


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
            if not codecs.lookup(name).name.startswith(_WIDE):  # a tag that is found byte by byte is in neither
                return decode_declared(data, name), name.lower(), []
        except (LookupError, UnicodeDecodeError):
            pass  # a wrong declaration is common; the statistics below decide
    return decode(data)


def _lines(soup: BeautifulSoup) -> Iterator[LineDraft]:
    looks = Looks(soup)
    for tag in soup.find_all(_INVISIBLE):
        tag.extract()
    _fill_in(soup)
    for table in soup.find_all("table"):
        _fill_spans(soup, table)
    for text in [text for above in soup.find_all("sup") for text in above.find_all(string=True)]:
        if not isinstance(text, PreformattedString):  # no comment
            text.replace_with(raised(text))
    writer = _LineWriter(looks)
    for node in soup.descendants:
        yield from writer.take(node)
    yield from writer.flush()


def _fill_in(soup: BeautifulSoup) -> None:
    """Write into the controls of forms what they show: values, ticks, and the options that are chosen."""
    for field in soup.find_all("input"):
        if text := _shown(field):
            field.append(f" {text} ")
    for choice in soup.find_all("select"):
        choice.string = f" {_chosen(choice)} "


def _shown(field: Tag) -> str:
    kind = str(field.get("type") or "text").lower()
    if kind in _TICKS:
        return "[x]" if field.has_attr("checked") else "[ ]"
    return "" if kind in _WITHOUT_TEXT else str(field.get("value") or "")


def _chosen(choice: Tag) -> str:
    """Return the options that are selected; of a list that drops down the last of them, without one the first."""
    options = choice.find_all("option")
    selected = [option for option in options if option.has_attr("selected")]
    if not choice.has_attr("multiple"):
        drops_down = str(choice.get("size") or "1") in ("0", "1")
        selected = selected[-1:] or (options[:1] if drops_down else [])
    return ", ".join(" ".join(option.get_text().split()) or str(option.get("label") or "") for option in selected)


def _fill_spans(soup: BeautifulSoup, table: Tag) -> None:
    """Put an empty cell where one of a row above reaches down, so that the others stay in their columns."""
    if table.find(_CELLS, rowspan=True) is None:
        return
    below: dict[int, int] = {}  # by column, the rows that are still covered
    for row in table.find_all("tr"):
        if row.find_parent("table") is not table:
            continue
        covered, below = below, {column: rows - 1 for column, rows in below.items() if rows > 1}
        column = 0
        for cell in row.find_all(_CELLS, recursive=False):
            while column in covered:
                cell.insert_before(soup.new_tag("td"))
                column += 1
            width = _span(cell, "colspan")
            if (rows := _span(cell, "rowspan")) > 1:
                below |= dict.fromkeys(range(column, column + width), rows - 1)
            column += width


def _span(cell: Tag, name: str) -> int:
    number = str(cell.get(name) or "")
    is_number = number.isascii() and number.isdigit() and len(number) <= _DIGITS_OF_SPAN
    return max(int(number), 1) if is_number else 1


class _LineWriter:
    """Collects text until its block ends; apart from it what is hidden, and what is struck through."""

    def __init__(self, looks: Looks) -> None:
        self._looks = looks
        self._line: list[str] = []
        self._apart: dict[Hidden | None, list[str]] = {}  # by how it is hidden; None: struck through
        self._block: Tag | None = None
        self._cell: Tag | None = None
        self._has_columns: dict[int, bool] = {}  # by id of a table

    def take(self, node: PageElement) -> Iterator[LineDraft]:
        """Take the next node of the page; yield the lines it ends."""
        if isinstance(node, Tag) and node.name == "br":
            yield from self.flush()
        # Comments, declarations and processing instructions are preformatted strings too.
        if isinstance(node, NavigableString) and not isinstance(node, PreformattedString):
            yield from self._take_text(node)

    def flush(self) -> Iterator[LineDraft]:
        """Yield the line collected so far, if it has text, and what is struck through or hidden in it."""
        text = " ".join(_NOT_SHOWN.sub("", "".join(self._line)).split())
        self._line.clear()
        if text:
            yield LineDraft(text)
        apart, self._apart = self._apart, {}
        for how, pieces in apart.items():
            if text := " ".join(_UNSEEN.sub("", "".join(pieces)).split()):
                yield LineDraft(text, hidden=how) if how else LineDraft(f"[struck through] {text}")

    def _take_text(self, node: NavigableString) -> Iterator[LineDraft]:
        if not node.strip() and not self._line:
            return
        block, cell = _places(node)
        if block is not self._block:
            yield from self.flush()
        how = self._looks.of(node.parent)
        if node.strip() and (how or self._looks.is_struck(node.parent)):
            self._block = block
            self._apart.setdefault(how, []).append(f"{node} ")
            return
        if node.strip():
            if block is not self._block or cell is not self._cell:
                self._line.extend(self._separators(cell, self._cell if block is self._block else None))
            self._block, self._cell = block, cell
        pieces = str(node).split("\n") if block is not None and block.name == "pre" else [str(node)]
        for piece in pieces[:-1]:
            self._line.append(piece)
            yield from self.flush()
        self._line.append(pieces[-1])

    def _separators(self, cell: Tag | None, before: Tag | None) -> Iterator[str]:
        """Yield one separator for each seen cell that begins behind `before`, empty ones too, up to `cell`.

        Empty cells at the beginning of a row count only where a row of the table has more than one cell with text:
        others are margins.
        """
        if cell is None:
            return
        others = (other for other in cell.previous_siblings if isinstance(other, Tag) and other.name in _CELLS)
        passed = sum(self._looks.of(other) is None for other in takewhile(lambda other: other is not before, others))
        if before is not None:
            passed += 1
        elif passed and not self._is_of_columns(cell):
            return
        yield " | " * passed

    def _is_of_columns(self, cell: Tag) -> bool:
        table = cell.find_parent("table")
        if table is None:
            return True
        if id(table) not in self._has_columns:
            rows = (row.find_all(_CELLS, recursive=False) for row in table.find_all("tr"))
            counts = (sum(bool(each.get_text(strip=True)) for each in cells) for cells in rows)
            self._has_columns[id(table)] = any(count > 1 for count in counts)
        return self._has_columns[id(table)]


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
