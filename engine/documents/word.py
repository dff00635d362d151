"""Read DOCX: paragraphs and tables in document order, with headers, footers, notes and comments."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from docx.opc.constants import CONTENT_TYPE
from docx.opc.exceptions import PackageNotFoundError
from docx.opc.part import PartFactory, XmlPart
from docx.oxml.ns import qn
from docx.package import Package
from docx.parts.document import DocumentPart

from engine.documents.document import Hidden
from engine.documents.drafts import Contents, LineDraft, PageDraft
from engine.documents.office import (
    DRAWN,
    FALLBACK,
    FORMULA,
    counted,
    formula,
    is_fallback,
    read_xml,
    reading_office,
    were,
)
from engine.documents.options import ParseOptions
from engine.documents.raised import raised

# Whether a reader of a Word file sees a run of text: by its own properties, then its styles, then its ground.
#
# White text counts as unseen only where the ground is known to be white: not on a page with a colour, in a text box,
# on a shading, in a table with a style of its own, or in a part that has a floating picture or shape.

_WHITE: Final = "FFFFFF"
_OFF: Final = ("0", "false", "off")
_PLAIN_TABLES: Final = (None, "TableGrid", "TableNormal")
_FLOATING: Final = (qn("wp:anchor"), qn("w:pict"))
_NO_FILL: Final = (None, "auto", _WHITE)
_TEXTS: Final = (qn("w:t"), qn("w:delText"))
_MOST_STYLES: Final = 20
"""How many styles one may be based on, one on the other; a ring of them ends here."""


class Looks:
    """The looks of the runs of one file."""

    def __init__(self, document: Any) -> None:
        self._styles = {style.get(qn("w:styleId")): style for style in document.styles.element.iter(qn("w:style"))}
        self._usual = [name for name, style in self._styles.items() if _is_usual(style)]
        ground = document.element.find(qn("w:background"))
        self._has_white_pages = ground is None or ground.get(qn("w:color"), "auto").upper() in _NO_FILL
        self._floating: dict[Any, bool] = {}
        self._in_codes: dict[Any, set[Any]] = {}

    def hidden(self, run: Any) -> Hidden | None:
        """Say how a run is hidden; None where it is seen."""
        paragraph = next(run.iterancestors(qn("w:p")), None)
        properties = list(self._properties(run, paragraph))
        if (mark := _first(properties, "w:vanish")) is not None and mark.get(qn("w:val")) not in _OFF:
            return "invisible"
        colour = _first(properties, "w:color")
        if colour is None or colour.get(qn("w:val"), "").upper() != _WHITE:
            return None
        return "white" if self._is_on_white(run, paragraph, properties) else None

    def is_struck(self, run: Any) -> bool:
        """Say whether a run is struck through."""
        properties = list(self._properties(run, next(run.iterancestors(qn("w:p")), None)))
        marks = (_first(properties, tag) for tag in ("w:strike", "w:dstrike"))
        return any(mark is not None and mark.get(qn("w:val")) not in _OFF for mark in marks)

    def is_in_code(self, text: Any) -> bool:
        """Say whether a text is only there for the code of a field, which shows another one."""
        part = text.getroottree().getroot()
        if part not in self._in_codes:
            self._in_codes[part] = set(_in_codes(part))
        return text in self._in_codes[part]

    def is_raised(self, run: Any) -> bool:
        """Say whether a run with a digit stands above the line."""
        if not any(character.isdigit() for text in run.iterchildren(qn("w:t")) for character in text.text or ""):
            return False
        mark = _first(list(self._properties(run, next(run.iterancestors(qn("w:p")), None))), "w:vertAlign")
        return mark is not None and bool(mark.get(qn("w:val")) == "superscript")

    def _properties(self, run: Any, paragraph: Any) -> Iterator[Any]:
        """Yield what holds properties of a run: its own, of its style, of its paragraph's, of the usual styles."""
        yield from run.iterchildren(qn("w:rPr"))
        names = [_value_of(run, "w:rPr/w:rStyle")]
        names.append(_value_of(paragraph, "w:pPr/w:pStyle") if paragraph is not None else None)
        for name in (*names, *self._usual):
            for style in self._based(name):
                yield from style.iterchildren(qn("w:rPr"), qn("w:pPr"))

    def _based(self, name: str | None) -> Iterator[Any]:
        """Yield a style and those it is based on."""
        for _ in range(_MOST_STYLES):
            if (style := self._styles.get(name)) is None:
                return
            yield style
            name = _value_of(style, "w:basedOn")

    def list_of(self, paragraph: Any) -> tuple[str | None, str | None]:
        """Return the list that a paragraph is in and its level, by its own properties or its style; None for none."""
        holders = [paragraph, *self._based(_value_of(paragraph, "w:pPr/w:pStyle"))]
        number = next((n for holder in holders if (n := _value_of(holder, "w:pPr/w:numPr/w:numId"))), None)
        if number is None:
            return None, None
        return number, next((n for holder in holders if (n := _value_of(holder, "w:pPr/w:numPr/w:ilvl"))), "0")

    def _is_on_white(self, run: Any, paragraph: Any, properties: list[Any]) -> bool:
        grounds = [*properties, *(paragraph.iterchildren(qn("w:pPr")) if paragraph is not None else ())]
        for outer in run.iterancestors():
            if outer.tag == qn("w:txbxContent"):
                return False
            if outer.tag == qn("w:tbl") and _value_of(outer, "w:tblPr/w:tblStyle") not in _PLAIN_TABLES:
                return False
            grounds += outer.iterchildren(qn("w:tcPr"), qn("w:tblPr"))
        return self._has_white_pages and not any(map(_is_shaded, grounds)) and not self._floats(run)

    def _floats(self, run: Any) -> bool:
        """Say whether the part of the file in which a run stands has something that may lie behind it."""
        part = run.getroottree().getroot()
        if part not in self._floating:
            self._floating[part] = next(part.iter(*_FLOATING), None) is not None
        return self._floating[part]


