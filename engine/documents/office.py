"""What Word files, workbooks and slides have in common: pictures of which no text is read, and what replaces them."""

from __future__ import annotations

from typing import Any, Final

DRAWN: Final = (
    "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart",
    "{http://schemas.microsoft.com/office/drawing/2014/chartex}chart",
    "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds",
)
"""The elements that stand for a chart or a diagram (SmartArt)."""

FALLBACK: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""Holds what programs show that do not know the element before it."""


def is_fallback(element: Any) -> bool:
    """Say whether an element is there only for programs that do not know another one."""
    return any(ancestor.tag == FALLBACK for ancestor in element.iterancestors())


def counted(number: int, what: str) -> str:
    """Write a number and what it counts: `1 picture`, `1,200 pictures`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def were(number: int, what: str, where: str = "") -> str:
    """Write the same with its verb: `1 picture was`, `2 pictures on the slides were`."""
    return f"{counted(number, what)}{where} {'was' if number == 1 else 'were'}"
