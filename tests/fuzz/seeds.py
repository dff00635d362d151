"""Small files that others are made of: made here by the usual libraries, and real ones where they lie."""

from __future__ import annotations

import io
import os
import zipfile
from email.message import EmailMessage
from pathlib import Path

import docx
import openpyxl
import pymupdf
from docx.enum.section import WD_SECTION
from PIL import Image

from fuzz.inputs import Input

SHARED = Path(os.environ.get("FUZZ_REAL_FILES") or Path(__file__).resolve().parents[2].parent / "shared" / "data")
"""Real files, where they lie beside the repository; a run without them has fewer seeds."""

_LARGEST_REAL = 120_000
_TEXT = ("Officer D. Harmon struck a handcuffed man on May 3, 2021.", "The charge was sustained.", "=1+1", "Größe: 7 €")


def pdfs() -> list[Input]:
    """Text, tables, a form, notes, an outline, layers, a picture, attachments, encryption, packed objects."""
    made = [_pdf(), _rich_pdf(), _pdf(garbage=4, deflate=True, use_objstms=1)]
    made.append(_pdf(encryption=pymupdf.PDF_ENCRYPT_AES_128, owner_pw="o", user_pw=""))
    return [Input(f"a{number}.pdf", data) for number, data in enumerate(made)] + real("robustness_pdfs", ".pdf")


def _pdf(**options: object) -> bytes:
    with pymupdf.open() as pdf:
        for _ in range(2):
            page = pdf.new_page(width=400, height=300)
            for number, text in enumerate(_TEXT):
                page.insert_text((40, 60 + 20 * number), text, fontsize=11)
        return bytes(pdf.tobytes(**options))


def _rich_pdf() -> bytes:
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=500, height=500)
        for row in range(4):
            for column in range(3):
                cell = pymupdf.Rect(40 + 100 * column, 40 + 25 * row, 140 + 100 * column, 65 + 25 * row)
                page.draw_rect(cell)
                page.insert_text((45 + 100 * column, 58 + 25 * row), f"cell {row}{column}")
        layer = pdf.add_ocg("hidden", on=False)
        page.insert_text((40, 200), "in a layer", oc=layer)
        page.insert_text((40, 220), "under a box")
        page.draw_rect(pymupdf.Rect(30, 205, 200, 225), fill=(0, 0, 0))
        page.add_text_annot((300, 300), "a sticky note")
        page.add_file_annot((320, 320), b"pinned text", "pinned.txt")
        page.insert_link({"kind": pymupdf.LINK_URI, "from": pymupdf.Rect(0, 0, 50, 50), "uri": "http://example.org"})
        widget = pymupdf.Widget()
        widget.field_name, widget.field_type = "name", pymupdf.PDF_WIDGET_TYPE_TEXT
        widget.rect, widget.field_value = pymupdf.Rect(40, 240, 200, 260), "Harmon"
        page.add_widget(widget)
        page.insert_image(pymupdf.Rect(200, 200, 300, 300), stream=picture())
        pdf.new_page().set_rotation(90)
        pdf.embfile_add("inner.txt", b"text inside", filename="inner.txt")
        pdf.set_toc([[1, "One", 1], [2, "Two", 2]])
        pdf.set_metadata({"title": "A title", "author": "An author"})
        return bytes(pdf.tobytes(deflate=True))


def picture() -> bytes:
    """Make a small PNG."""
    data = io.BytesIO()
    Image.new("RGB", (40, 30), (200, 30, 30)).save(data, "PNG")
    return data.getvalue()


def mails() -> list[Input]:
    """A plain mail; one with two readings, a picture, attachments and a mail inside; a mailbox; real ones."""
    plain = EmailMessage()
    plain["From"], plain["To"], plain["Subject"] = "Ana Ruiz <ana@example.org>", "b@example.org, c@example.org", "Größe"
    plain["Date"], plain["Message-ID"] = "Mon, 03 May 2021 10:00:00 +0000", "<1@example.org>"
    plain.set_content("\n".join(_TEXT))
    rich = EmailMessage()
    for key, value in plain.items():
        if key in ("From", "To", "Subject", "Date"):
            rich[key] = value
    rich.set_content("plain text")
    rich.add_alternative("<p>html <b>text</b></p><img src='cid:p'>", subtype="html")
    rich.add_attachment(picture(), maintype="image", subtype="png", filename="p.png")
    rich.add_attachment(_pdf(), maintype="application", subtype="pdf", filename="Größe.pdf")
    rich.add_attachment("a;b\n1;2\n", subtype="csv", filename="t.csv")
    rich.add_attachment(plain)
    box = b"".join(b"From a@b Mon May  3 10:00:00 2021\n" + plain.as_bytes() + b"\n" for _ in range(3))
    made = [Input("plain.eml", plain.as_bytes()), Input("rich.eml", rich.as_bytes()), Input("box.mbox", box)]
    return made + real("file_formats", ".eml")


def word_files() -> list[Input]:
    """A Word file with headings, a table, a header and a section; real ones."""
    document = docx.Document()
    document.add_heading("A report", 1)
    for text in _TEXT:
        document.add_paragraph(text)
    table = document.add_table(2, 2)
    table.cell(0, 0).text, table.cell(1, 1).text = "name", "Harmon"
    document.sections[0].header.paragraphs[0].text = "a header"
    document.add_section(WD_SECTION.NEW_PAGE)
    document.add_picture(io.BytesIO(picture()))
    data = io.BytesIO()
    document.save(data)
    return [Input("made.docx", data.getvalue()), *real("file_formats", ".docx")]


def workbooks() -> list[Input]:
    """A workbook with a hidden sheet, dates, formulas and comments; real ones."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["name", "date", "n"])
    sheet.append(["Harmon", "2021-05-03", 7])
    sheet.append(["=1+1", None, 1e300])
    sheet.merge_cells("A5:B6")
    sheet["A2"].comment = openpyxl.comments.Comment("a comment", "Ruiz")
    hidden = book.create_sheet("hidden")
    hidden.sheet_state = "hidden"
    hidden.append(["secret"])
    data = io.BytesIO()
    book.save(data)
    return [Input("made.xlsx", data.getvalue()), *real("file_formats", ".xlsx")]


def archives() -> list[Input]:
    """A ZIP of all kinds, one inside the other; and of texts."""
    first = {
        item.name: item.data for items in (pdfs()[:1], mails()[:2], word_files()[:1], workbooks()[:1]) for item in items
    }
    first |= {
        "p.png": picture(),
        "t.csv": b"a,b\n1,2\n",
        "j.json": b'[{"a": 1}]',
        "l.jsonl": b'{"a": 1}\n',
        "m.md": b"# x\n",
    }
    first |= {
        "w.html": b"<html><body><table><tr><td>x</td></tr></table></body></html>",
        "t.txt": "\n".join(_TEXT).encode(),
    }
    packed = _zip(first)
    texts = _zip({f"folder/{number}.txt": f"text {number}".encode() for number in range(6)})
    return [
        Input("all.zip", packed),
        Input("texts.zip", texts),
        Input("nested.zip", _zip({"in.zip": texts, "a.txt": b"a"})),
    ]


def _zip(members: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


def real(folder: str, suffix: str) -> list[Input]:
    """Return the small real files of a kind, none where they do not lie beside the repository."""
    paths = sorted((SHARED / folder).glob(f"*{suffix}")) if SHARED.is_dir() else []
    return [Input(path.name, path.read_bytes()) for path in paths if path.stat().st_size <= _LARGEST_REAL]
