"""What office files and mails hold besides their plain text is a marked line, or named in a warning."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from copy import deepcopy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml.ns import qn
from docx.shared import RGBColor
from lxml import etree
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.drawing.image import Image as SheetImage
from PIL import Image
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches

from engine.documents.document import Document
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.documents.tables import table_rows
from engine.errors import DocumentError


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


def changed(path: Path, change: Callable[[str, bytes], bytes]) -> Path:
    """Rewrite the parts of an office file."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, change(name, data))
    return path


BOX = b"""<twoCellAnchor><sp xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><txBody>
<a:p><a:r><a:t>Paid in </a:t></a:r><a:r><a:t>cash</a:t></a:r></a:p><a:p/><a:p><a:r><a:t>by Kim</a:t></a:r></a:p>
</txBody></sp></twoCellAnchor>"""


def test_pictures_charts_and_text_boxes_of_a_workbook_are_told(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.title = "Main"
    sheet.append(["sum", 3])
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    sheet.add_image(SheetImage(str(tmp_path / "a.png")), "D1")
    for place in (sheet, book.create_chartsheet("Curve")):
        chart = BarChart()
        chart.add_data(Reference(sheet, min_col=2, min_row=1))
        place.add_chart(chart)
    book.save(tmp_path / "a.xlsx")
    end = b"</wsDr>"
    path = changed(
        tmp_path / "a.xlsx",
        lambda name, data: data.replace(end, BOX + end) if name == "xl/drawings/drawing1.xml" else data,
    )
    document = read(path)
    assert [line.text for line in document.lines] == ["sum | 3", "[text box] Paid in cash", "[text box] by Kim"]
    assert document.warnings == ("sheet Main: 2 pictures were not read", "1 chart sheet was not read: Curve")


def test_a_workbook_in_strict_open_xml_is_refused_and_not_read_as_empty(tmp_path: Path) -> None:
    names = {
        b"http://schemas.openxmlformats.org/spreadsheetml/2006/main": b"http://purl.oclc.org/ooxml/spreadsheetml/main",
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships": (
            b"http://purl.oclc.org/ooxml/officeDocument/relationships"
        ),
    }

    def strict(name: str, data: bytes) -> bytes:
        for usual, other in names.items():
            data = data.replace(usual, other)
        return data

    path = changed(workbook(tmp_path / "a.xlsx"), strict)
    for reading in (lambda: read(path), lambda: list(table_rows(path, ParseOptions()))):
        with pytest.raises(DocumentError, match="strict variant") as caught:
            reading()
        assert caught.value.reason == "unsupported"
        assert "ordinary Excel workbook" in caught.value.advice


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


def test_what_is_struck_through_in_word_stands_apart(tmp_path: Path) -> None:
    word = docx.Document()
    paragraph = word.add_paragraph("The officer ")
    for struck in ("strike", "dstrike"):
        paragraph._p.append(run(f"{struck} was ", element(f"w:{struck}")))
    paragraph._p.append(run("was not", element("w:strike", val="0")))
    paragraph._p.append(run("unseen", element("w:strike"), element("w:vanish")))
    word.add_table(rows=1, cols=1).rows[0].cells[0].paragraphs[0]._p.append(run("5", element("w:strike")))
    word.save(str(tmp_path / "a.docx"))
    assert marks(read(tmp_path / "a.docx")) == [
        ("The officer was not", None),
        ("[struck through] strike was dstrike was", None),
        ("unseen", "invisible"),
        ("[struck through] 5", None),
    ]


def test_what_is_struck_through_in_a_sheet_is_marked(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for cell, value in (("A1", "Exonerated"), ("B1", "Sustained"), ("C1", 0.25)):
        book.active[cell] = value
        book.active[cell].font = openpyxl.styles.Font(strike=cell != "B1")
    book.active["C1"].number_format = "0%"
    book.save(tmp_path / "a.xlsx")
    line = "[struck through] Exonerated | Sustained | [struck through] 25%"
    assert marks(read(tmp_path / "a.xlsx")) == [(line, None)]


def test_what_is_struck_through_on_a_slide_stands_apart(tmp_path: Path) -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[5])
    paragraph = slide.shapes.title.text_frame.paragraphs[0]
    for text, struck in (("He ", None), ("did ", "sngStrike"), ("did not", "noStrike")):
        run = paragraph.add_run()
        run.text = text
        if struck:
            run._r.get_or_add_rPr().set("strike", struck)
    show.save(str(tmp_path / "a.pptx"))
    assert marks(read(tmp_path / "a.pptx")) == [("He did not", None), ("[struck through] did", None)]


