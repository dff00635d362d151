"""The small markup of the source texts, and the blocks it stands for."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heading:
    """A section heading; level 1 goes into the outline of a PDF."""

    text: str
    level: int


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; `mark` is what hangs in the margin ("1.", "a."), empty for none."""

    text: str
    mark: str = ""
    quoted: bool = False
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A ruled table; the first row is its header."""

    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Form:
    """Boxes of a printed form: rows of (label, value) pairs."""

    rows: tuple[tuple[tuple[str, str], ...], ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """A scribble over a ruled line with name and title below it."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class PageBreak:
    """Continue on a new page."""


Block = Heading | Paragraph | Grid | Form | Signature | PageBreak

MARKED = re.compile(r"^(\d+\.|\([a-z]\)|-)\s+(.*)$", re.DOTALL)


def parse(body: str) -> list[Block]:
    """Return the blocks of `body`; blank lines part them, as the README beside the sources describes."""
    return [_block(chunk.strip("\n")) for chunk in re.split(r"\n\s*\n", body.strip("\n"))]


def _block(chunk: str) -> Block:
    if chunk.strip() == "<<page>>":
        return PageBreak()
    if chunk.startswith("<<sign "):
        name, title = chunk.strip()[len("<<sign ") : -2].split(";", 1)
        return Signature(name.strip(), title.strip())
    if chunk.startswith("|"):
        return Grid(tuple(_cells(line) for line in chunk.splitlines()))
    if chunk.startswith("[["):
        return Form(tuple(_fields(line) for line in chunk.splitlines()))
    return _text_block(" ".join(line.strip() for line in chunk.splitlines()))


def _text_block(text: str) -> Block:
    if text.startswith("#"):
        hashes, _, words = text.partition(" ")
        return Heading(words, len(hashes))
    if text.startswith("> "):
        return Paragraph(text[2:], quoted=True)
    if text.startswith("**") and text.endswith("**"):
        return Paragraph(text.strip("*"), bold=True)
    marked = MARKED.match(text)
    return Paragraph(marked[2], mark=marked[1]) if marked else Paragraph(text)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def _fields(line: str) -> tuple[tuple[str, str], ...]:
    pairs = line.strip().removeprefix("[[").removesuffix("]]").split("|")
    return tuple((label.strip(), value.strip()) for label, _, value in (pair.partition(":") for pair in pairs))
