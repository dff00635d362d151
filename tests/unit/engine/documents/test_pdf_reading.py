from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pymupdf
import pytest

from engine.documents.document import Document
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.errors import DocumentError

NO_OCR = ParseOptions(ocr="never")


def read(path: Path, options: ParseOptions = NO_OCR) -> Document:
    document = parse_file(path, options, scratch=path.parent / "scratch").document
    assert document is not None
    return document


def reason_of(path: Path, options: ParseOptions = NO_OCR) -> str:
    with pytest.raises(DocumentError) as caught:
        parse_file(path, options, scratch=path.parent / "scratch")
    assert caught.value.advice
    return caught.value.reason


def test_lines_are_numbered_over_pages_with_boxes(make_pdf: Callable[..., Path]) -> None:
    path = make_pdf("a.pdf", [[(72, 100, "first"), (72, 120, "second")], [], [(72, 100, "third")]])
    document = read(path)
    assert [(line.number, line.page, line.text) for line in document.lines] == [
        (1, 1, "first"),
        (2, 1, "second"),
        (3, 3, "third"),
    ]
    assert [page.lines and (page.lines.first, page.lines.last) for page in document.pages] == [(1, 2), None, (3, 3)]
    assert [page.reason for page in document.pages] == ["text layer", "blank page", "text layer"]
    box = document.lines[0].box
    assert box is not None
    assert 71 <= box.x0 <= 73
    assert 85 <= box.y0 < 95
    assert 99 <= box.y1 <= 104


@pytest.mark.parametrize(
    ("rotation", "corner"),
    [(0, (72, 100)), (90, (792 - 100, 72)), (180, (612 - 72, 792 - 100)), (270, (100, 612 - 72))],
)
def test_boxes_lie_in_the_page_as_displayed(
    make_pdf: Callable[..., Path], rotation: int, corner: tuple[float, float]
) -> None:
    """The baseline's start, (72, 100) on the unturned page, is near a corner of the box after turning."""
    document = read(make_pdf("a.pdf", [[(72, 100, "hello there")]], rotation=rotation))
    page, box = document.pages[0], document.lines[0].box
    assert (page.width, page.height) == ((612, 792) if rotation % 180 == 0 else (792, 612))
    assert box is not None
    near = min(abs(x - corner[0]) for x in (box.x0, box.x1)) + min(abs(y - corner[1]) for y in (box.y0, box.y1))
    assert near < 6


@pytest.mark.parametrize("rotation", [0, 90])
def test_the_number_of_a_footnote_is_no_part_of_what_it_stands_behind(tmp_path: Path, rotation: int) -> None:
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        x = 50.0
        for text, size, y in (("Paid $120", 12, 100), ("1", 7, 95), (" on May 3", 12, 100), ("rd", 7, 95)):
            page.insert_text((x, y), text, fontsize=size)
            x += pymupdf.get_text_length(text, fontsize=size)
        page.set_rotation(rotation)
        pdf.save(tmp_path / "a.pdf")
    assert read(tmp_path / "a.pdf").text == "Paid $120¹ on May 3rd"


