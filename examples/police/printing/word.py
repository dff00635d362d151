"""Writes a source as a Word document."""

from __future__ import annotations

import datetime
import io
import zipfile
from typing import Any

import docx
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.shared import Inches, Pt

from printing.blocks import Block, Form, Grid, Heading, PageBreak, Paragraph, Signature, parse

WRITTEN = datetime.datetime(2024, 1, 5, 9, 0, 0)
ZIP_DATE = (2024, 1, 5, 9, 0, 0)


def print_word(source: dict[str, Any]) -> bytes:
    """Return the .docx with fixed dates in its properties and in its archive."""
    document = docx.Document()
    document.styles["Normal"].font.name = "Times New Roman"
    document.styles["Normal"].font.size = Pt(11)
    section = document.sections[0]
    section.left_margin = section.right_margin = Inches(1)
    for i, line in enumerate(source["paper"].get("letterhead", [])):
        _letterhead_line(document, line, first=i == 0)
    for block in parse(source["body"]):
        _add(document, block)
    if "footer" in source["paper"]:
        section.footer.paragraphs[0].text = source["paper"]["footer"]
    _set_properties(document, source["title"])
    out = io.BytesIO()
    document.save(out)
    return _with_fixed_dates(out.getvalue())


def _letterhead_line(document: Any, line: str, *, first: bool) -> None:
    paragraph = document.add_paragraph()
    paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
    paragraph.paragraph_format.space_after = Pt(0)
    run = paragraph.add_run(line)
    run.bold = first
    run.font.size = Pt(15 if first else 9.5)


def _add(document: Any, block: Block) -> None:
    match block:
        case Heading():
            document.add_heading(block.text, level=block.level + 1)
        case Paragraph():
            words = f"{block.mark} {block.text}".strip()
            paragraph = document.add_paragraph()
            paragraph.add_run(words).bold = block.bold
            if block.quoted or block.mark:
                paragraph.paragraph_format.left_indent = Inches(0.3)
        case Grid():
            _add_grid(document, block.rows)
        case Form():
            for row in block.rows:
                for label, value in row:
                    _add_field(document, label, value)
        case Signature():
            document.add_paragraph("\n______________________________")
            document.add_paragraph(f"{block.name}\n{block.title}")
        case PageBreak():
            document.add_page_break()


def _add_field(document: Any, label: str, value: str) -> None:
    paragraph = document.add_paragraph()
    paragraph.paragraph_format.space_after = Pt(2)
    paragraph.add_run(f"{label}:").bold = True
    paragraph.add_run(f"\t{value}")


def _add_grid(document: Any, rows: tuple[tuple[str, ...], ...]) -> None:
    table = document.add_table(rows=0, cols=len(rows[0]), style="Table Grid")
    for number, row in enumerate(rows):
        for cell, words in zip(table.add_row().cells, row, strict=True):
            cell.paragraphs[0].add_run(words).bold = number == 0
    document.add_paragraph()


def _set_properties(document: Any, title: str) -> None:
    properties = document.core_properties
    properties.title, properties.author, properties.comments = title, "", ""
    properties.created = properties.modified = WRITTEN


def _with_fixed_dates(data: bytes) -> bytes:
    """Return the archive again with the same members, each dated alike."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name, ZIP_DATE), old.read(name), zipfile.ZIP_DEFLATED)
    return out.getvalue()
