"""What office files and mails hold besides their plain text is a marked line, or named in a warning."""

from __future__ import annotations

from copy import deepcopy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml.ns import qn
from docx.shared import RGBColor
from lxml import etree
from openpyxl.comments import Comment

from engine.documents.document import Document
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file


def read(path: Path) -> Document:
    document = parse_file(path, ParseOptions(ocr="never"), scratch=path.parent).document
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


def test_word_text_that_a_style_hides_and_white_text_on_white_are_marked(tmp_path: Path) -> None:
    word = docx.Document()
    secret = word.styles.add_style("Secret", WD_STYLE_TYPE.CHARACTER)
    secret.font.hidden = True
    base = word.styles.add_style("Pale", WD_STYLE_TYPE.PARAGRAPH)
    base.font.color.rgb = RGBColor(255, 255, 255)
    word.styles.add_style("Paler", WD_STYLE_TYPE.PARAGRAPH).base_style = base
    paragraph = word.add_paragraph("Paid ")
    paragraph.add_run("by style ", style="Secret")
    paragraph._p.append(run("in white ", element("w:color", val="FFFFFF")))
    paragraph._p.append(run("in full", element("w:color", val="FF0000")))
    word.add_paragraph("pale by its style", style="Paler")
    word.add_paragraph("shown", style="Paler").runs[0].font.color.rgb = RGBColor(0, 0, 0)
    word.add_paragraph()._p.append(
        run("on a dark field", element("w:color", val="FFFFFF"), element("w:shd", val="clear", fill="1F3864"))
    )
    dark = word.add_table(rows=1, cols=1).rows[0].cells[0]
    dark._tc.get_or_add_tcPr().append(element("w:shd", val="clear", fill="1F3864"))
    dark.paragraphs[0]._p.append(run("head of a column", element("w:color", val="FFFFFF")))
    word.save(str(tmp_path / "a.docx"))
    assert marks(read(tmp_path / "a.docx")) == [
        ("Paid in full", None),
        ("by style", "invisible"),
        ("in white", "white"),
        ("pale by its style", "white"),
        ("shown", None),
        ("on a dark field", None),
        ("head of a column", None),
    ]


def test_white_word_text_is_not_marked_where_the_ground_is_not_known_to_be_white(tmp_path: Path) -> None:
    word = docx.Document()
    white = element("w:color", val="FFFFFF")
    word.add_paragraph()._p.append(run("on a coloured page", white))
    word.element.insert(0, element("w:background", color="1F3864"))
    word.save(str(tmp_path / "a.docx"))
    assert marks(read(tmp_path / "a.docx")) == [("on a coloured page", None)]
    word = docx.Document()
    word.add_paragraph()._p.append(run("over a picture", element("w:color", val="FFFFFF")))
    word.add_paragraph()._p.append(element("w:r", element("w:drawing", element("wp:anchor"))))
    word.save(str(tmp_path / "b.docx"))
    assert marks(read(tmp_path / "b.docx")) == [("over a picture", None)]


def form_field(field: Any) -> Any:
    return element("w:r", element("w:fldChar", element("w:ffData", field), fldCharType="begin"))


def test_fields_and_ticks_of_word_forms_are_read(tmp_path: Path) -> None:
    entries = [element("w:listEntry", val=name) for name in ("sustained", "not sustained")]
    chosen, usual, strange = (
        element("w:ddList", *([element("w:result", val=number)] if number else []), *deepcopy(entries))
        for number in ("1", "", "7")
    )
    off = element("w:checkBox", element("w:default", val="1"), element("w:checked", val="0"))
    fields = {
        "force": element("w:checkBox", element("w:default", val="0"), element("w:checked")),
        "arrest": off,
        "injury": element("w:checkBox", element("w:default", val="1")),
        "witness": element("w:checkBox"),
        "finding": chosen,
        "second finding": usual,
        "third finding": strange,
    }
    word = docx.Document()
    for name, field in fields.items():
        word.add_paragraph(f"{name}: ")._p.append(form_field(field))
    for font, code in (("Wingdings", "F0FE"), ("Wingdings", "F0A8"), ("MS Gothic", "2612"), ("Arial", "zz")):
        word.add_paragraph("sign ")._p.append(element("w:r", element("w:sym", font=font, char=code)))
    word.save(str(tmp_path / "a.docx"))
    assert [line.text for line in read(tmp_path / "a.docx").lines] == [
        "force: [x]",
        "arrest: [ ]",
        "injury: [x]",
        "witness: [ ]",
        "finding: not sustained",
        "second finding: sustained",
        "third finding:",
        "sign [x]",
        "sign [ ]",
        "sign \u2612",
        "sign",
    ]