def test_outline_metadata_and_embedded_files(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    with pymupdf.open() as pdf:
        for _ in range(2):
            pdf.new_page().insert_text((72, 72), "text")
        pdf.set_toc([[1, "One", 1], [2, "Two", 2]])
        pdf.set_metadata({"title": "A title"})
        pdf.embfile_add("x", b"hello", filename="../note.txt")
        pdf.save(path)
    parsed = parse_file(path, NO_OCR, scratch=tmp_path / "scratch")
    assert parsed.document is not None
    assert [(e.level, e.title, e.page) for e in parsed.document.outline] == [(1, "One", 1), (2, "Two", 2)]
    assert ("title", "A title") in parsed.document.metadata
    assert [(c.name, c.path.read_bytes()) for c in parsed.children] == [("note.txt", b"hello")]


def test_ruled_table(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        for n in range(4):
            page.draw_line((72, 100 + 20 * n), (272, 100 + 20 * n))
        for n in range(3):
            page.draw_line((72 + 100 * n, 100), (72 + 100 * n, 160))
        for row in range(3):
            for column in range(2):
                page.insert_text((76 + 100 * column, 114 + 20 * row), f"r{row} c{column}")
        pdf.save(path)
    (table,) = read(path).tables
    assert table.rows == (("r0 c0", "r0 c1"), ("r1 c0", "r1 c1"), ("r2 c0", "r2 c1"))
    assert table.page == 1


def test_the_number_of_a_footnote_is_no_part_of_a_sum_in_a_table(tmp_path: Path) -> None:
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        for n in range(3):
            page.draw_line((72, 100 + 20 * n), (272, 100 + 20 * n))
            page.draw_line((72 + 100 * n, 100), (72 + 100 * n, 140))
        for point, text in (((76, 114), "Item"), ((176, 114), "Sum"), ((76, 134), "Car"), ((176, 134), "$120")):
            page.insert_text(point, text, fontsize=11)
        page.insert_text((176 + pymupdf.get_text_length("$120", fontsize=11), 130), "1", fontsize=7)
        pdf.save(tmp_path / "a.pdf")
    (table,) = read(tmp_path / "a.pdf").tables
    assert table.rows == (("Item", "Sum"), ("Car", "$120¹"))


def test_check_boxes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        for n, value in enumerate((True, False)):
            widget = pymupdf.Widget()
            widget.field_type = pymupdf.PDF_WIDGET_TYPE_CHECKBOX
            widget.field_name = f"box{n}"
            widget.field_value = value
            widget.rect = pymupdf.Rect(72, 100 + 30 * n, 84, 112 + 30 * n)
            page.add_widget(widget)
            page.insert_text((92, 110 + 30 * n), f"choice {n}")
        pdf.save(path)
    assert [line.text for line in read(path).lines] == ["[x] choice 0", "[ ] choice 1"]


def test_a_button_is_ticked_where_its_appearance_is(tmp_path: Path) -> None:
    """Its state may be called `No` or have spaces, and the field may say what another box of it shows."""
    check, radio = pymupdf.PDF_WIDGET_TYPE_CHECKBOX, pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON
    buttons = [
        (check, "/No", "/No"),
        (check, "/Yes", "/Off"),
        (radio, "/Not#20sustained", "/Not#20sustained"),
        (radio, "/Not#20sustained", "/Off"),
    ]
    path = tmp_path / "a.pdf"
    with pymupdf.open() as pdf:
        page = pdf.new_page()
        for n, (kind, value, state) in enumerate(buttons):
            widget = pymupdf.Widget()
            widget.field_type, widget.field_name = kind, f"button{n}"
            widget.rect = pymupdf.Rect(72, 100 + 30 * n, 84, 112 + 30 * n)
            page.add_widget(widget)
            page.insert_text((92, 110 + 30 * n), f"choice {n}")
            pdf.xref_set_key(widget.xref, "V", value)
            pdf.xref_set_key(widget.xref, "AS", state)
        pdf.save(path)
    assert [line.text for line in read(path).lines] == ["[x] choice 0", "[ ] choice 1", "[x] choice 2", "[ ] choice 3"]


def test_encrypted(make_pdf: Callable[..., Path]) -> None:
    keys = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "owner"}
    locked = make_pdf("locked.pdf", [[(72, 72, "secret")]], user_pw="user", **keys)
    assert reason_of(locked) == "encrypted"
    assert reason_of(locked, ParseOptions(password="wrong")) == "encrypted"
    assert read(locked, ParseOptions(ocr="never", password="user")).text == "secret"
    open_to_read = make_pdf("open.pdf", [[(72, 72, "readable")]], user_pw="", **keys)
    assert read(open_to_read).text == "readable"


def test_too_many_pages(tmp_path: Path) -> None:
    count = 10_000
    kids = " ".join(f"{number} 0 R" for number in range(3, 3 + count))
    objects = ["<</Type/Catalog/Pages 2 0 R>>", f"<</Type/Pages/Count {count}/Kids[{kids}]>>"]
    objects += ["<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]>>"] * count
    body = "".join(f"{number} 0 obj{content}endobj\n" for number, content in enumerate(objects, 1))
    path = tmp_path / "long.pdf"
    path.write_text(f"%PDF-1.4\n{body}trailer<</Root 1 0 R>>\n%%EOF\n")  # PyMuPDF writes it in a quarter of a minute
    with pymupdf.open(path) as pdf:
        assert pdf[count - 1].rect.width == 612
    assert reason_of(path) == "too_many_pages"


def test_cut_garbage_and_pageless(tmp_path: Path, make_pdf: Callable[..., Path]) -> None:
    whole = make_pdf("a.pdf", [[(72, 72, "text")]]).read_bytes()
    (tmp_path / "cut.pdf").write_bytes(whole[:60])
    (tmp_path / "empty.pdf").write_bytes(b"")
    (tmp_path / "pageless.pdf").write_bytes(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
        b"trailer<</Root 1 0 R>>\n%%EOF\n"
    )
    with pytest.raises(DocumentError) as caught:
        parse_file(tmp_path / "empty.pdf", NO_OCR, scratch=tmp_path)
    assert caught.value.reason == "empty"
    assert reason_of(tmp_path / "cut.pdf") in ("corrupt", "no_pages")
    assert reason_of(tmp_path / "pageless.pdf") == "no_pages"


def test_damaged_index_is_repaired_with_a_warning(tmp_path: Path, make_pdf: Callable[..., Path]) -> None:
    data = make_pdf("a.pdf", [[(72, 72, "still here")]]).read_bytes()
    path = tmp_path / "broken.pdf"
    path.write_bytes(data[: data.rindex(b"xref")])
    document = read(path)
    assert document.text == "still here"
    assert "repaired" in document.warnings[0]


def test_a_repair_that_leaves_nothing_but_blank_pages_is_a_failure(
    tmp_path: Path, make_pdf: Callable[..., Path]
) -> None:
    data = make_pdf("a.pdf", [[(72, 72, "gone")], [(72, 72, "gone too")]]).read_bytes()
    path = tmp_path / "blank.pdf"
    path.write_bytes(data[: data.index(b"stream")])
    with pytest.raises(DocumentError, match="damaged.*nothing on its 2 pages") as caught:
        read(path)
    assert caught.value.reason == "corrupt"
    assert caught.value.advice


def test_a_damaged_file_whose_page_is_truly_blank_is_read(tmp_path: Path, make_pdf: Callable[..., Path]) -> None:
    data = make_pdf("a.pdf", [[]]).read_bytes()
    path = tmp_path / "broken.pdf"
    path.write_bytes(data[: data.rindex(b"xref")])
    document = read(path)
    assert document.text == ""
    assert "repaired" in document.warnings[0]


def test_wrong_extension_is_read_with_a_warning(tmp_path: Path, make_pdf: Callable[..., Path]) -> None:
    path = make_pdf("a.pdf", [[(72, 72, "text")]]).rename(tmp_path / "a.docx")
    document = read(path)
    assert (document.kind, document.text) == ("pdf", "text")
    assert ".docx" in document.warnings[0]


def test_too_large_and_unreadable(make_pdf: Callable[..., Path], tmp_path: Path) -> None:
    path = make_pdf("a.pdf", [[(72, 72, "text")]])
    assert reason_of(path, ParseOptions(max_bytes=10)) == "too_large"
    assert reason_of(tmp_path / "missing.pdf") == "unreadable"
