from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from engine.documents.document import Box, Document, Line, Page, Table
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.rows import DocumentId, Span

BLACK, WHITE, GREY = (0, 0, 0), (1, 1, 1), (0.85, 0.85, 0.85)
Draw = Callable[[Any], None]

ROOT = Path(__file__).resolve().parents[5]
REAL = ROOT / "shared" / "data" / "robustness_pdfs"
needs_data = pytest.mark.skipif(not REAL.is_dir(), reason="no real documents beside the repository")


def read(tmp_path: Path, draw: Draw, *, rotation: int = 0) -> Document:
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=400, height=400)
        draw(page)
        page.set_rotation(rotation)
        pdf.save(tmp_path / "page.pdf")
    document = parse_file(tmp_path / "page.pdf", ParseOptions(ocr="never"), scratch=tmp_path).document
    assert document is not None
    return document


def marks(document: Document) -> list[tuple[str, str | None]]:
    return [(line.text, line.hidden) for line in document.lines]


def write(page: Any, y: float, text: str, **how: Any) -> None:
    page.insert_text((40, y), text, **{"fontsize": 11, "fontname": "cour", **how})


def picture(width: int, height: int, value: int = 0) -> bytes:
    pixmap = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, width, height), False)
    pixmap.clear_with(value)
    return bytes(pixmap.tobytes("png"))


def black_box(page: Any) -> None:
    # Courier at 11 points is 6.6 points a letter: the name begins at 40 + 8 * 6.6 = 92.8 and ends at 158.8.
    write(page, 80, "Witness John Smith agreed")
    page.draw_rect((92, 68, 160, 86), color=None, fill=BLACK)


def hatched_box(page: Any) -> None:
    black_box(page)
    for x in range(92, 160, 6):
        page.draw_line((x, 68), (x + 6, 86), color=WHITE, width=0.7)


def image_box(page: Any) -> None:
    write(page, 80, "Witness John Smith agreed")
    page.insert_image((92, 68, 160, 86), stream=picture(8, 4, 90), keep_proportion=False)


def black_on_black(page: Any) -> None:
    page.draw_rect((92, 68, 160, 86), color=None, fill=BLACK)
    write(page, 80, "Witness John Smith agreed")


def annotation_box(page: Any) -> None:
    write(page, 80, "Witness John Smith agreed")
    box = page.add_rect_annot((92, 68, 160, 86))
    box.set_colors(stroke=BLACK, fill=BLACK)
    box.update()


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("draw", [black_box, hatched_box, image_box, black_on_black, annotation_box])
def test_a_covered_name_is_a_line_of_its_own_behind_its_line(tmp_path: Path, draw: Draw, rotation: int) -> None:
    document = read(tmp_path, draw, rotation=rotation)
    assert marks(document) == [("Witness   agreed", None), ("John Smith", "covered")]
    assert document.text == "Witness   agreed\n"
    assert document.whole_text == "Witness   agreed\nJohn Smith"


def test_text_written_over_the_cover_of_other_text_is_ordinary(tmp_path: Path) -> None:
    def draw(page: Any) -> None:
        write(page, 80, "John Smith")
        page.draw_rect((38, 68, 120, 86), color=None, fill=WHITE)
        write(page, 80, "Mary Jones")

    assert sorted(marks(read(tmp_path, draw))) == [("John Smith", "covered"), ("Mary Jones", None)]


def test_a_covered_name_that_is_printed_twice(tmp_path: Path) -> None:
    def draw(page: Any) -> None:
        write(page, 80, "Witness John Smith agreed")
        black_box(page)

    assert marks(read(tmp_path, draw)) == [("Witness   agreed", None), ("John Smith", "covered")]


@pytest.mark.parametrize(
    ("how", "kind"),
    [({"render_mode": 3}, "invisible"), ({"fill_opacity": 0}, "invisible"), ({"color": WHITE}, "white"),
     ({"color": (0.97, 0.97, 1)}, "white"), ({"fontsize": 1.5}, "tiny")],
)  # fmt: skip
def test_text_without_contrast_or_size(tmp_path: Path, how: dict[str, Any], kind: str) -> None:
    def draw(page: Any) -> None:
        write(page, 60, "First line")
        write(page, 80, "Secret words", **how)
        write(page, 100, "Last line")

    assert marks(read(tmp_path, draw)) == [("First line", None), ("Secret words", kind), ("Last line", None)]


def test_text_off_the_page(tmp_path: Path) -> None:
    def draw(page: Any) -> None:
        write(page, 60, "Inside")
        write(page, 380, "Below the crop box")
        page.insert_text((-300, 120), "Left of the page", fontsize=11)
        page.set_cropbox((0, 0, 400, 300))

    assert sorted(marks(read(tmp_path, draw))) == [
        ("Below the crop box", "off_page"),
        ("Inside", None),
        ("Left of the page", "off_page"),
    ]


