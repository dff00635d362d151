"""What office files and mails hold besides their plain text is a marked line, or named in a warning."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path
from typing import Any

import docx
import openpyxl
from docx.oxml.ns import qn
from openpyxl.comments import Comment

from engine.documents.document import Document
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file


def read(path: Path) -> Document:
    document = parse_file(path, ParseOptions(ocr="never")).document
    assert document is not None
    return document


def marks(document: Document) -> list[tuple[str, str | None]]:
    return [(line.text, line.hidden) for line in document.lines]


def workbook(path: Path) -> Path:
    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.title = "Main"
    for row in (["name", "sum", "x"], ["Lee", "=1+1", "y"], ["Kim", 3, "z"]):
        sheet.append(row)
    sheet["A2"].comment = Comment("ask\nhim", "Ann")
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["C"].hidden = True
    for title, state in (("Payments", "hidden"), ("Keys", "veryHidden")):
        other = book.create_sheet(title)
        other.append(["secret", title])
        other.sheet_state = state
    book.save(path)
    return path


def test_a_workbook_names_what_it_does_not_show(tmp_path: Path) -> None:
    document = read(workbook(tmp_path / "a.xlsx"))
    assert marks(document) == [
        ("name | sum | x", None),
        ("Lee |  | y", None),
        ("Kim | 3 | z", None),
        ("[comment A2] Ann: ask him", None),
        ("Payments", "invisible"),
        ("secret | Payments", "invisible"),
        ("Keys", "invisible"),
        ("secret | Keys", "invisible"),
    ]
    assert document.warnings == (
        "sheet Main: 1 hidden row and 1 hidden column, read like the others",
        "sheet Main: 1 formula without a stored value, read as empty: B2",
        "2 hidden sheets, read as text that is not shown: Payments, Keys",
    )
    assert "secret" not in document.text
    assert [page.reason for page in document.pages] == ["sheet Main", "hidden sheet Payments", "hidden sheet Keys"]


def element(tag: str, *children: Any, text: str = "", **attributes: str) -> Any:
    made = docx.oxml.OxmlElement(tag)
    if text:
        made.text = text
    for name, value in attributes.items():
        made.set(qn(f"w:{name}"), value)
    for child in children:
        made.append(child)
    return made


def run(text: str, *properties: Any, tag: str = "w:t") -> Any:
    return element("w:r", element("w:rPr", *properties), element(tag, text=text))


def test_a_word_file_marks_comments_deletions_and_hidden_text(tmp_path: Path) -> None:
    word = docx.Document()
    paragraph = word.add_paragraph("Paid ")
    paragraph._p.append(element("w:del", run("five", tag="w:delText")))
    paragraph._p.append(element("w:ins", run("fifty ")))
    paragraph._p.append(run("off the books ", element("w:vanish")))
    paragraph._p.append(run("dollars", element("w:vanish", val="0")))
    word.add_comment(paragraph.runs[0], text="who says so?", author="Ann Lee")
    cell = word.add_table(rows=1, cols=2).rows[0].cells
    cell[0].text = "a"
    cell[1].paragraphs[0]._p.append(run("b"))
    cell[1].paragraphs[0]._p.append(run("unseen", element("w:vanish")))
    word.save(str(tmp_path / "a.docx"))
    document = read(tmp_path / "a.docx")
    assert marks(document) == [
        ("Paid fifty dollars", None),
        ("[deleted] five", None),
        ("off the books", "invisible"),
        ("a | b", None),
        ("unseen", "invisible"),
        ("[comment] Ann Lee: who says so?", None),
    ]


def mail(plain: str, html: str, path: Path) -> Document:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.org", "s"
    message.set_content(plain)
    message.add_alternative(html, subtype="html")
    path.write_bytes(message.as_bytes())
    return read(path)


def test_an_html_part_that_says_something_else_is_read_too(tmp_path: Path) -> None:
    html = "<p>Dear Bo,</p><p>pay into account 4471 at once</p><p>Ann</p>"
    document = mail("Dear Bo,\nsee you on Monday.\nAnn\n", html, tmp_path / "a.eml")
    assert [line.text for line in document.lines][2:] == [
        "",
        "Dear Bo,",
        "see you on Monday.",
        "Ann",
        "",
        "[HTML part] pay into account 4471 at once",
    ]
    assert document.warnings == (
        "the HTML part says something else than the plain text; its lines are marked [HTML part]",
    )


def test_an_html_part_that_says_the_same_is_read_once(tmp_path: Path) -> None:
    html = (
        "<h1>Dear Bo,</h1><p>see you on <b>Monday</b>: <a href='https://x.org/a'>https://x.org/track/9</a></p><p>—</p>"
    )
    document = mail("Dear Bo,\n\nsee you on\nMonday: https://x.org/a\n", html, tmp_path / "a.eml")
    assert [line.text for line in document.lines][3:] == ["Dear Bo,", "", "see you on", "Monday: https://x.org/a"]
    assert document.warnings == ()