def with_notes(path: Path, *notes: Any) -> Path:
    """Add footnotes to a Word file."""
    part = etree.tostring(element("w:footnotes", *(element("w:footnote", note) for note in notes)))
    kind = b"application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    relation = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    named = b'<Override PartName="/word/footnotes.xml" ContentType="%s"/></Types>' % kind
    related = b'<Relationship Id="rId99" Type="%s" Target="footnotes.xml"/></Relationships>' % relation

    ends = {"[Content_Types].xml": (b"</Types>", named), "word/_rels/document.xml.rels": (b"</Relationships>", related)}
    changed(path, lambda name, data: data.replace(*ends[name]) if name in ends else data)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("word/footnotes.xml", part)
    return path


def test_hidden_text_of_a_footnote_is_marked_behind_it(tmp_path: Path) -> None:
    word = docx.Document()
    word.add_paragraph("Text")
    word.save(str(tmp_path / "a.docx"))
    note = element("w:p", run("Seen "), run("secret", element("w:vanish")))
    with_notes(tmp_path / "a.docx", note, element("w:p", run("all secret", element("w:vanish"))))
    assert marks(read(tmp_path / "a.docx")) == [
        ("Text", None),
        ("Footnote: Seen", None),
        ("secret", "invisible"),
        ("all secret", "invisible"),
    ]


def test_raised_digits_of_word_are_no_part_of_the_number_before_them(tmp_path: Path) -> None:
    word = docx.Document()
    mark = word.styles.add_style("Mark", WD_STYLE_TYPE.CHARACTER)
    mark.font.superscript = True
    paragraph = word.add_paragraph("Paid $120")
    paragraph.add_run("1").font.superscript = True
    paragraph.add_run(" in 2019")
    paragraph.add_run("2, 3", style="Mark")
    paragraph.add_run(" on May 3")
    paragraph.add_run("rd").font.superscript = True
    word.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx").text == "Paid $120¹ in 2019², ³ on May 3rd"


def test_the_text_of_a_word_formula_is_read(tmp_path: Path) -> None:
    word = docx.Document()
    paragraph = word.add_paragraph("The sum is ")
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    paragraph._p.append(etree.fromstring(f'<m:oMath xmlns:m="{math}"><m:r><m:t>a = 5</m:t></m:r></m:oMath>'))
    word.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx").text == "The sum is a = 5"


def test_exponents_and_fractions_of_a_word_formula_are_told_from_what_stands_beside_them(tmp_path: Path) -> None:
    word = docx.Document()
    paragraph = word.add_paragraph("About ")
    text = "<m:r><m:t>{}</m:t></m:r>".format
    parts = (
        f"<m:sSup><m:e>{text('10')}</m:e><m:sup>{text('6')}</m:sup></m:sSup>{text(' = ')}",
        f"<m:f><m:num>{text('a + b')}</m:num><m:den>{text('2.5')}</m:den></m:f>{text(', ')}",
        f"<m:sSup><m:e><m:d><m:e>{text('1 + r')}</m:e></m:d></m:e><m:sup>{text('n')}</m:sup></m:sSup>",
        f"<m:rad><m:deg/><m:e>{text('x')}</m:e></m:rad>",
    )
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    paragraph._p.append(etree.fromstring(f'<m:oMath xmlns:m="{math}">{"".join(parts)}</m:oMath>'))
    word.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx").text == "About 10⁶ = (a + b)/2.5, (1 + r)^n√x"


def test_the_code_of_a_word_field_is_no_text(tmp_path: Path) -> None:
    word = docx.Document()
    paragraph = word.add_paragraph("Dear ")

    def mark(kind: str) -> Any:
        return element("w:r", element("w:fldChar", fldCharType=kind))

    def code(text: str) -> Any:
        return run(text, tag="w:instrText")

    inner = [mark("begin"), code("MERGEFIELD sex"), mark("separate"), run("M"), mark("end")]
    outer = [
        mark("begin"),
        code("IF "),
        *inner,
        code(' = "M" "Sir" "Madam"'),
        mark("separate"),
        run("Sir"),
        mark("end"),
    ]
    paragraph._p.extend([*outer, run(","), mark("begin"), run(" of a field without an end nothing is lost")])
    word.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx").text == "Dear Sir, of a field without an end nothing is lost"


def test_headers_that_no_page_shows_any_more_are_marked(tmp_path: Path) -> None:
    word = docx.Document()
    section = word.sections[0]
    for margin, text in (
        (section.header, "all pages"),
        (section.first_page_header, "old letterhead"),
        (section.even_page_footer, "even pages"),
    ):
        margin.paragraphs[0].text = text
    word.settings.odd_and_even_pages_header_footer = True
    word.save(str(tmp_path / "a.docx"))
    assert marks(read(tmp_path / "a.docx")) == [
        ("old letterhead", "invisible"),
        ("all pages", None),
        ("even pages", None),
    ]
    section.different_first_page_header_footer = True
    word.save(str(tmp_path / "b.docx"))
    assert ("old letterhead", None) in marks(read(tmp_path / "b.docx"))


