"""Lay out a report in PDF. Runs in a child process."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unicodedata import category

from PIL import Image

from engine.documents.mupdf import pymupdf

PAGE = pymupdf.paper_rect("a4")
MARGIN = 42.0
FOOT = 24.0
_GAP = 10.0
_JPEG_QUALITY = 80
_UNSEEN = "\n\u00ad\u200b\u200c\u200d"
"""Characters that no page shows and that words need: where they may part, and how letters join."""
_CSS = """
* { font-family: sans-serif; font-size: 10px; color: #1c1c1a; overflow-wrap: break-word; }
h1 { font-size: 18px; margin: 0 0 2px 0; } h2 { font-size: 13px; margin: 14px 0 4px 0; }
p { margin: 2px 0; } .faint { color: #5f5f5b; } .missing { color: #a01818; }
table { border-collapse: collapse; width: 100%; } td, th { padding: 2px 6px 2px 0; text-align: left; }
th { overflow-wrap: normal; }
.marked { background-color: #ffe08a; } .line { font-family: monospace; font-size: 9px; }
"""


def write_report(spec_file: Path, out: Path) -> None:
    """Write the report that a specification (engine.documents.report.ReportSpec as JSON) describes."""
    spec = json.loads(spec_file.read_text(encoding="utf-8"))
    book = pymupdf.open()
    head = f"<h1>{_text(spec['title'])}</h1><p class='faint'>{_text(spec['subtitle'])}</p>"
    for section in spec["sections"]:
        _add_text(book, head + _section(section))
        head = ""
        for place in section["places"]:
            if place["picture"]:
                _add_picture(book, place["caption"], Path(place["picture"]))
    _add_text(book, head + _ending(spec))
    _number_pages(book, spec["title"])
    book.set_metadata({"title": _shown(spec["title"]), "producer": "Redwell"})
    book.save(out, garbage=3, deflate=True)
    book.close()


def _section(section: Mapping[str, Any]) -> str:
    parts = [f"<h2>{_text(section['heading'])}</h2>"]
    for field in section["fields"]:
        kind = "missing" if field["is_missing"] else "faint"
        source = f"<br><span class='{kind}'>{_text(field['source'])}</span>" if field["source"] else ""
        parts.append(f"<p><b>{_text(field['name'])}</b>: {_text(field['value'])}{source}</p>")
    for place in section["places"]:
        if not place["picture"]:
            parts.append(f"<p><b>{_text(place['caption'])}</b></p>")
            parts += [_line(line) for line in place["lines"]]
    return "".join(parts)


def _line(line: Mapping[str, Any]) -> str:
    kind = "line marked" if line["is_marked"] else "line"
    return f"<p class='line'>{line['number']}&#160;&#160;<span class='{kind}'>{_text(line['text'])}</span></p>"


def _ending(spec: Mapping[str, Any]) -> str:
    parts = ["<h2>Ledger</h2>", "<p class='faint'>What became of every file and every row of the run.</p>"]
    if spec["sums"]:
        rows = [
            "<tr>" + "".join(f"<{tag}>{_text(cell)}</{tag}>" for cell in row) + "</tr>"
            for tag, row in zip(("th", *("td",) * len(spec["sums"])), spec["sums"], strict=False)
        ]
        parts.append(f"<table>{''.join(rows)}</table>")
    if spec["notes"]:
        parts.append("<h2>Notes</h2>")
        parts += [f"<p>{_text(note)}</p>" for note in spec["notes"]]
    return "".join(parts)


def _text(text: str) -> str:
    """Write text of a record as text: never as markup."""
    return html.escape(_shown(text)).replace("\n", "<br>")


def _shown(text: str) -> str:
    """Return a text without characters that no page can show."""
    return "".join(c if c.isprintable() or c in _UNSEEN else "" if category(c) == "Cf" else " " for c in text)


def _add_text(book: Any, body: str) -> None:
    """Add as many pages as the text takes."""
    buffer = io.BytesIO()
    writer = pymupdf.DocumentWriter(buffer)
    story = pymupdf.Story(f"<body>{body}</body>", user_css=_CSS)
    inside = PAGE + (MARGIN, MARGIN, -MARGIN, -MARGIN - FOOT)
    more = True
    while more:
        device = writer.begin_page(PAGE)
        more, _ = story.place(inside)
        story.draw(device)
        writer.end_page()
    writer.close()
    with pymupdf.open("pdf", buffer.getvalue()) as pages:
        book.insert_pdf(pages)


def _add_picture(book: Any, caption: str, file: Path) -> None:
    """Add a page with the caption and the picture as large as it fits."""
    page = book.new_page(width=PAGE.width, height=PAGE.height)
    top = pymupdf.Rect(MARGIN, MARGIN, PAGE.width - MARGIN, MARGIN + 30)
    page.insert_htmlbox(top, f"<p><b>{_text(caption)}</b></p>", css=_CSS)
    below = pymupdf.Rect(MARGIN, top.y1 + _GAP, PAGE.width - MARGIN, PAGE.height - MARGIN - FOOT)
    page.insert_image(below, stream=_jpeg(file), keep_proportion=True)


def _jpeg(file: Path) -> bytes:
    """Return the picture as JPEG, a fifth of the size of PNG for a scan."""
    buffer = io.BytesIO()
    with Image.open(file) as picture:
        picture.convert("RGB").save(buffer, format="JPEG", quality=_JPEG_QUALITY)
    return buffer.getvalue()


def _number_pages(book: Any, title: str) -> None:
    for page in book:
        foot = pymupdf.Rect(MARGIN, PAGE.height - MARGIN, PAGE.width - MARGIN, PAGE.height - MARGIN + FOOT)
        number = f"{page.number + 1} of {book.page_count}"
        page.insert_htmlbox(foot, f"<p class='faint'>{_text(title)} &#183; page {number}</p>", css=_CSS)