def _in_codes(part: Any) -> Iterator[Any]:
    """Yield the texts in codes of fields: results of fields in these, as in { IF { MERGEFIELD a } = "f" "her" "his" }.

    A code ends where the result begins, or with the field; of a field without an end nothing is taken for its code.
    """
    fields: list[list[Any] | None] = []
    for element in part.iter(qn("w:fldChar"), *_TEXTS):
        kind = element.get(qn("w:fldCharType"))
        if element.tag in _TEXTS:
            for code in fields:
                if code is not None:
                    code.append(element)
        elif kind == "begin":
            fields.append([])
        elif fields:
            yield from fields.pop() or ()
            if kind == "separate":
                fields.append(None)


def _is_usual(style: Any) -> bool:
    return bool(style.get(qn("w:default")) == "1" and style.get(qn("w:type")) != "table")


def _value_of(element: Any, path: str) -> str | None:
    """Return the `w:val` of the element at a path, None where there is none."""
    mark = element.find("/".join(map(qn, path.split("/"))))
    return mark.get(qn("w:val")) if mark is not None else None


def _first(properties: list[Any], tag: str) -> Any:
    return next((mark for each in properties if (mark := each.find(qn(tag))) is not None), None)


def _is_shaded(properties: Any) -> bool:
    shading, marker = properties.find(qn("w:shd")), properties.find(qn("w:highlight"))
    is_marked = marker is not None and marker.get(qn("w:val")) not in ("none", "white")
    if shading is None:
        return is_marked
    is_pattern = shading.get(qn("w:val")) not in (None, "clear", "nil")
    return bool(is_marked or is_pattern or _fill(shading) not in _NO_FILL)


def _fill(shading: Any) -> str | None:
    fill = shading.get(qn("w:fill"))
    return fill if fill in (None, "auto") else str(fill).upper()