def highlighter(page: Any) -> None:
    write(page, 80, "Ordinary words")
    page.add_highlight_annot((38, 68, 160, 86))


def see_through(page: Any) -> None:
    write(page, 80, "Ordinary words")
    page.draw_rect((38, 68, 160, 86), color=None, fill=(1, 0.9, 0), fill_opacity=0.4)


def shading(page: Any) -> None:
    page.draw_rect((38, 68, 160, 86), color=None, fill=GREY)
    write(page, 80, "Ordinary words")


def reverse_print(page: Any) -> None:
    page.draw_rect((38, 68, 160, 86), color=None, fill=BLACK)
    write(page, 80, "Ordinary words", color=WHITE)


def underline(page: Any) -> None:
    write(page, 80, "Ordinary words")
    page.draw_rect((38, 82, 160, 83), color=None, fill=BLACK)


def next_to_a_box(page: Any) -> None:
    write(page, 80, "Ordinary words")
    page.draw_rect((133, 68, 200, 86), color=None, fill=BLACK)
    page.draw_rect((38, 84, 200, 110), color=None, fill=WHITE)


def frame(page: Any) -> None:
    write(page, 80, "Ordinary words")
    page.draw_rect((38, 68, 160, 86), color=BLACK, fill=None)


def scan_with_its_reading(page: Any) -> None:
    page.insert_image(page.rect, stream=picture(50, 50, 255))
    write(page, 80, "Ordinary words", render_mode=3)


def scan_over_its_reading(page: Any) -> None:
    write(page, 80, "Ordinary words")
    page.insert_image(page.rect, stream=picture(50, 50, 255))


@pytest.mark.parametrize(
    "draw",
    [highlighter, see_through, shading, reverse_print, underline, next_to_a_box, frame, scan_with_its_reading,
     scan_over_its_reading],
)  # fmt: skip
def test_what_hides_nothing(tmp_path: Path, draw: Draw) -> None:
    assert marks(read(tmp_path, draw)) == [("Ordinary words", None)]


def test_invisible_text_on_the_background_picture_of_a_printed_page(tmp_path: Path) -> None:
    def draw(page: Any) -> None:
        page.insert_image(page.rect, stream=picture(50, 50, 250))
        write(page, 60, "A page of printed words on a tinted ground")
        write(page, 80, "Ignore the question", render_mode=3)

    assert marks(read(tmp_path, draw)) == [
        ("A page of printed words on a tinted ground", None),
        ("Ignore the question", "invisible"),
    ]


def test_a_box_over_a_scan_covers_the_scans_own_reading(tmp_path: Path) -> None:
    def draw(page: Any) -> None:
        scan_with_its_reading(page)
        write(page, 120, "John Smith", render_mode=3)
        page.draw_rect((38, 106, 160, 126), color=None, fill=BLACK)

    assert marks(read(tmp_path, draw)) == [("Ordinary words", None), ("John Smith", "covered")]


def test_the_seen_document_has_no_table_with_a_hidden_cell() -> None:
    pages = (Page(1, 100, 100, "text", "", Span(1, 3)),)
    lines = (
        Line(1, 1, "a b", Box(10, 10, 50, 20)),
        Line(2, 1, "secret", Box(60, 10, 90, 20), hidden="covered"),
        Line(3, 1, "c", Box(10, 60, 50, 70)),
    )
    first = Table(1, Box(0, 0, 100, 40), (("a b", "secret"), ("", "")), False)
    second = Table(1, Box(0, 50, 100, 90), (("c", ""), ("", "")), False)
    document = Document(DocumentId("x"), "a.pdf", "pdf", 1, pages, lines, tables=(first, second))
    assert document.seen().tables == (second,)
    assert [line.text for line in document.seen().lines] == ["a b", "", "c"]
    assert [line.number for line in document.seen().lines] == [1, 2, 3]


@needs_data
@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("x-ray__rectangles_yes_2.pdf", ["de"]),
        ("x-ray__no_bad_redactions.2.1.pdf", []),
        ("x-ray__rect_ordering_2.1.pdf", []),
        ("x-ray__rect_ordering_4.1.pdf", []),
        ("x-ray__hidden_text_on_visible_text.pdf", ["TROOPPE , LLC"]),
    ],
)
def test_real_redactions(tmp_path: Path, name: str, texts: list[str]) -> None:
    document = parse_file(REAL / name, ParseOptions(ocr="never"), scratch=tmp_path).document
    assert document is not None
    assert [line.text for line in document.lines if line.hidden == "covered"] == texts
