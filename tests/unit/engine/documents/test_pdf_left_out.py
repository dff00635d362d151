"""What a PDF holds besides the text of its pages: notes, fields, layers, attachments; and parts that are broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymupdf
import pytest

from engine.documents.document import Document
from engine.documents.drafts import ParsedFile
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file

REAL = Path(__file__).resolve().parents[5] / "shared" / "data" / "robustness_pdfs"
needs_data = pytest.mark.skipif(not REAL.is_dir(), reason="the shared data sets are not beside the repository")


def parsed(path: Path, **options: Any) -> ParsedFile:
    return parse_file(path, ParseOptions(ocr="never", **options), scratch=path.parent / "scratch")


def read(path: Path) -> Document:
    document = parsed(path).document
    assert document is not None
    return document


def new_pdf() -> tuple[Any, Any]:
    pdf = pymupdf.open()
    page = pdf.new_page(width=300, height=300)
    page.insert_text((20, 40), "Body text of the page")
    return pdf, page


def text_field(page: Any, name: str, value: str, y: float) -> Any:
    field = pymupdf.Widget()
    field.field_type, field.field_name, field.field_value = pymupdf.PDF_WIDGET_TYPE_TEXT, name, value
    field.rect = pymupdf.Rect(20, y, 120, y + 20)
    return page.add_widget(field)


def test_notes_of_readers_are_lines_with_a_mark_and_their_place(tmp_path: Path) -> None:
    pdf, page = new_pdf()
    note = page.add_text_annot((200, 100), "Call the\nwitness again")
    note.set_info(title="Ann Lee")
    note.update()
    page.add_highlight_annot((20, 30, 60, 44)).set_info(content="not so")
    page.add_freetext_annot((20, 200, 120, 220), "Typed on the page")
    pdf.save(tmp_path / "a.pdf")
    lines = read(tmp_path / "a.pdf").lines
    assert [line.text for line in lines] == [
        "Body text of the page",
        "Typed on the page",
        "[note] Ann Lee: Call the witness again",
        "[note] not so",
    ]
    assert lines[2].box is not None
    assert (lines[2].box.x0, lines[2].box.y0) == (200, 100)


def test_values_of_fields_that_the_page_does_not_show(tmp_path: Path) -> None:
    pdf, page = new_pdf()
    text_field(page, "shown", "Visible value", 60)
    text_field(page, "without appearance", "Bare value", 100)
    text_field(page, "hidden", "Secret value", 140)
    text_field(page, "empty", "", 180)
    shown, bare, hidden, _ = [widget.xref for widget in page.widgets()]
    assert shown
    pdf.xref_set_key(bare, "AP", "null")
    pdf.xref_set_key(hidden, "F", "2")
    pdf.save(tmp_path / "a.pdf")
    assert sorted(line.text for line in read(tmp_path / "a.pdf").lines) == [
        "Bare value",  # the library draws it
        "Body text of the page",
        "Visible value",
        "[field] hidden: Secret value",
    ]


def test_a_short_value_that_stands_elsewhere_on_the_page_is_not_taken_for_shown(tmp_path: Path) -> None:
    pdf, page = new_pdf()
    page.insert_text((20, 260), "Paragraph 7 of page 12")
    for number, (name, value) in enumerate((("shown", "12"), ("officer", "7"), ("note", "Body text of the page"))):
        text_field(page, name, value, 60 + 40 * number)
    for widget in list(page.widgets())[1:]:
        pdf.xref_set_key(widget.xref, "F", "2")
    pdf.save(tmp_path / "a.pdf")
    lines = [line.text for line in read(tmp_path / "a.pdf").lines]
    assert sorted(lines) == ["12", "Body text of the page", "Paragraph 7 of page 12", "[field] officer: 7"]


def test_a_layer_that_is_switched_off_is_named(tmp_path: Path) -> None:
    pdf, page = new_pdf()
    page.insert_text((20, 80), "On", oc=pdf.add_ocg("Shown", on=True))
    page.insert_text((20, 120), "Off", oc=pdf.add_ocg("Draft remarks", on=False))
    pdf.save(tmp_path / "a.pdf")
    document = read(tmp_path / "a.pdf")
    assert [line.text for line in document.lines] == ["Body text of the page", "On"]
    assert document.warnings == ("1 layer that is switched off was not read: Draft remarks",)


def test_attachments_are_found_in_the_branches_of_their_tree(tmp_path: Path) -> None:
    """Two of them have one name, and a branch that leads back ends (ISO 32000-2, 7.9.6)."""
    pdf, _ = new_pdf()
    texts = (b"one", b"two", b"three")
    for text in texts:
        pdf.embfile_add(text.decode(), text)
    streams = [xref for xref in range(1, pdf.xref_length()) if pdf.xref_is_stream(xref)]
    files = [xref for text in texts for xref in streams if pdf.xref_stream(xref) == text]
    entries = [f"(note.txt) << /Type /Filespec /F (note.txt) /EF << /F {xref} 0 R >> >>" for xref in files]
    root, branch, leaf = (pdf.get_new_xref() for _ in range(3))
    pdf.update_object(root, f"<< /Kids [{branch} 0 R] >>")
    pdf.update_object(branch, f"<< /Kids [{leaf} 0 R << /Names [{entries[2]}] >> {branch} 0 R] >>")
    pdf.update_object(leaf, f"<< /Names [{entries[0]} {entries[1]}] >>")
    pdf.xref_set_key(pdf.pdf_catalog(), "Names", f"<< /EmbeddedFiles {root} 0 R >>")
    pdf.save(tmp_path / "a.pdf")
    found = parsed(tmp_path / "a.pdf")
    assert [(child.name, child.path.read_bytes()) for child in found.children] == [
        ("note.txt", b"one"),
        ("note (2).txt", b"two"),
        ("note (3).txt", b"three"),
    ]


@pytest.mark.parametrize("is_dynamic", [True, False])
def test_a_form_that_only_adobe_reader_shows_is_named(tmp_path: Path, is_dynamic: bool) -> None:
    pdf, _ = new_pdf()
    pdf.xref_set_key(pdf.pdf_catalog(), "AcroForm", "<< /Fields [] /XFA [] >>")
    pdf.xref_set_key(pdf.pdf_catalog(), "NeedsRendering", "true" if is_dynamic else "false")
    pdf.save(tmp_path / "a.pdf")
    warnings = read(tmp_path / "a.pdf").warnings
    assert ["print it to a new PDF" in warning for warning in warnings] == [True] * is_dynamic


@pytest.mark.parametrize(("key", "value"), [("AS", "1"), ("AP", "null"), ("AP/N", "<<>>"), ("AP/N", "9999 0 R")])
def test_a_page_whose_fields_are_broken_is_read_without_them(tmp_path: Path, key: str, value: str) -> None:
    pdf, page = new_pdf()
    field = pymupdf.Widget()
    field.field_type, field.field_name = pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON, "choice"
    field.rect = pymupdf.Rect(20, 60, 40, 80)
    page.add_widget(field)
    (xref,) = [widget.xref for widget in page.widgets()]
    pdf.xref_set_key(xref, key, value)
    pdf.save(tmp_path / "a.pdf")
    document = read(tmp_path / "a.pdf")
    assert [line.text for line in document.lines][:1] == ["Body text of the page"]
    assert len(document.warnings) <= 1
    if document.warnings:
        assert "page 1: its form fields could not be read" in document.warnings[0]


def encrypt_attachments_only(path: Path) -> None:
    """Say in the trailer that attachments need a password, and strings and streams none (ISO 32000-2, 7.6.6)."""
    secret = "/O <{}> /U <{}> /OE <{}> /UE <{}> /Perms <{}>".format(
        "ab" * 48, "cd" * 48, "ab" * 32, "cd" * 32, "ef" * 16
    )
    filters = "/CF << /StdCF << /CFM /AESV3 /AuthEvent /EFOpen /Length 32 >> >> /EFF /StdCF"
    entry = f"/Encrypt << /Filter /Standard /V 5 /R 6 /Length 256 /P -1028 {filters} {secret} >>"
    data = path.read_bytes()
    assert data.count(b"trailer") == 1
    path.write_bytes(data.replace(b"trailer\n<<", b"trailer\n<<" + entry.encode()))


def test_a_pdf_in_which_only_attachments_are_encrypted_is_read(tmp_path: Path) -> None:
    pdf, _ = new_pdf()
    pdf.embfile_add("secret.txt", bytes(range(48)))
    pdf.save(tmp_path / "a.pdf")
    encrypt_attachments_only(tmp_path / "a.pdf")
    with pymupdf.open(tmp_path / "a.pdf") as opened:
        assert opened.needs_pass
    found = parsed(tmp_path / "a.pdf")
    assert found.document is not None
    assert [line.text for line in found.document.lines] == ["Body text of the page"]


@needs_data
def test_a_pdf_with_an_encrypted_attachment_is_read(tmp_path: Path) -> None:
    name = "qpdf__enc-XI-R6_V5_U_attachment_encrypted-attachments.pdf"
    (tmp_path / "a.pdf").write_bytes((REAL / name).read_bytes())
    found = parsed(tmp_path / "a.pdf")
    assert found.document is not None
    assert len(found.document.pages) == 30
    assert found.document.lines[0].text == "Potato 0"
    assert [(failure.name, failure.reason) for failure in found.failures] == [
        ("attachment1.txt", "encrypted"),
        ("attachment2.png", "encrypted"),
    ]
    assert found.children == ()
