"""What Word files, workbooks and slides have in common: a ZIP of XML, and pictures of which no text is read."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from lxml import etree

from engine.documents.archive import check_bomb
from engine.documents.options import ParseOptions
from engine.documents.raised import raised
from engine.errors import DocumentError

_ERRORS: Final = (
    zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, OSError, etree.XMLSyntaxError,
)  # fmt: skip
"""What the readers of office files, ZIPs of XML, raise where one is damaged."""

DRAWN: Final = (
    "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart",
    "{http://schemas.microsoft.com/office/drawing/2014/chartex}chart",
    "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds",
)
"""The elements that stand for a chart or a diagram (SmartArt)."""

FALLBACK: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""Holds what programs show that do not know the element before it."""

_MATH: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
FORMULA: Final = _MATH + "oMath"
_ONE: Final = re.compile(r"[\w.,]*|\([^()]*\)")

SAFE: Final = {"resolve_entities": False, "no_network": True}
"""How parts of these files are read: they may be hostile."""


@contextmanager
def reading_office(
    path: Path, options: ParseOptions, what: str, program: str, *errors: type[Exception]
) -> Iterator[zipfile.ZipFile]:
    """Yield the ZIP that an office file is, if its size is allowed; `errors` are more that its reader raises.

    What goes wrong in the block is DocumentError (corrupt) for a file of the name `what`, read by `program`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            check_bomb(archive.infolist(), options)
            yield archive
    except (*_ERRORS, *errors) as error:
        advice = f"Open it in a {program} and save it again."
        raise DocumentError(f"the {what} cannot be read ({error})", reason="corrupt", advice=advice) from error


def read_xml(data: bytes) -> Any:
    """Read a part of an office file, and nothing beside it that it names."""
    return etree.fromstring(data, etree.XMLParser(**SAFE))


def is_fallback(element: Any) -> bool:
    """Say whether an element is there only for programs that do not know another one."""
    return any(ancestor.tag == FALLBACK for ancestor in element.iterancestors())


def counted(number: int, what: str) -> str:
    """Write a number and what it counts: `1 picture`, `1,200 pictures`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def were(number: int, what: str, where: str = "") -> str:
    """Write the same with its verb: `1 picture was`, `2 pictures on the slides were`."""
    return f"{counted(number, what)}{where} {'was' if number == 1 else 'were'}"


def formula(element: Any) -> str:
    """Write a formula in one line: 10⁶, x^n, (a + b)/2."""
    children = [(child.tag.removeprefix(_MATH), formula(child)) for child in element if isinstance(child.tag, str)]
    parts = dict(children)
    match element.tag.removeprefix(_MATH):
        case "t":
            return element.text or ""
        case "f":
            return f"{_grouped(parts.get('num', ''))}/{_grouped(parts.get('den', ''))}"
        case "sSup":
            exponent = parts.get("sup", "")
            above = raised(exponent)
            return _grouped(parts.get("e", "")) + (f"^{_grouped(exponent)}" if above == exponent else above)
        case "rad":
            return f"√{_grouped(parts.get('e', ''))}"
        case "d":
            inner = ", ".join(text for name, text in children if name == "e")
            return _bracket(element, "begChr", "(") + inner + _bracket(element, "endChr", ")")
    return "".join(text for _, text in children)


def _bracket(element: Any, which: str, usual: str) -> str:
    mark = element.find(f"{_MATH}dPr/{_MATH}{which}")
    return usual if mark is None else mark.get(f"{_MATH}val", usual)


def _grouped(text: str) -> str:
    """Put what is more than one number or name in brackets."""
    return text if _ONE.fullmatch(text) else f"({text})"
