"""OCR with the real models of the wheel, on pictures drawn here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pymupdf
import pytest
from PIL import Image

from engine.documents import ocr
from engine.documents.document import Document
from engine.documents.images import frame_picture, open_image
from engine.documents.options import ParseOptions
from engine.documents.parse import parse_file
from engine.errors import DocumentError

LINES = [
    "Officer Delgado stopped the vehicle at 10:42 PM.",
    "The driver was asked to step out and refused twice.",
    "Badge number 4417 was written on the report form.",
    "No further action was taken by the supervisor.",
]


@pytest.fixture
def scan(make_pdf: Callable[..., Path], tmp_path: Path) -> Callable[[int, float], Path]:
    """Print LINES at 8 points, take a 200 dpi picture, turn it clockwise and save it as a PNG."""

    def make(quarter_turns: int, slant: float = 0.0) -> Path:
        with pymupdf.open() as pdf:
            page = pdf.new_page(width=300, height=160)
            for number, text in enumerate(LINES):
                page.insert_text((40, 40 + 20 * number), text, fontsize=8)
            pixmap = page.get_pixmap(dpi=200)
        image = Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)
        image = image.rotate(-slant, fillcolor="white", resample=Image.Resampling.BICUBIC)
        path = tmp_path / f"scan{quarter_turns}.png"
        image.rotate(-90 * quarter_turns, expand=True).save(path, dpi=(200, 200))
        return path

    return make


def read(path: Path) -> Document:
    document = parse_file(path, ParseOptions(), scratch=path.parent).document
    assert document is not None
    return document


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_small_print_is_read_whichever_way_up(scan: Callable[..., Path], turns: int) -> None:
    document = read(scan(turns))
    assert [line.text for line in document.lines] == LINES
    page = document.pages[0]
    assert page.source == "ocr"
    assert page.rotation % 360 == pytest.approx(90 * turns, abs=1) or turns == 0
    assert (round(page.width), round(page.height)) == ((300, 160) if turns % 2 == 0 else (160, 300))


def test_boxes_are_points_of_the_picture_as_it_is(scan: Callable[..., Path]) -> None:
    """Line one has its baseline at 40 and its left end at 40; a quarter turn moves that to the right edge."""
    upright, turned = read(scan(0)).lines[0], read(scan(1)).lines[0]
    assert upright.box is not None
    assert turned.box is not None
    assert upright.box.x0 == pytest.approx(40, abs=4)
    assert upright.box.y1 == pytest.approx(41, abs=4)
    assert turned.box.x0 == pytest.approx(160 - 41, abs=4)
    assert turned.box.y0 == pytest.approx(40, abs=4)
    assert upright.confidence is not None
    assert upright.confidence > 0.9


def test_a_slanted_page_keeps_its_lines(scan: Callable[..., Path]) -> None:
    document = read(scan(0, 3.0))
    assert [line.text for line in document.lines] == LINES
    assert document.pages[0].rotation == pytest.approx(3, abs=1)


def test_lines_that_run_a_little_more_askew_than_a_slant_may_have_no_slant() -> None:
    across, down = np.array([np.cos(0.3495), np.sin(0.3495)]), np.array([-np.sin(0.3495), np.cos(0.3495)])
    quad = np.array([0 * across, 100 * across, 100 * across + 10 * down, 10 * down], np.float32)
    assert ocr._skew(np.stack([quad] * 3)) == 0.0


def test_scanned_page_in_a_pdf_goes_to_ocr_and_text_page_does_not(scan: Callable[..., Path], tmp_path: Path) -> None:
    path = tmp_path / "mixed.pdf"
    with pymupdf.open() as pdf:
        pdf.new_page().insert_text((72, 72), "a text page")
        page = pdf.new_page(width=300, height=160)
        page.insert_image(page.rect, filename=scan(0))
        page.insert_text((5, 155), "Filed 3/5/21", fontsize=5)  # a stamp of the court's filing system
        pdf.new_page()
        pdf.save(path)
    document = read(path)
    assert [page.source for page in document.pages] == ["text", "ocr", "text"]
    assert "only 11 characters" in document.pages[1].reason
    assert LINES[0] in document.text


def test_garbled_text_layer_is_replaced(tmp_path: Path) -> None:
    """The page shows readable text; its text layer (invisible) is in the private-use area, as broken fonts give."""
    path = tmp_path / "garbled.pdf"
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=300, height=160)
        shape = page.new_shape()
        with pymupdf.open() as other:
            source = other.new_page(width=300, height=160)
            for number, text in enumerate(LINES):
                source.insert_text((40, 40 + 20 * number), text, fontsize=9)
            page.insert_image(page.rect, pixmap=source.get_pixmap(dpi=250))
        shape.commit()
        page.insert_text((40, 40), "\ufffd" * 300, fontsize=2, render_mode=3, fontname="china-s")
        pdf.save(path)
    document = read(path)
    assert document.pages[0].source == "ocr"
    assert document.lines[0].text == LINES[0]


def test_tiff_with_two_frames(scan: Callable[..., Path], tmp_path: Path) -> None:
    first, second = Image.open(scan(0)), Image.new("L", (400, 300), "white")
    path = tmp_path / "two.tiff"
    first.save(path, save_all=True, append_images=[second], compression="tiff_lzw", dpi=(200, 200))
    first.close()
    document = read(path)
    assert len(document.pages) == 2
    assert document.pages[1].lines is None
    assert [line.text for line in document.lines] == LINES


@pytest.mark.parametrize("name", ["a.png", "a.tiff"])
@pytest.mark.parametrize("depth", [12, 16])
def test_grey_of_more_than_8_bits_is_not_all_white(tmp_path: Path, name: str, depth: int) -> None:
    grey = np.array([[0, 2 ** (depth - 1)], [2 ** (depth - 2), 2**depth - 1]], np.uint16)
    Image.fromarray(grey).save(tmp_path / name)
    with open_image(tmp_path / name) as image:
        picture, _ = frame_picture(image, 1, 100)
    assert picture[:, :, 0].tolist() == [[0, 128], [64, 255]]


@pytest.mark.parametrize(
    ("dpi", "limit", "shape", "per_inch"),
    [
        ((204, 98), 10**6, (624, 600), 204),
        ((98, 204), 10**6, (300, 1248), 204),
        ((204, 190), 10**6, (300, 600), 204),
        ((300, 60), 10**6, (300, 600), 300),
        ((204, 51), 180_000, (600, 300), 102),
    ],
)
def test_a_page_of_a_fax_is_as_long_as_it_was(
    tmp_path: Path, dpi: tuple[int, int], limit: int, shape: tuple[int, int], per_inch: float
) -> None:
    """Faxes have fewer dots down than across; where dots differ by a tenth, or too much, they are left as they are."""
    path = tmp_path / "a.tiff"
    Image.new("1", (600, 300), 1).save(path, dpi=dpi)
    with open_image(path) as image:
        picture, scale = frame_picture(image, 1, limit)
    assert picture.shape[:2] == pytest.approx(shape, abs=1)
    assert scale == pytest.approx(72 / per_inch)


def test_a_fax_that_lies_on_its_side_is_stretched_the_other_way(tmp_path: Path) -> None:
    path = tmp_path / "a.tiff"
    Image.new("1", (200, 100), 255).save(path, dpi=(204, 98), tiffinfo={274: 6}, compression="group4")
    with open_image(path) as image:
        picture, _ = frame_picture(image, 1, 10**6)
    assert picture.shape[:2] == (200, 208)


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw"])
@pytest.mark.parametrize(("orientation", "corner"), [(5, (0, 0)), (6, (0, 19)), (7, (39, 19)), (8, (39, 0))])
def test_a_tiff_that_lies_sideways_is_turned_and_no_noise(
    tmp_path: Path, orientation: int, corner: tuple[int, int], compression: str
) -> None:
    """The numbers of EXIF say where the first dot of the file is shown: row and column."""
    path = tmp_path / "a.tiff"
    page = Image.new("L", (40, 20), 255)
    page.putpixel((0, 0), 0)
    page.save(path, tiffinfo={274: orientation}, compression=compression)
    with open_image(path) as image:
        picture, _ = frame_picture(image, 1, 10**6)
    assert picture.shape[:2] == (40, 20)
    assert np.argwhere(picture[:, :, 0] == 0).tolist() == [list(corner)]


def paged(path: Path, *sizes: int) -> Path:
    first, *others = [Image.effect_noise((size, size), 80) for size in sizes]
    first.save(path, save_all=True, append_images=others, compression="tiff_adobe_deflate")
    return path


def damage(path: Path, frame: int) -> None:
    with Image.open(path) as image:
        image.seek(frame - 1)
        (begin, *_), (length, *_) = image.tag_v2[273], image.tag_v2[279]  # type: ignore[attr-defined]
    data = bytearray(path.read_bytes())
    data[begin : begin + length] = b"\xff" * length
    path.write_bytes(data)


def unread(path: Path, **options: Any) -> Document:
    document = parse_file(path, ParseOptions(ocr="never", **options), scratch=path.parent).document
    assert document is not None
    return document


def test_a_damaged_page_of_a_tiff_fails_alone(tmp_path: Path) -> None:
    path = paged(tmp_path / "a.tiff", 40, 40, 40)
    damage(path, 2)
    document = unread(path)
    assert ["cannot be read" in page.reason for page in document.pages] == [False, True, False]
    assert document.warnings == (f"page 2: {document.pages[1].reason}",)
    for frame in (1, 3):
        damage(path, frame)
    with pytest.raises(DocumentError, match="the picture cannot be read") as caught:
        unread(path)
    assert caught.value.reason == "corrupt"


def test_a_page_of_a_tiff_that_is_too_large_fails_alone(tmp_path: Path) -> None:
    document = unread(paged(tmp_path / "a.tiff", 90, 40), max_pixels=2000)
    assert document.warnings == ("page 1: the picture has 90 x 90 dots; the limit is 2000 in all",)
    assert document.pages[1].reason == "a picture, and OCR is switched off"


def test_blank_picture(tmp_path: Path) -> None:
    path = tmp_path / "blank.png"
    Image.new("RGB", (600, 800), "white").save(path)
    assert read(path).lines == ()


def test_text_layer_and_ocr_of_its_pictures_are_joined(scan: Callable[..., Path], tmp_path: Path) -> None:
    path = tmp_path / "hybrid.pdf"
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=300, height=400)
        for number in range(12):
            page.insert_text((20, 30 + 14 * number), f"Exact text {number} of the layer, page one.", fontsize=9)
        page.insert_image(pymupdf.Rect(0, 220, 300, 380), filename=scan(0))
        pdf.save(path)
    document = read(path)
    assert [line.text for line in document.lines[12:]] == LINES
    assert {line.source for line in document.lines[:12]} == {"text"}
    assert {line.source for line in document.lines[12:]} == {"ocr"}
    page = document.pages[0]
    assert page.source == "text"
    assert "OCR of its pictures" in page.reason


def test_cut_picture_is_corrupt(scan: Callable[..., Path]) -> None:
    path = scan(0)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DocumentError) as caught:
        parse_file(path, ParseOptions(), scratch=path.parent)
    assert caught.value.reason == "corrupt"


def test_picture_beyond_the_limit_is_too_large(scan: Callable[..., Path]) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_file(path := scan(0), ParseOptions(max_pixels=1000), scratch=path.parent)
    assert caught.value.reason == "too_large"