def test_all_pictures_and_inserted_files_of_a_word_file_are_named(tmp_path: Path) -> None:
    def drawn(*inner: Any) -> Any:
        return element("w:r", element("w:drawing", element("wp:anchor", *inner)))

    word = docx.Document()
    paragraph = word.add_paragraph("text")
    paragraph._p.append(drawn(element("a:blip")))
    paragraph._p.append(drawn(element("c:chart")))
    paragraph._p.append(element("w:r", element("w:pict", etree.Element("{urn:schemas-microsoft-com:vml}imagedata"))))
    word.sections[0].header.paragraphs[0]._p.append(drawn(element("a:blip")))
    word.element.body.insert(0, element("w:altChunk"))
    word.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx").warnings == (
        "4 pictures were not read",
        "1 inserted file was not read; open the document in Word and save it again,"
        " which makes their text part of its own",
    )
    twice = etree.Element("{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback")
    twice.append(etree.Element("{urn:schemas-microsoft-com:vml}imagedata"))
    word = docx.Document()
    word.add_paragraph("text")._p.append(element("w:r", element("w:drawing", element("a:blip")), twice))
    word.save(str(tmp_path / "b.docx"))
    assert read(tmp_path / "b.docx").warnings == ("1 picture was not read",)


def test_hidden_slides_are_marked_and_named(tmp_path: Path) -> None:
    show = pptx.Presentation()
    for text in ("first", "kept back", "last"):
        slide = show.slides.add_slide(show.slide_layouts[5])
        slide.shapes.title.text = text
    show.slides[1]._element.set("show", "0")
    show.slides[1].notes_slide.notes_text_frame.text = "not for them"
    show.save(str(tmp_path / "a.pptx"))
    document = read(tmp_path / "a.pptx")
    assert marks(document) == [
        ("first", None),
        ("kept back", "invisible"),
        ("Notes: not for them", "invisible"),
        ("last", None),
    ]
    assert document.warnings == ("1 hidden slide, read as text that is not shown: 2",)
    assert [page.reason for page in document.pages] == ["slide", "hidden slide", "slide"]
    assert "kept back" not in document.text


def html(tmp_path: Path, body: str, head: str = "") -> list[tuple[str, str | None]]:
    path = tmp_path / "a.html"
    path.write_text(f"<html><head>{head}</head><body>{body}</body></html>")
    return marks(read(path))


def test_html_text_that_a_style_hides_is_marked(tmp_path: Path) -> None:
    body = """<p>Paid <span style="display: none">off the books</span> in full</p>
    <div style="visibility:hidden">unseen <b style="visibility: visible">seen</b></div>
    <p style="font-size:0">tiny<span style="font-size: 12px">large</span></p>
    <p style="FONT-SIZE: 0px !important">none</p><p style="opacity:0">clear</p><p hidden>attribute</p>
    <table><tr><td>a</td><td style="display:none">b</td><td>c</td></tr></table>"""
    assert html(tmp_path, body) == [
        ("Paid in full", None),
        ("off the books", "invisible"),
        ("seen", None),
        ("unseen", "invisible"),
        ("large", None),
        ("tiny", "tiny"),
        ("none", "tiny"),
        ("clear", "invisible"),
        ("attribute", "invisible"),
        ("a | c", None),
        ("b", "invisible"),
    ]


def test_html_text_in_the_colour_of_its_ground_is_marked(tmp_path: Path) -> None:
    body = """<p style="color:#fff">white on the page</p><p style="color: white; background: #000">on black</p>
    <div style="background-color: rgb(10, 20, 30)"><font color="#0a141e">dark on dark</font>
      <a href="x">a link</a></div>
    <table bgcolor="#123456"><tr><td style="color:#ffffff">head</td></tr></table>
    <p style="color:white;background:url(dark.png)">on a picture</p><p>plain</p>"""
    assert html(tmp_path, body) == [
        ("white on the page", "white"),
        ("on black", None),
        ("a link", None),
        ("dark on dark", "white"),
        ("head", None),
        ("on a picture", None),
        ("plain", None),
    ]
    # What a style sheet says of a class is not read: the ground is not known then.
    button = '<p class="button" style="color:#fff">Order</p><p style="color:#fff;background:#fff">sure</p>'
    assert html(tmp_path, button, "<style>.button {background: navy}</style>") == [("Order", None), ("sure", "white")]


def test_hidden_text_of_an_html_mail_is_marked_behind_its_body(tmp_path: Path) -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.org", "s"
    message.set_content('<div style="display:none">pay into 4471&zwnj;</div><p>Dear Bo</p>', subtype="html")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    assert marks(read(tmp_path / "a.eml"))[2:] == [("", None), ("Dear Bo", None), ("pay into 4471", "invisible")]
    same = '<div style="display:none">see you on Monday</div><p style="display:none">ask for Kim</p><p>Dear Bo,</p>'
    document = mail("Dear Bo,\nsee you on Monday.\nAnn\n", same, tmp_path / "b.eml")
    assert marks(document)[3:] == [
        ("Dear Bo,", None),
        ("see you on Monday.", None),
        ("Ann", None),
        ("ask for Kim", "invisible"),
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
