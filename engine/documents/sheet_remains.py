"""What a sheet of an XLSX holds besides its values: comments, hidden rows, formulas that were never computed."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from lxml import etree

_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_SAFE: Final = {"resolve_entities": False, "no_network": True}


@dataclass
class SheetRemains:
    """`comments` are pairs of cell and text; `formulas` the cells whose formula has no stored value."""

    comments: list[tuple[str, str]] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    hidden_rows: int = 0
    hidden_columns: int = 0


def sheet_remains(archive: zipfile.ZipFile, sheet: str) -> SheetRemains:
    """Look through a sheet, named by its path in the archive; raises etree.XMLSyntaxError or zipfile.BadZipFile."""
    remains = SheetRemains()
    tags = [_MAIN + tag for tag in ("col", "c", "row")]
    with archive.open(sheet) as stream:
        for _, element in etree.iterparse(stream, events=("end",), tag=tags, **_SAFE):
            _take(element, remains)
    remains.comments += _comments(archive, sheet)
    return remains


def _take(element: Any, remains: SheetRemains) -> None:
    is_hidden = element.get("hidden") in ("1", "true")
    if element.tag == _MAIN + "c":
        value = element.findtext(_MAIN + "v")
        if element.find(_MAIN + "f") is not None and not value and element.get("t") != "str":
            remains.formulas.append(element.get("r") or "?")
    elif element.tag == _MAIN + "row":
        remains.hidden_rows += is_hidden and len(element) > 0
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]
    elif is_hidden:
        first, last = int(element.get("min") or 0), int(element.get("max") or 0)
        remains.hidden_columns += max(last - first + 1, 1)


def _comments(archive: zipfile.ZipFile, sheet: str) -> Iterator[tuple[str, str]]:
    folder, name = posixpath.split(sheet)
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in archive.namelist():
        return
    for relation in _parsed(archive, relations):
        if not str(relation.get("Type")).endswith("/comments") or relation.get("TargetMode") == "External":
            continue
        target = str(relation.get("Target"))
        path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"{folder}/{target}")
        if path not in archive.namelist():
            continue
        root = _parsed(archive, path)
        authors = [author.text or "" for author in root.iter(_MAIN + "author")]
        for comment in root.iter(_MAIN + "comment"):
            text = " ".join("".join(part.text or "" for part in comment.iter(_MAIN + "t")).split())
            number = int(comment.get("authorId") or 0)
            author = " ".join(authors[number].split()) if number < len(authors) else ""
            if text:
                yield comment.get("ref") or "?", f"{author}: {text}" if author else text


def _parsed(archive: zipfile.ZipFile, path: str) -> Any:
    return etree.fromstring(archive.read(path), etree.XMLParser(**_SAFE))