def test_files_embedded_in_word_and_slides_are_named(tmp_path: Path) -> None:
    word = docx.Document()
    file = etree.fromstring(
        '<w:object xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
        ' xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office">'
        '<v:shape><v:imagedata/></v:shape><o:OLEObject ProgID="Excel.Sheet.12"/></w:object>'
    )
    word.add_paragraph("See")._p.append(element("w:r", file))
    word.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx").warnings == ("1 embedded file was not read; save it as a file of its own",)
    workbook(tmp_path / "a.xlsx")
    show, slide, picture = slide_with_picture(tmp_path)
    picture._element.getparent().remove(picture._element)
    slide.shapes.add_ole_object(str(tmp_path / "a.xlsx"), "Excel.Sheet.12", 0, 0)
    show.save(str(tmp_path / "a.pptx"))
    said = "1 embedded file on the slides was not read; save it as a file of its own"
    assert read(tmp_path / "a.pptx").warnings == (said,)


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


def test_numbers_that_word_works_out_itself_are_counted(tmp_path: Path) -> None:
    word = docx.Document()
    for style in ("List Number", "List Number", "List Bullet", "List Number"):
        word.add_paragraph("item", style=style)
    none = element("w:numPr", element("w:ilvl", val="0"), element("w:numId", val="0"))
    word.paragraphs[-1]._p.get_or_add_pPr().append(none)
    word.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx").warnings == ("2 automatic numbers of paragraphs are not in the text",)
    own = element("w:numPr", element("w:ilvl", val="0"), deepcopy(_list_of(word, "List Number")))
    word = docx.Document()
    word.add_paragraph("item")._p.get_or_add_pPr().append(own)
    word.save(str(tmp_path / "b.docx"))
    assert read(tmp_path / "b.docx").warnings == ("1 automatic number of paragraphs is not in the text",)


def _list_of(word: Any, style: str) -> Any:
    return word.styles[style].element.find(f".//{qn('w:numId')}")


def test_word_text_at_a_tab_of_the_margins_is_parted(tmp_path: Path) -> None:
    word = docx.Document()
    texts = (element("w:t", text="Case 44"), element("w:ptab"), element("w:t", text="Page 1"))
    word.add_paragraph()._p.append(element("w:r", *texts))
    word.save(str(tmp_path / "a.docx"))
    assert [line.text for line in read(tmp_path / "a.docx").lines] == ["Case 44 Page 1"]


def slide_with_picture(path: Path) -> tuple[Any, Any, Any]:
    Image.new("RGB", (4, 4)).save(path / "a.png")
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[5])
    slide.shapes.title.text = "first"
    return show, slide, slide.shapes.add_picture(str(path / "a.png"), Inches(1), Inches(1))


def test_slides_with_a_linked_picture_are_read(tmp_path: Path) -> None:
    show, _, picture = slide_with_picture(tmp_path)
    blip = picture._element.xpath(".//a:blip")[0]
    relations = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
    blip.set(f"{relations}link", blip.attrib.pop(f"{relations}embed"))
    show.save(str(tmp_path / "a.pptx"))
    document = read(tmp_path / "a.pptx")
    assert (document.text, document.warnings) == ("first", ("1 picture on the slides was not read",))


DIAGRAM = """<p:graphicFrame xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><p:nvGraphicFramePr><p:cNvPr id="9" name="d"/>
 <p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><p:xfrm/><a:graphic>
 <a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/diagram">
 <dgm:relIds xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"/>
 </a:graphicData></a:graphic></p:graphicFrame>"""


def test_raised_digits_of_slides_are_no_part_of_the_number_before_them(tmp_path: Path) -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    table = slide.shapes.add_table(1, 1, 0, 0, Inches(4), Inches(1)).table
    pieces = (("Paid $120", "0"), ("1", "30000"), (" on May 3", "0"), ("rd", "30%"), (", H", "0"), ("2", "-25%"))
    for frame in (slide.shapes.add_textbox(0, 0, 9, 9).text_frame, table.cell(0, 0).text_frame):
        for text, baseline in pieces:
            piece = frame.paragraphs[0].add_run()
            piece.text = text
            piece.font._element.set("baseline", baseline)
    show.save(str(tmp_path / "a.pptx"))
    assert read(tmp_path / "a.pptx").text.splitlines() == ["Paid $120¹ on May 3rd, H2"] * 2


