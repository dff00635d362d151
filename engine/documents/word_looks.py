"""Whether a reader of a Word file sees a run of text: by its own properties, then its styles, then its ground.

White text counts as unseen only where the ground is known to be white: not on a page with a colour, in a text box, on a
shading, in a table with a style of its own, or in a part that has a floating picture or shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from docx.oxml.ns import qn

from engine.documents.document import Hidden

_WHITE: Final = "FFFFFF"
_OFF: Final = ("0", "false", "off")
_PLAIN_TABLES: Final = (None, "TableGrid", "TableNormal")
_FLOATING: Final = (qn("wp:anchor"), qn("w:pict"))
_NO_FILL: Final = (None, "auto", _WHITE)
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

    def _properties(self, run: Any, paragraph: Any) -> Iterator[Any]:
        """Yield what holds properties of a run: its own, of its style, of its paragraph's, of the usual styles."""
        yield from run.iterchildren(qn("w:rPr"))
        names = [_style_name(run, "w:rPr/w:rStyle")]
        names.append(_style_name(paragraph, "w:pPr/w:pStyle") if paragraph is not None else None)
        for name in (*names, *self._usual):
            for style in self._based(name):
                yield from style.iterchildren(qn("w:rPr"), qn("w:pPr"))

    def _based(self, name: str | None) -> Iterator[Any]:
        """Yield a style and those it is based on."""
        for _ in range(_MOST_STYLES):
            if (style := self._styles.get(name)) is None:
                return
            yield style
            name = _style_name(style, "w:basedOn")

    def _is_on_white(self, run: Any, paragraph: Any, properties: list[Any]) -> bool:
        grounds = [*properties, *(paragraph.iterchildren(qn("w:pPr")) if paragraph is not None else ())]
        for outer in run.iterancestors():
            if outer.tag == qn("w:txbxContent"):
                return False
            if outer.tag == qn("w:tbl") and _style_name(outer, "w:tblPr/w:tblStyle") not in _PLAIN_TABLES:
                return False
            grounds += outer.iterchildren(qn("w:tcPr"), qn("w:tblPr"))
        return self._has_white_pages and not any(map(_is_shaded, grounds)) and not self._floats(run)

    def _floats(self, run: Any) -> bool:
        """Say whether the part of the file in which a run stands has something that may lie behind it."""
        part = run.getroottree().getroot()
        if part not in self._floating:
            self._floating[part] = next(part.iter(*_FLOATING), None) is not None
        return self._floating[part]


def _is_usual(style: Any) -> bool:
    return bool(style.get(qn("w:default")) == "1" and style.get(qn("w:type")) != "table")


def _style_name(element: Any, path: str) -> str | None:
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
