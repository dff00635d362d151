"""Whether a reader of an HTML page sees a text: what the `style` and the attributes of its elements say.

Style sheets are not read. Where one could decide, a text counts as seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from bs4 import BeautifulSoup, Tag

from engine.documents.document import Hidden

_Colour = tuple[int, int, int]

_WHITE: Final = (255, 255, 255)
_NAMED: Final = {"white": _WHITE, "black": (0, 0, 0), "snow": (255, 250, 250), "red": (255, 0, 0), "navy": (0, 0, 128)}
_HEX = re.compile(r"#([0-9a-f]{3}|[0-9a-f]{6})", re.I)
_RGB = re.compile(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)", re.I)
_SIZE = re.compile(r"(\d*\.?\d+)\s*(px|pt|)", re.I)
_NO_SIZE = re.compile(r"0+(\.0*)?(px|pt|em|rem|ex|%|)", re.I)
_SMALLEST_SEEN: Final = 1.0
"""Letters of no more pixels or points are dots."""


@dataclass(frozen=True, slots=True)
class _Look:
    """How the text in an element looks. A colour is None where it is not known."""

    is_shown: bool = True
    is_visible: bool = True
    is_tiny: bool = False
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
    if (found := _HEX.fullmatch(text)) is not None:
        digits = found[1] if len(found[1]) > 3 else "".join(digit * 2 for digit in found[1])
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)
    if (found := _RGB.fullmatch(text)) is not None:
        return int(found[1]), int(found[2]), int(found[3])
    return _NAMED.get(text)