def test_text_beside_a_formula_of_a_slide_is_read(tmp_path: Path) -> None:
    """PowerPoint writes such a box a second time as a picture, for programs that know no formulas."""
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    box = slide.shapes.add_textbox(0, 0, 9, 9)
    box.text_frame.text = "About "
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    power = "<m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>6</m:t></m:r></m:sup></m:sSup>"
    box.text_frame.paragraphs[0]._p.append(
        etree.fromstring(
            '<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main">'
            f'<m:oMath xmlns:m="{math}">{power}</m:oMath></a14:m>'
        )
    )
    compatible = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    whole = etree.SubElement(slide.shapes._spTree, f"{{{compatible}}}AlternateContent")
    for name in ("Choice", "Fallback"):
        etree.SubElement(whole, f"{{{compatible}}}{name}", Requires="a14").append(deepcopy(box._element))
    slide.shapes._spTree.remove(box._element)
    show.save(str(tmp_path / "a.pptx"))
    assert read(tmp_path / "a.pptx").text == "About 10⁶"


def test_shapes_that_are_switched_off_and_text_of_the_master_are_read(tmp_path: Path) -> None:
    show = pptx.Presentation()
    unseen, first, second = (show.slides.add_slide(show.slide_layouts[6]) for _ in range(3))
    unseen._element.set("show", "0")
    hidden = first.shapes.add_textbox(0, 0, 9, 9)
    hidden.text_frame.text = "old figure"
    common = deepcopy(hidden._element)
    hidden._element.nvSpPr.cNvPr.set("hidden", "1")
    second.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "second"
    show.slide_master.shapes._spTree.append(common)
    common.xpath(".//a:t")[0].text = "Confidential"
    show.save(str(tmp_path / "a.pptx"))
    found = [(line.page, line.text, line.hidden) for line in read(tmp_path / "a.pptx").lines]
    assert found == [(2, "old figure", "invisible"), (2, "Confidential", None), (3, "second", None)]


def test_charts_and_diagrams_of_slides_are_counted_with_the_pictures(tmp_path: Path) -> None:
    show, slide, _ = slide_with_picture(tmp_path)
    data = CategoryChartData()
    data.categories = ["a"]
    data.add_series("s", (1,))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(1), Inches(2), Inches(2), data)
    slide.shapes._spTree.append(pptx.oxml.parse_xml(DIAGRAM))
    show.save(str(tmp_path / "a.pptx"))
    assert read(tmp_path / "a.pptx").warnings == ("3 pictures on the slides were not read",)


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


P, A = (f"http://schemas.openxmlformats.org/{kind}/2006/main" for kind in ("presentationml", "drawingml"))
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NEW = "http://schemas.microsoft.com/office/2018/10/relationships"


def test_comments_on_slides_are_read_with_their_authors(tmp_path: Path) -> None:
    show = pptx.Presentation()
    for text in ("first", "second"):
        show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = text
    old = f'<p:cmLst xmlns:p="{P}"><p:cm authorId="0"><p:text>Who says\nso?</p:text></p:cm></p:cmLst>'
    reply = '<c:reply authorId="{2}"><c:txBody><a:p><a:r><a:t>He did.</a:t></a:r></a:p></c:txBody></c:reply>'
    said = "<c:txBody><a:p><a:r><a:t>Ask </a:t></a:r><a:r><a:t>him.</a:t></a:r></a:p><a:p/></c:txBody>"
    comment = f'<c:cm authorId="{{1}}"><c:replyLst>{reply}</c:replyLst>{said}</c:cm>'
    new = f'<c:cmLst xmlns:c="new" xmlns:a="{A}">{comment}</c:cmLst>'
    named = f'<p:cmAuthorLst xmlns:p="{P}"><p:cmAuthor id="0" name="Ann Lee"/></p:cmAuthorLst>'
    parts = (
        (show, f"{OFFICE}/commentAuthors", named),
        (show, f"{NEW}/authors", '<c:authorLst xmlns:c="new"><c:author id="{1}" name="Bo"/></c:authorLst>'),
        (show.slides[0], f"{OFFICE}/comments", old),
        (show.slides[1], f"{NEW}/comments", new),
    )
    for number, (owner, kind, data) in enumerate(parts):
        part = Part(PackURI(f"/ppt/part{number}.xml"), "application/xml", show.part.package, data.encode())
        owner.part.relate_to(part, kind)
    show.save(str(tmp_path / "a.pptx"))
    assert [line.text for line in read(tmp_path / "a.pptx").lines] == [
        "first",
        "[comment] Ann Lee: Who says so?",
        "second",
        "[comment] Bo: Ask him.",
        "[comment] He did.",
    ]


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
