"""Read pictures: PNG, JPEG, TIFF with several pages, and what else Pillow opens safely."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import ExifTags, ImageOps
from PIL import Image as Pillow

from engine.documents.drafts import Contents, PageDraft, Progress
from engine.documents.options import ParseOptions
from engine.documents.pages import ocr_doubts, page_lines, read_picture
from engine.errors import DocumentError

if TYPE_CHECKING:
    from engine.documents.ocr import Image

FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP")
_LETTER_INCHES = 11.0
_SIDEWAYS = (5, 6, 7, 8)
"""Orientations of EXIF in which rows of the file are columns of the picture."""
_SQUARE, _LONGEST_DOT = 1.1, 4.0
"""How many times as long as wide the dots of a picture may be: to count as square, and to be believed at all."""
_DAMAGE = (OSError, SyntaxError, ValueError, EOFError, KeyError, TypeError)
"""What Pillow raises on damaged pictures."""


def parse_image(path: Path, options: ParseOptions, progress: Progress) -> Contents:
    """Read each frame of a picture by OCR; raise DocumentError (corrupt, too_large, too_many_pages).

    A frame that cannot be read is an empty page with a warning, unless no other can be read either.
    """
    with open_image(path) as image:
        count = int(getattr(image, "n_frames", 1))
        if count > options.max_pages:
            raise DocumentError(
                f"the picture has {count} frames; the limit is {options.max_pages}", reason="too_many_pages"
            )
        progress("pages", count)
        pages: list[PageDraft] = []
        warnings: list[str] = []
        failures: list[DocumentError] = []
        for number in range(1, count + 1):
            try:
                page, doubts = _read_frame(image, number, options)
            except DocumentError as error:
                failures.append(error)
                page, doubts = PageDraft((), reason=str(error)), [str(error)]
            pages.append(page)
            warnings += [f"page {number}: {doubt}" for doubt in doubts]
            progress("page", number)
        if len(failures) == count:
            raise failures[0]
        return Contents(pages, metadata=[("format", str(image.format))], warnings=warnings)


@contextmanager
def open_image(path: Path) -> Iterator[Pillow.Image]:
    """Open a picture of any size; errors of its decoder inside the block become DocumentError too."""
    Pillow.MAX_IMAGE_PIXELS = None  # our own limit, per frame, with our own words
    Pillow.init()
    # Given a path, Pillow maps uncompressed TIFFs into memory, and reads those that lie sideways as noise.
    with _damage_told(), path.open("rb") as file, Pillow.open(file, formats=FORMATS) as image:
        yield image


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise DocumentError(
            f"the picture cannot be read ({error})",
            reason="corrupt",
            advice="Ask for the file again; it may have been cut short when it was copied.",
        ) from error


def frame_picture(image: Pillow.Image, number: int, max_pixels: int) -> tuple[Image, float]:
    """Return frame `number` (from 1) as people see it, and its points per pixel; raise DocumentError.

    That is: turned as the camera says, on white, and with square dots, which pages of a fax do not have. The reason of
    an error is too_large or corrupt.
    """
    with _damage_told():
        image.seek(number - 1)
        _check_size(image, max_pixels)
        resolution = _resolution(image)
        upright = _in_8_bits(ImageOps.exif_transpose(image) or image)
        flat = Pillow.new("RGBA", upright.size, "white")
        flat.alpha_composite(upright.convert("RGBA"))
        size, claimed = _squared(flat.size, resolution, max_pixels)
        picture = flat.convert("RGB")
        if size != picture.size:
            picture = picture.resize(size, Pillow.Resampling.BICUBIC)
        return np.asarray(picture)[:, :, ::-1], 72 / _dots_per_inch(max(size), claimed)


def _check_size(image: Pillow.Image, max_pixels: int) -> None:
    if image.width * image.height > max_pixels:
        raise DocumentError(
            f"the picture has {image.width} x {image.height} dots; the limit is {max_pixels} in all",
            reason="too_large",
            advice="Save a smaller copy of the picture.",
        )


def _resolution(image: Pillow.Image) -> tuple[float, float]:
    """Return the dots per inch across and down that the file gives, as the picture is seen; 0 where it gives none.

    To be asked before the frame is loaded: then Pillow turns pictures in TIFF, and forgets that it did.
    """
    claimed = image.info.get("dpi")
    across, down = (float(claimed[0]), float(claimed[1])) if isinstance(claimed, tuple) else (0.0, 0.0)
    return (down, across) if image.getexif().get(ExifTags.Base.Orientation) in _SIDEWAYS else (across, down)


def _squared(size: tuple[int, int], resolution: tuple[float, float], max_pixels: int) -> tuple[tuple[int, int], float]:
    """Return the size in which the dots of a picture are square, and how many of them then make an inch."""
    across, down = resolution
    finer, coarser = max(resolution), min(resolution)
    if coarser <= 0 or not _SQUARE < finer / coarser <= _LONGEST_DOT:
        return size, across
    width, height = size[0] * (finer / across), size[1] * (finer / down)
    share = min(1.0, (max_pixels / (width * height)) ** 0.5)
    return (max(int(width * share), 1), max(int(height * share), 1)), finer * share


def _in_8_bits(image: Pillow.Image) -> Pillow.Image:
    """Scale a grey picture of more than 8 bits, of which Pillow would make white all that is brighter than 255."""
    if not image.mode.startswith("I"):
        return image
    values = np.asarray(image).clip(min=0)
    surplus = max(int(values.max()).bit_length() - 8, 0)
    return Pillow.fromarray((values >> surplus).astype(np.uint8))


def _dots_per_inch(longest: int, claimed: float) -> float:
    """Trust the file's resolution when it gives a page of usual size; else assume the long side is 11 inches."""
    return claimed if claimed > 0 and 2 <= longest / claimed <= 50 else longest / _LETTER_INCHES


def _read_frame(image: Pillow.Image, number: int, options: ParseOptions) -> tuple[PageDraft, list[str]]:
    picture, scale = frame_picture(image, number, options.max_pixels)
    height, width = picture.shape[:2]
    if options.ocr == "never":
        return PageDraft((), width * scale, height * scale, "text", "a picture, and OCR is switched off"), []
    read = read_picture(picture, scale, options.threads)
    reason = "a picture" if read.fragments else "a picture without readable text"
    page = PageDraft(page_lines(read.fragments), width * scale, height * scale, "ocr", reason, read.rotation)
    return page, ocr_doubts(read)