_COMMENT = "Comment"
_SHOWN = "shown"
_DELETED, _STRUCK = "deleted", "struck through"
_HIDDEN: Final[tuple[Hidden, ...]] = ("invisible", "white")
_NOTES = {"footnotes": "Footnote", "endnotes": "Endnote", "comments": _COMMENT}
_CONTAINERS = frozenset(
    qn(tag)
    for tag in ("w:sdt", "w:sdtContent", "w:ins", "w:moveTo", "w:customXml", "w:smartTag", "w:txbxContent", "w:body")
)
_STORIES = (*_NOTES, "header", "footer")
_EMBEDDED: Final = "{urn:schemas-microsoft-com:office:office}OLEObject"
_PICTURES = (qn("a:blip"), "{urn:schemas-microsoft-com:vml}imagedata", *DRAWN)
_BREAKS = {qn("w:tab"): "\t", qn("w:ptab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
_SKIPPED = frozenset((FALLBACK, qn("w:moveFrom"), qn("w:pPr"), qn("w:rPr")))
_TICKS = {0xF0FB: "[x]", 0xF0FC: "[x]", 0xF0FD: "[x]", 0xF0FE: "[x]", 0xF06F: "[ ]", 0xF0A8: "[ ]"}
"""Signs of the font Wingdings that forms use."""
_CODE = re.compile(r"[0-9A-Fa-f]{1,4}")
_NO_NUMBERS: Final = (None, "bullet", "none")

_WITH_MACROS = "application/vnd.ms-word.document.macroEnabled.main+xml"
PartFactory.part_type_for[_WITH_MACROS] = DocumentPart  # python-docx knows only the one without


def parse_docx(path: Path, options: ParseOptions) -> Contents:
    """Read a Word file; raise DocumentError (corrupt, too_large)."""
    with reading_office(path, options, "Word file", "word processor", PackageNotFoundError):
        document = _open(path)
        looks = Looks(document)
        lines = list(_document_lines(document, looks))
        metadata = _metadata(document)
        warnings = _left_out(document, looks)
    return Contents([PageDraft(lines, reason="Word file")], metadata=metadata, warnings=warnings)


def _open(path: Path) -> Any:
    """Open a Word file, with or without macros, which are not run."""
    part: Any = Package.open(str(path)).main_document_part
    if part.content_type not in (CONTENT_TYPE.WML_DOCUMENT_MAIN, _WITH_MACROS):
        raise ValueError(f"its main part is of the type {part.content_type}")
    return part.document


def _left_out(document: Any, looks: Looks) -> list[str]:
    """Say what of the body, the headers and footers, and the notes is not in the text."""
    stories = list(_stories(document))
    pictures = sum(_is_picture(picture) for story in stories for picture in story.iter(*_PICTURES))
    embedded = sum(not is_fallback(file) for story in stories for file in story.iter(_EMBEDDED))
    inserted = sum(1 for story in stories for _ in story.iter(qn("w:altChunk")))
    warnings = [f"{were(pictures, 'picture')} not read"] if pictures else []
    if embedded:
        warnings.append(f"{were(embedded, 'embedded file')} not read; save it as a file of its own")
    if inserted:
        advice = "open the document in Word and save it again, which makes their text part of its own"
        warnings.append(f"{were(inserted, 'inserted file')} not read; {advice}")
    if numbers := _automatic_numbers(document, stories, looks):
        verb = "is" if numbers == 1 else "are"
        warnings.append(f"{counted(numbers, 'automatic number')} of paragraphs {verb} not in the text")
    return warnings


def _is_picture(picture: Any) -> bool:
    """Say whether a picture is more than the icon of an embedded file, or a fallback."""
    inside = (ancestor.find(_EMBEDDED) for ancestor in picture.iterancestors(qn("w:object")))
    return not is_fallback(picture) and all(file is None for file in inside)


def _automatic_numbers(document: Any, stories: Iterable[Any], looks: Looks) -> int:
    """Count the paragraphs that have a number which no text holds: Word works it out when it shows the file."""
    formats = _list_formats(document)
    if not formats:
        return 0
    return sum(
        formats.get(looks.list_of(paragraph)) not in _NO_NUMBERS and not is_fallback(paragraph)
        for story in stories
        for paragraph in story.iter(qn("w:p"))
    )


def _list_formats(document: Any) -> dict[tuple[str | None, str | None], str | None]:
    """Return how the paragraphs of each list are numbered, by the list and the level in it."""
    formats: dict[tuple[str | None, str | None], str | None] = {}
    for relation in document.part.rels.values():
        if relation.is_external or not relation.reltype.endswith("/numbering"):
            continue
        root = _root(relation.target_part)
        kinds = list(root.iterchildren(qn("w:abstractNum")))
        by_number = {kind.get(qn("w:abstractNumId")): kind for kind in kinds}
        by_style = {_value_of(kind, "w:styleLink"): kind for kind in kinds}
        for one in root.iterchildren(qn("w:num")):
            kind = by_number.get(_value_of(one, "w:abstractNumId"))
            if kind is not None and (style := _value_of(kind, "w:numStyleLink")) is not None:
                kind = by_style.get(style)
            own = one.iterfind(f"{qn('w:lvlOverride')}/{qn('w:lvl')}")
            for level in (*(kind.iterchildren(qn("w:lvl")) if kind is not None else ()), *own):
                formats[one.get(qn("w:numId")), level.get(qn("w:ilvl"))] = _format_of(level)
    return formats


def _format_of(level: Any) -> str | None:
    return None if _value_of(level, "w:lvlText") == "" else _value_of(level, "w:numFmt") or "decimal"


def _stories(document: Any) -> Iterator[Any]:
    yield document.element
    for relation in document.part.rels.values():
        if not relation.is_external and relation.reltype.rsplit("/", 1)[-1] in _STORIES:
            yield _root(relation.target_part)


def _root(part: Any) -> Any:
    return part.element if isinstance(part, XmlPart) else read_xml(part.blob)


def _document_lines(document: Any, looks: Looks) -> Iterator[LineDraft]:
    yield from _margin_lines(document, "header", looks)
    yield from _block_lines(document.element.body, looks)
    yield from _note_lines(document, looks)
    yield from _margin_lines(document, "footer", looks)


def _margin_lines(document: Any, which: str, looks: Looks) -> Iterator[LineDraft]:
    """Yield each distinct header (or footer) once, however many sections repeat it.

    That of the first page, and that of even pages, are in a file also where no page shows them any more.
    """
    seen = set()
    shows = {
        f"first_page_{which}": any(section.different_first_page_header_footer for section in document.sections),
        which: True,
        f"even_page_{which}": document.settings.odd_and_even_pages_header_footer,
    }
    for section in document.sections:
        for name, is_shown in shows.items():
            margin = getattr(section, name)
            if margin.is_linked_to_previous:
                continue
            lines = tuple(_block_lines(margin._element, looks))
            if lines not in seen:
                seen.add(lines)
                yield from (line if is_shown else replace(line, hidden=line.hidden or "invisible") for line in lines)


def _block_lines(parent: Any, looks: Looks) -> Iterator[LineDraft]:
    """Yield the lines of paragraphs and tables below an element; a table row is one line, cells parted by ` | `."""
    for element in parent:
        if element.tag == qn("w:p"):
            yield from _paragraph_lines(element, looks)
        elif element.tag == qn("w:tbl"):
            yield from _table_lines(element, looks)
        elif element.tag in _CONTAINERS:
            yield from _block_lines(element, looks)


def _paragraph_lines(paragraph: Any, looks: Looks) -> Iterator[LineDraft]:
    """Yield the text; then, marked, what tracked changes deleted or is struck through; then what no reader sees."""
    pieces = list(_pieces(paragraph, looks))
    for line in _lines_of(pieces, _SHOWN):
        yield LineDraft(line)
    for mark in (_DELETED, _STRUCK):
        for line in _lines_of(pieces, mark):
            yield LineDraft(f"[{mark}] {line}")
    for how in _HIDDEN:
        for line in _lines_of(pieces, how):
            yield LineDraft(line, hidden=how)
    for box in _text_boxes(paragraph):
        yield from _block_lines(box, looks)


def _lines_of(pieces: Sequence[tuple[str, str]], how: str) -> Iterator[str]:
    for line in "".join(text for kind, text in pieces if kind == how).split("\n"):
        if line.strip():
            yield " ".join(line.split())


def _pieces(element: Any, looks: Looks, how: str = _SHOWN) -> Iterator[tuple[str, str]]:
    """Yield the text of runs, hyperlinks, insertions and deletions, each with how it is shown; not of text boxes."""
    for child in element:
        if child.tag in _TEXTS:
            yield how, "" if looks.is_in_code(child) else child.text or ""
        elif child.tag in _BREAKS:
            yield how, _BREAKS[child.tag]
        elif child.tag in _SIGNS:
            yield how, _SIGNS[child.tag](child)
        elif child.tag == qn("w:del"):
            yield from _pieces(child, looks, _DELETED)
        elif child.tag == qn("w:r"):
            kind = (looks.hidden(child) or (_STRUCK if looks.is_struck(child) else how)) if how == _SHOWN else how
            pieces = _pieces(child, looks, kind)
            yield from ((kind, raised(text)) for kind, text in pieces) if looks.is_raised(child) else pieces
        elif child.tag not in _SKIPPED and child.tag != qn("w:txbxContent"):
            yield from _pieces(child, looks, how)


def _check_box(box: Any) -> str:
    """Return the tick of a check box of a form; one without a state has its default."""
    state = box.find(qn("w:checked"))
    if state is None:
        state = box.find(qn("w:default"))
    return "[ ]" if state is None or state.get(qn("w:val")) in _OFF else "[x]"


def _choice(choices: Any) -> str:
    """Return the entry that is chosen of a list of a form, else its default, else the first."""
    entries = [entry.get(qn("w:val"), "") for entry in choices.iterchildren(qn("w:listEntry"))]
    number = _value_of(choices, "w:result") or _value_of(choices, "w:default") or "0"
    return entries[int(number)] if number.isdecimal() and int(number) < len(entries) else ""


def _symbol(symbol: Any) -> str:
    """Return a sign that is given by its font and number: a tick, or a character that can be shown."""
    digits = symbol.get(qn("w:char"), "")
    code = int(digits, 16) if _CODE.fullmatch(digits) else 0
    if symbol.get(qn("w:font")) == "Wingdings" and code in _TICKS:
        return _TICKS[code]
    character = chr(code)
    return character if character.isprintable() or unicodedata.category(character) == "Co" else ""


_SIGNS: Final[Mapping[str, Callable[[Any], str]]] = {
    qn("w:checkBox"): _check_box,
    qn("w:ddList"): _choice,
    qn("w:sym"): _symbol,
    FORMULA: formula,
}
"""Fields of forms, signs and formulas, by what they show."""


def _text_boxes(paragraph: Any) -> Iterator[Any]:
    """Yield text boxes once: Word writes each a second time as a fallback for old readers."""
    for box in paragraph.iter(qn("w:txbxContent")):
        if not is_fallback(box):
            yield box


def _table_lines(table: Any, looks: Looks) -> Iterator[LineDraft]:
    for row in table.iter(qn("w:tr")):
        if next(row.iterancestors(qn("w:tbl"))) is not table:
            continue  # a table inside a cell is part of that cell's text
        cells = [list(_block_lines(cell, looks)) for cell in _cells(row)]
        texts = [" ".join(line.text for line in lines if not line.hidden) for lines in cells]
        if any(texts):
            yield LineDraft(" | ".join(texts))
        yield from (line for lines in cells for line in lines if line.hidden)


def _cells(row: Any) -> Iterable[Any]:
    return (cell for cell in row.iter(qn("w:tc")) if next(cell.iterancestors(qn("w:tr"))) is row)


def _note_lines(document: Any, looks: Looks) -> Iterator[LineDraft]:
    """Yield footnotes, endnotes and comments, each with its kind in front."""
    for relation in document.part.rels.values():
        label = _NOTES.get(relation.reltype.rsplit("/", 1)[-1])
        if label is None or relation.is_external:
            continue
        for note in _root(relation.target_part):
            lines = list(_block_lines(note, looks))
            text = " ".join(line.text for line in lines if not line.hidden)
            author = " ".join((note.get(qn("w:author")) or "").split())
            if text:
                said = f"[comment] {author}: {text}" if author else f"[comment] {text}"
                yield LineDraft(said if label == _COMMENT else f"{label}: {text}")
            yield from (line for line in lines if line.hidden)


def _metadata(document: Any) -> list[tuple[str, str]]:
    properties = document.core_properties
    values = {
        "title": properties.title,
        "author": properties.author,
        "subject": properties.subject,
        "created": properties.created and properties.created.isoformat(),
        "modified": properties.modified and properties.modified.isoformat(),
    }
    return [(key, str(value)) for key, value in values.items() if value]
